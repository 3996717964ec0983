"""The upload file: golden bytes, cleaning, the checker, reading back, and what an interruption leaves."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.schema import ChosenEntity, Emotion, Entity, Mention, Prediction, RunnerUp, news_id_fault, occurrence_keys
from pipeline.submission import (
    SubmissionWriter,
    check_submission,
    clean_name,
    clean_names,
    read_submission,
    read_table,
    write_table,
)
from pipeline.submission import write as write_module
from tests.support.paths import GOLDEN
from tests.support.submissions import write_answers

POS, NORM, NEG = Emotion


def chosen(name: str, emotion: Emotion = POS, **extra: object) -> ChosenEntity:
    return ChosenEntity(name, emotion, score=0.5, probs=(0.6, 0.3, 0.1), **extra)


PREDICTIONS = [
    Prediction(
        "t1",
        (
            ChosenEntity("松果科技", POS, 0.91, (0.8, 0.15, 0.05), (Mention("title", 0, 4, "松果科技"),)),
            ChosenEntity('"云杉"计划', NEG, 1 / 3, (0.1, 0.2, 0.7)),
            ChosenEntity("Nova Pad, 2", NORM, 0.2, (0.2, 0.6, 0.2), (Mention("content", 7, 18, "Nova Pad, 2"),)),
        ),
        (RunnerUp("海棠路", 0.125),),
    ),
    Prediction("007", ()),
    Prediction(
        "t3", (ChosenEntity("NA", NORM, 0.25, (0.0, 1.0, 0.0)), ChosenEntity("null", POS, 0.2, (1.0, 0.0, 0.0)))
    ),
]


def write_all(path: Path, predictions: list[Prediction], *, details: Path | None = None) -> None:
    with SubmissionWriter(path, details=details) as writer:
        for prediction in predictions:
            writer.write(prediction)


# --- writing


def test_writer_output_matches_the_golden_files(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    write_all(folder / "submission.txt", PREDICTIONS, details=folder / "submission.details.jsonl")
    names = ["submission.csv", "submission.details.jsonl", "submission.txt"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert (folder / name).read_bytes() == (GOLDEN / name).read_bytes(), name


def test_csv_and_details_hold_what_was_predicted(tmp_path: Path) -> None:
    write_all(tmp_path / "s.txt", PREDICTIONS, details=tmp_path / "d.jsonl")
    table = read_table(tmp_path / "s.csv")
    assert ",".join(table.columns) == "newsId,rank,entity,emotion,score,p_pos,p_norm,p_neg"
    assert table["entity"].tolist() == ["松果科技", '"云杉"计划', "Nova Pad 2", "NA", "null"]
    assert table["score"].tolist()[1] == "0.333333"
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [row["newsId"] for row in rows] == ["t1", "007", "t3"]
    mention = rows[0]["entities"][2]["mentions"][0]
    assert mention == {"field": "content", "start": 7, "end": 18, "surface": "Nova Pad, 2"}  # untouched, comma and all
    assert rows[0]["entities"][0]["probs"] == {"POS": 0.8, "NORM": 0.15, "NEG": 0.05}
    assert rows[0]["candidates"] == [{"entity": "海棠路", "score": 0.125}]


@pytest.mark.parametrize(
    ("entities", "line"),
    [
        ([("松果", POS), ("云杉", NORM)], "x\t松果,云杉\tPOS,NORM\n"),
        ([], "x\t\t\n"),
        ([("松\t果\r\n社", POS), ("\u200b\ufeff", NEG), (",", NEG)], "x\t松果社\tPOS\n"),
        ([("  nova pad x2\u3000", NORM)], "x\tnova pad x2\tNORM\n"),
        ([("松,果", POS), ("松果", NEG), ("云杉", NEG)], "x\t松果,云杉\tPOS,NEG\n"),
        ([("甲", POS), ("乙", POS), ("丙", NEG), ("丁", POS)], "x\t甲,乙,丙\tPOS,POS,NEG\n"),
    ],
)
def test_a_line_has_clean_entities_and_keeps_both_tabs(
    tmp_path: Path, entities: list[tuple[str, Emotion]], line: str
) -> None:
    write_answers(tmp_path / "s.txt", ["x"], {"x": [Entity(*pair) for pair in entities]})
    assert (tmp_path / "s.txt").read_bytes() == line.encode()


@pytest.mark.parametrize("char", ["\t", ",", *"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", *"\x00\x07\x1b\x7f\x9b"])
def test_clean_name_removes_each_separator(char: str) -> None:
    assert clean_name(f"松{char}果") == "松果"


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("松\u200b果", "松\u200b果"),  # part of the surface form: the score compares exactly
        ("，、", "，、"),
        ("\ud83d松", "\ufffd松"),
        ("😀", "😀"),
        ("\u3164", ""),
        ("\u2060\x00 \u00a0", ""),
        ("", ""),
    ],
)
def test_clean_name_keeps_what_can_be_seen(name: str, clean: str) -> None:
    assert clean_name(name) == clean


def test_clean_names_counts_each_kind_of_change() -> None:
    result = clean_names(["松,果", "\u200b", "松果", "乙", "丙", "丁", " 乙 "])
    assert result.kept == ((0, "松果"), (3, "乙"), (4, "丙"))
    assert dict(result.changes) == {
        "altered": 1,
        "dropped as empty": 1,
        "dropped as repeated": 2,
        "dropped beyond three": 1,
    }


def test_cleaning_is_warned_once_with_the_first_article(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dirty = [Prediction(news_id, (chosen("a,b"), chosen("\u200b"))) for news_id in ("n1", "n2")]
    with caplog.at_level(logging.WARNING):
        write_all(tmp_path / "s.txt", [Prediction("clean", (chosen("松果"),)), *dirty])
    expected = "entities cleaned for the upload file: 2 altered, 2 dropped as empty (first in article n1)"
    assert caplog.messages == [expected]


@pytest.mark.parametrize("news_id", ["", " ", "a\tb", "a\nb", "a\r", "\ufeffa", "\ud800", "a\u2028b"])
def test_an_id_no_file_can_carry_is_a_data_error(news_id: str, tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match=r"newsId .*no upload file can carry it"),
        SubmissionWriter(tmp_path / "s.txt") as writer,
    ):
        writer.write(Prediction(news_id, ()))
    assert list(tmp_path.iterdir()) == []


# --- all or nothing


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_exception_leaves_the_earlier_files_alone(error: type[BaseException], tmp_path: Path) -> None:
    write_all(tmp_path / "s.txt", PREDICTIONS, details=tmp_path / "d.jsonl")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def stop_midway() -> None:
        with SubmissionWriter(tmp_path / "s.txt", details=tmp_path / "d.jsonl") as writer:
            writer.write(Prediction("other", (chosen("云杉"),)))
            assert len(list(tmp_path.iterdir())) == 6  # three earlier files, three temporary ones
            raise error

    with pytest.raises(error):
        stop_midway()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_interrupt_while_publishing_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(temporary: Path, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write_module, "publish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_all(tmp_path / "s.txt", PREDICTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_new_file_never_replaces_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_all(tmp_path / "s.txt", PREDICTIONS)
    before = (tmp_path / "s.txt").read_bytes()
    monkeypatch.setattr(write_module, "_line", lambda news_id, answers: f"{news_id}\tbroken\n")
    with pytest.raises(PipelineError, match=r"not written, the new file is malformed: line 1: wrong number of tab"):
        write_all(tmp_path / "s.txt", PREDICTIONS)
    assert (tmp_path / "s.txt").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("output", "details", "message"),
    [
        ("folder", None, "folder: is a folder or device"),
        (".", None, "is a folder or device"),
        ("file/s.txt", None, r"s\.txt: cannot be written"),
        ("s.txt", "folder", "folder: is a folder or device"),
        ("s.csv", None, "different names"),
        ("s.txt", "s.txt", "different names"),
    ],
)
def test_a_useless_path_is_a_config_error(output: str, details: str | None, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=message) as caught:
        SubmissionWriter(tmp_path / output, details=tmp_path / details if details else None)
    assert "\n" not in caught.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_is_a_config_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match=r"cannot be written \(No space left on device\)"):
        write_all(tmp_path / "s.txt", PREDICTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "s.txt"
    link.symlink_to(tmp_path / "real" / "upload.txt")
    write_all(link, PREDICTIONS)
    assert link.is_symlink()
    assert (tmp_path / "real" / "upload.txt").read_bytes() == (GOLDEN / "submission.txt").read_bytes()


# --- checking

IDS = ["t1", "t2", "t3"]
GOOD = "t1\t松果,云杉\tPOS,NEG\nt2\t\t\nt3\tNova Pad\tNORM\n"

FAULTY: dict[str, tuple[bytes, list[tuple[int | None, str]]]] = {
    "nothing wrong": (GOOD.encode(), []),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), [(1, "bom")]),
    "crlf is told once": (GOOD.replace("\n", "\r\n").encode(), [(1, "crlf")]),
    "crlf on a later line": (GOOD.replace("\t\t\n", "\t\t\r\n").encode(), [(2, "crlf")]),
    "no final newline": (GOOD.removesuffix("\n").encode(), [(3, "missing final LF")]),
    "blank line": (GOOD.encode() + b"\n", [(4, "blank line")]),
    "empty file": (b"", [(None, "missing id t1"), (None, "missing id t2"), (None, "missing id t3")]),
    "too few lines": (b"t1\t\t\n", [(None, "missing id t2"), (None, "missing id t3")]),
    "line missing in the middle": (b"t1\t\t\nt3\t\t\n", [(None, "missing id t2")]),
    "repeated id": (GOOD.encode() + b"t1\t\t\n", [(4, "duplicate or unexpected id")]),
    "unknown id": (b"t0\t\t\n" + GOOD.encode(), [(1, "duplicate or unexpected id")]),
    "wrong order is told once": (b"t1\t\t\nt3\t\t\nt2\t\t\n", [(2, "wrong order")]),
    "two fields": (b"t1\t\nt2\t\t\nt3\t\t\n", [(1, "wrong number of tab fields")]),
    "four fields": (b"t1\t\t\t\nt2\t\t\nt3\t\t\n", [(1, "wrong number of tab fields")]),
    "too few emotions": (GOOD.replace("POS,NEG", "POS").encode(), [(1, "count mismatch")]),
    "emotion without entity": (GOOD.replace("t2\t\t", "t2\t\tPOS").encode(), [(2, "count mismatch")]),
    "unknown emotion": (GOOD.replace("NORM", "NORMAL").encode(), [(3, "unknown emotion")]),
    "emotion in another case": (GOOD.replace("NORM", "norm").encode(), [(3, "emotion spelling")]),
    "blank before an emotion": (GOOD.replace("POS,NEG", "POS, NEG").encode(), [(1, "emotion spelling")]),
    "control character": (GOOD.replace("云杉", "云\x1b[31m杉").encode(), [(1, "control character")]),
    "four entities": (
        GOOD.replace("t2\t\t", "t2\ta,b,c,d\tPOS,POS,POS,POS").encode(),
        [(2, "more than three entities")],
    ),
    "repeated entity": (GOOD.replace("云杉", "松果").encode(), [(1, "repeated entity")]),
    "empty entity": (GOOD.replace("云杉", "").encode(), [(1, "empty entity")]),
    "invisible entity": (GOOD.replace("云杉", "\u200b").encode(), [(1, "empty entity")]),
    "outer blanks": (GOOD.replace("云杉", "云杉 ").encode(), [(1, "outer blanks")]),
    "line separator": (GOOD.replace("云杉", "云\u2028杉").encode(), [(1, "line break")]),
    "not utf-8": (GOOD.replace("云杉", "?").encode().replace(b"?", b"\xd4\xc6"), [(1, "invalid utf-8")]),
}


@pytest.mark.parametrize("case", FAULTY)
def test_check_submission_names_line_and_fault(case: str, tmp_path: Path) -> None:
    content, expected = FAULTY[case]
    (tmp_path / "s.txt").write_bytes(content)
    found = check_submission(tmp_path / "s.txt", iter(IDS))
    assert [(problem.line, problem.about) for problem in found] == expected
    assert all(problem.detail for problem in found)


def test_check_submission_allows_an_id_as_often_as_the_test_file_holds_it(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("t1\t\t\nt1\t\t\n", encoding="utf-8")
    assert check_submission(tmp_path / "s.txt", ["t1", "t1"]) == []
    assert [problem.line for problem in check_submission(tmp_path / "s.txt", ["t1"])] == [2]


def test_a_problem_reads_as_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("t9\t甲,乙\tPOS\n", encoding="utf-8")
    assert [str(problem) for problem in check_submission(tmp_path / "s.txt", ["t1"])] == [
        "line 1: count mismatch: entities 2, emotions 1",
        "line 1: duplicate or unexpected id: 't9' is not in the test file",
        "missing id t1: the article has no line",
    ]


# --- reading


def test_read_submission_accepts_what_leaves_no_doubt(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes("\ufefft1\t 松果 ,松果\tPOS,POS\r\n\r\nt2\t\t".encode())
    assert read_submission(tmp_path / "s.txt") == {"t1": (Entity("松果", POS), Entity("松果", POS)), "t2": ()}


def test_read_submission_warns_in_the_words_of_the_checker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s.txt"
    path.write_text("t1\t松果,松果\tPOS,neg\nt2\t云杉\tPOS\nt3\t甲,甲\tPOS,POS\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        found = read_submission(path)
    assert found["t1"] == (Entity("松果", POS), Entity("松果", NEG))
    spelled, repeated, _ = map(str, check_submission(path, ["t1", "t2", "t3"]))
    assert {*caplog.messages} == {f"{path}: {repeated} (and 1 more)", f"{path}: {spelled}"}


def test_read_submission_takes_an_id_as_often_as_it_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text("t1\t甲\tPOS\nt2\t\t\nt1\t乙\tNEG\n", encoding="utf-8")
    found = read_submission(path, {"t1": 2})
    assert found == {"t1": (Entity("甲", POS),), "t2": (), "t1\t2": (Entity("乙", NEG),)}
    assert list(found) == list(occurrence_keys(["t1", "t2", "t1"]))
    with pytest.raises(DataError, match=r"s\.txt:3: newsId 't1' has an earlier line"):
        read_submission(path, {"t2": 2})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no line"),
        (b"t1\t\t\nt2\t\n", r"s\.txt:2: wrong number of tab fields: 2, want 3"),
        (b"t1\ta,b\tPOS\n", r"s\.txt:1: count mismatch: entities 2, emotions 1"),
        (b"t1\ta\tPOSS\n", r"s\.txt:1: unknown emotion: 'POSS', want POS, NORM, NEG"),
        (b"t1\ta,\tPOS,POS\n", r"s\.txt:1: empty entity"),
        (b"t1\ta,b,c,d\tPOS,POS,POS,POS\n", r"s\.txt:1: more than three entities: 4"),
        (b"t1\t\t\nt1\t\t\n", r"s\.txt:2: newsId 't1' has an earlier line"),
        (b"t1\t\xff\tPOS\n", r"s\.txt:1: invalid utf-8: byte 4"),
    ],
)
def test_read_submission_stops_with_file_and_line(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_submission(tmp_path / "s.txt")


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: cannot be read \(No such file"):
        read_submission(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot be read"):
        check_submission(tmp_path, ["t1"])


any_text = st.text(st.characters(exclude_categories=()), max_size=8)
anything = st.lists(st.builds(Entity, any_text, st.sampled_from(Emotion)), max_size=5)
sound_ids = st.text(min_size=1, max_size=6).filter(lambda text: news_id_fault(text) is None)


@settings(deadline=None)  # the disk may be slow
@given(predictions=st.dictionaries(sound_ids, anything, min_size=1, max_size=4))
def test_whatever_is_written_passes_the_checker_and_reads_back(predictions: dict[str, list[Entity]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.txt"
        write_answers(path, predictions, predictions)
        assert check_submission(path, predictions) == []
        found = read_submission(path)
    assert list(found) == list(predictions)
    for news_id, entities in predictions.items():
        kept = clean_names(entity.name for entity in entities).kept
        assert found[news_id] == tuple(Entity(name, entities[index].emotion) for index, name in kept)


@settings(deadline=None)  # the disk may be slow
@given(names=st.lists(any_text, max_size=3, unique=True), surface=any_text.filter(bool))
def test_writer_takes_any_text_and_its_csv_reads_back(names: list[str], surface: str) -> None:
    mention = Mention("title", 0, len(surface), surface)
    prediction = Prediction("t1", tuple(chosen(name, mentions=(mention,)) for name in names))
    with tempfile.TemporaryDirectory() as folder:
        path, details = Path(folder) / "s.txt", Path(folder) / "d.jsonl"
        write_all(path, [prediction], details=details)
        upload = [entity.name for entity in read_submission(path)["t1"]]
        assert read_table(path.with_suffix(".csv"))["entity"].tolist() == upload
        row = json.loads(details.read_bytes().removesuffix(b"\n"))
    assert [entity["entity"] for entity in row["entities"]] == upload
    assert all(len(entity["mentions"]) == 1 for entity in row["entities"])


# --- tables

AWKWARD = ["NA", "null", "None", "nan", "007", "1e5", "TRUE", "-", "", " 松果 ", '"云杉"', "a,b", "a\rb", "a\nb", "\\n"]


def test_a_table_keeps_every_string_as_a_string(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", pd.DataFrame({"candidates": AWKWARD, "score": range(len(AWKWARD))}))
    table = read_table(tmp_path / "t.csv")
    assert table["candidates"].tolist() == AWKWARD
    assert [str(dtype) for dtype in table.dtypes] == ["str", "str"]


@settings(deadline=None)  # the disk may be slow
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=6)))
def test_a_table_of_any_text_survives_saving_and_loading(column: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path, pd.DataFrame({"candidates": pd.Series(column, dtype="str")}))
        table = read_table(path)
    assert table["candidates"].tolist() == column
    assert str(table["candidates"].dtype) == "str"


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2,3,4\n1\n1,2,3,4,5\n", b"a\n\xff\n"])
def test_what_is_no_table_is_a_data_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv: not a CSV table \("):
        read_table(tmp_path / "t.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "none.csv")

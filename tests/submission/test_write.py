"""Writing an upload file: golden bytes, cleaning, properties over any text, and what an interruption leaves."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.artifacts import safe_cell
from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.schema import Emotion, Entity, Mention, Prediction, news_id_fault
from pipeline.submission import (
    SubmissionWriter,
    check_submission,
    clean_name,
    clean_names,
    read_submission,
    read_table,
)
from pipeline.submission import write as write_module
from tests.support.paths import GOLDEN
from tests.support.submissions import NEG, NORM, POS, PREDICTIONS, chosen, write_all, write_answers


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
        assert read_table(path.with_suffix(".csv"))["entity"].tolist() == [safe_cell(name) for name in upload]
        row = json.loads(details.read_bytes().removesuffix(b"\n"))
    assert [entity["entity"] for entity in row["entities"]] == upload
    assert all(len(entity["mentions"]) == 1 for entity in row["entities"])

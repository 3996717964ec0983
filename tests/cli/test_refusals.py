"""Bad input and bad options: one line, the right exit code, and no half-written file."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Cli, Done
from tests.support.rows import GOOD, files_in, rows, without

TRAIN = ("train", "--preset", "tiny", "--run", "new", "--train", "rows.jsonl")


BAD_TRAINING = {
    "missing file": (None, 3, ["rows.jsonl: no such file"]),
    "empty file": (b"", 3, ["rows.jsonl: the file is empty"]),
    "blank lines only": (b"\n\n", 3, ["rows.jsonl: the file is empty"]),
    "no newsId": (rows(GOOD, without("newsId")), 3, ["rows.jsonl:2: no newsId"]),
    "wrong emotion": (
        rows(GOOD, GOOD | {"coreEntityEmotions": [{"entity": "砚台超市", "emotion": "GOOD"}]}),
        3,
        ["rows.jsonl:2: emotion 'GOOD' is not one of POS, NORM, NEG"],
    ),
    "unlabelled row": (rows(GOOD, GOOD, without("coreEntityEmotions")), 3, ["rows.jsonl:3: no coreEntityEmotions"]),
    "not JSON": (rows(GOOD, '{"newsId": "b"'), 3, ["rows.jsonl:2: not JSON"]),
    "not UTF-8": (rows(GOOD) + "标题\n".encode("gbk"), 3, ["rows.jsonl:2: not UTF-8"]),
    "title is a number": (rows(GOOD | {"title": 7}), 3, ["rows.jsonl:1: title is not text but 7"]),
    "damaged gzip": (gzip.compress(rows(GOOD))[:-9], 3, ["rows.jsonl: damaged or not gzip"]),
    "many bad rows": (rows(*[without("newsId")] * 30), 3, ["rows.jsonl:1: no newsId", "and at least 19 more bad rows"]),
    "too few articles": (rows(GOOD), 3, ["1 articles in 1 groups", "too few for 3 folds"]),
}


@pytest.mark.parametrize("name", BAD_TRAINING)
def test_train_refuses_bad_data(run_here: Callable[..., Done], tmp_path: Path, name: str) -> None:
    content, code, pieces = BAD_TRAINING[name]
    if content is not None:
        (tmp_path / "rows.jsonl").write_bytes(content)
    before = files_in(tmp_path)
    done = run_here(*TRAIN)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert files_in(tmp_path) == before


BAD_OPTIONS = {
    "unknown preset": (
        ["--preset", "huge"],
        2,
        ["unknown preset 'huge'", "best, cpu, fast, full, paper, paper-joint, tiny"],
    ),
    "no rows to learn from first": (["--set", "sentiment.transfer=[none.jsonl]"], 3, ["none.jsonl", "no such file"]),
    "unknown key": (["--set", "rerank.num_leafs=3"], 2, ["num_leafs", "Did you mean: 'num_leaves'"]),
    "unknown group": (["--set", "rank.num_leaves=3"], 2, ["rank.num_leaves"]),
    "not a number": (["--set", "rerank.num_leaves=many"], 2, ["rerank.num_leaves=many", "Integer"]),
    "out of range": (["--set", "rerank.num_leaves=0"], 2, ["rerank.num_leaves must lie between"]),
    "no value": (["--set", "rerank.num_leaves"], 2, ["want key=value"]),
    "unknown head": (["--set", "sentiment.members=[tfidf,iann]"], 2, ["'iann'", "af_lstm"]),
    "no config file": (["--config", "nowhere.yaml"], 2, ["nowhere.yaml: no such configuration file"]),
    "config with unknown key": (["--config", "strange.yaml"], 2, ["strange.yaml", "colour"]),
    "config not YAML": (["--config", "broken.yaml"], 2, ["broken.yaml: not valid YAML"]),
    "unknown option": (["--bogus", "1"], 2, ["No such option: --bogus"]),
    "run name with a path": (["--run", "../outside"], 2, ["run name '../outside'"]),
    "existing run": (["--run", "old"], 2, ["models/old: the run exists already"]),
    "no dictionary": (["--set", "candidates.dictionary=nowhere.txt"], 3, ["nowhere.txt: no such dictionary file"]),
    "no dev file": (["--dev", "nowhere.jsonl"], 3, ["nowhere.jsonl: no such file"]),
    "bad dev file": (["--dev", "bad.jsonl"], 3, ["bad.jsonl:1: no newsId"]),
    "nothing to resume": (["--resume", "--run", "old", "--train", "nowhere"], 3, ["nowhere: no such file"]),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_train_refuses_bad_options(run_here: Callable[..., Done], tiny_data: Path, tmp_path: Path, name: str) -> None:
    options, code, pieces = BAD_OPTIONS[name]
    (tmp_path / "rows.jsonl").write_bytes((tiny_data / "train.jsonl").read_bytes())
    (tmp_path / "bad.jsonl").write_bytes(rows(without("newsId")))
    (tmp_path / "strange.yaml").write_text("colour: red\n")
    (tmp_path / "broken.yaml").write_text("rerank: [1\n")
    (tmp_path / "models" / "old").mkdir(parents=True)
    (tmp_path / "models" / "old" / "log.txt").touch()
    before = files_in(tmp_path)
    done = run_here(*TRAIN, *options)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert files_in(tmp_path) == before


def test_train_says_that_its_output_folder_is_not_writable(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    (tmp_path / "models").touch()
    done = cli.run("train", "--preset", "tiny", "--run", "new", "--train", tiny_data / "train.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert "models/new: cannot be written" in done.message


def test_the_process_answers_as_the_function_does(cli: Cli, tmp_path: Path) -> None:
    """Bad data twice under one name: the first failure leaves nothing that stands in the way."""
    for content, piece in ((rows(without("newsId")), "no newsId"), (rows(GOOD), "too few for 3 folds")):
        (tmp_path / "rows.jsonl").write_bytes(content)
        done = cli.run(*TRAIN, cwd=tmp_path)
        assert done.code == 3
        assert piece in done.message


@pytest.mark.parametrize(
    ("arguments", "code", "piece"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["check"], 2, "Missing option"),
        (["audit"], 2, "Missing argument"),
        (["demo", "--preset", "huge"], 2, "unknown preset 'huge'"),
        (["audit", "nowhere.jsonl"], 3, "nowhere.jsonl: no such file"),
        (["audit", "rows.jsonl", "--json", "rows.jsonl"], 2, "rows.jsonl: would overwrite rows.jsonl"),
        (["audit", "rows.jsonl", "--json", "blocker/a.json"], 2, "blocker/a.json: cannot be written"),
        (["check", "--submission", "nowhere.txt", "--input", "rows.jsonl"], 3, "nowhere.txt: cannot be read"),
        (["check", "--submission", "rows.jsonl", "--input", "nowhere"], 3, "nowhere: no such file"),
        (["evaluate", "--gold", "rows.jsonl", "--submission", "blocker"], 3, "blocker: holds no line"),
        (["evaluate", "--gold", "rows.jsonl", "--submission", "rows.jsonl"], 3, "rows.jsonl:1: wrong number of tab"),
        (["evaluate", "--gold", "test.jsonl", "--submission", "blocker"], 3, "test.jsonl:1: no coreEntityEmotions"),
    ],
)
def test_other_commands_refuse(cli: Cli, tmp_path: Path, arguments: list[str], code: int, piece: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD))
    (tmp_path / "test.jsonl").write_bytes(rows(without("coreEntityEmotions")))
    (tmp_path / "blocker").touch()
    before = files_in(tmp_path)
    done = cli.run(*arguments, cwd=tmp_path)
    assert done.code == code, done.err
    assert piece in done.message
    assert files_in(tmp_path) == before


def test_check_lists_every_problem_and_exits_3(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD, GOOD | {"newsId": "a2"}))
    (tmp_path / "answer.txt").write_bytes("a1\t砚台超市\tGOOD\na3\t\t\n".encode())
    done = cli.run("check", "--submission", "answer.txt", "--input", "rows.jsonl", cwd=tmp_path)
    assert done.code == 3
    assert done.err == ""
    lines = done.out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["line 1", "line 2", "missing id a2", "answer.txt"]
    assert lines[-1] == "answer.txt: 3 problem(s)"


def test_audit_of_the_tiny_articles_matches_the_golden_file(
    cli: Cli, tiny_data: Path, golden: Callable[[str, str], None]
) -> None:
    done = cli.run("audit", "train.jsonl", "test.jsonl", cwd=tiny_data)
    assert (done.code, done.err) == (0, "")
    golden("audit.txt", done.out)

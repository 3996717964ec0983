"""``predict``: what is wrong with a run, or with where the answer goes, and strange articles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.submission import read_submission
from tests.support.command_line import Cli, Done, TinyRun
from tests.support.paths import ROOT
from tests.support.rows import GOOD, files_in, rows, without


def tamper(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def set_schema_version(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"schema_version": 0}))


BAD_RUNS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "model changed": ("rerank/model/model.txt", tamper, "models/tiny/rerank/model/model.txt: changed since"),
    "weights changed": ("candidates/pruners.json", tamper, "models/tiny/candidates/pruners.json: changed"),
    "features missing": ("rerank/model/features.json", Path.unlink, "models/tiny/rerank/model/features.json: missing"),
    "other schema version": ("manifest.json", set_schema_version, "manifest.json: saved with schema version 0"),
    "manifest not JSON": ("manifest.json", lambda path: path.write_text("{"), "manifest.json: not valid JSON"),
    "unfinished": ("manifest.json", Path.unlink, "models/tiny: the run is unfinished"),
}


@pytest.mark.parametrize("name", BAD_RUNS)
def test_predict_refuses_a_run_that_is_not_as_saved(
    run_here: Callable[..., Done], tiny_run: TinyRun, tiny_data: Path, tmp_path: Path, name: str
) -> None:
    file, damage, piece = BAD_RUNS[name]
    damage(tiny_run.copy_to(tmp_path) / file)
    arguments = ("--input", tiny_data / "test.jsonl", "--output", "answer.txt")
    done = run_here("predict", "--run", "tiny", *arguments)
    assert done.code == 4, done.err
    assert piece in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


BAD_PREDICTIONS = {
    "no run of that name": (["--run", "other"], 4, "models/other: no such run folder"),
    "run name with a path": (["--run", "../tiny"], 2, "run name '../tiny'"),
    "missing input": (["--input", "nowhere.jsonl"], 3, "nowhere.jsonl: no such file"),
    "empty input": (["--input", "blocker"], 3, "blocker: the file is empty"),
    "input is a folder": (["--input", "models"], 3, "models: is a folder"),
    "bad row in the middle": (["--input", "bad.jsonl"], 3, "bad.jsonl:2: no newsId"),
    "output below a file": (["--output", "blocker/answer.txt"], 2, "blocker/answer.txt: cannot be written"),
    "output is a folder": (["--output", "models"], 2, "models: is a folder or device"),
    "output is this folder": (["--output", "."], 2, ".: is a folder or device"),
    "output is the input": (["--output", "rows.jsonl"], 2, "rows.jsonl: would overwrite rows.jsonl"),
    "output is its own table": (["--output", "answer.csv"], 2, "answer.csv: would overwrite answer.csv"),
    "details are the output": (["--details", "answer.txt"], 2, "answer.txt: would overwrite answer.txt"),
    "no article": (["--limit", "0"], 2, "--limit"),
    "no worker": (["--workers", "0"], 2, "--workers"),
}


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_predict_refuses(run_here: Callable[..., Done], tiny_run: TinyRun, tmp_path: Path, name: str) -> None:
    options, code, piece = BAD_PREDICTIONS[name]
    tiny_run.copy_to(tmp_path)
    (tmp_path / "blocker").touch()
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD))
    (tmp_path / "bad.jsonl").write_bytes(rows(GOOD, without("newsId"), GOOD | {"newsId": "a2"}))
    before = files_in(tmp_path)
    articles = [] if "--input" in options else ["--input", "rows.jsonl"]
    done = run_here("predict", "--run", "tiny", *articles, "--output", "answer.txt", *options)
    assert done.code == code, done.err
    assert piece in done.message
    assert files_in(tmp_path) == before


def test_strange_articles_all_get_their_line(run_here: Callable[..., Done], tiny_run: TinyRun, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    rows = [
        {"newsId": "007", "title": "", "content": ""},
        {"newsId": "NA", "title": None, "content": "　\n\t"},
        {"newsId": "emoji", "title": "😀", "content": "😀😀🎉"},
        {"newsId": "../../outside/x", "title": "/etc/x", "content": "../x"},
        {"newsId": "latin", "title": "Only Latin", "content": "nova pad x2, nova pad x2!"},
        {"newsId": "one line", "title": "长", "content": "没有标点的一句话" * 2000},
        {"newsId": "marks", "title": "《》", "content": "。。。，，，“”"},
        {"newsId": "comma", "title": "《云上,座城》口碑", "content": "《云上,座城》今晚开播，好评如潮。"},
        {
            "newsId": "html",
            "title": "&nbsp;&amp;",
            "content": "<p>砚台超市&nbsp;&nbsp;被罚</p>https://a.example.com/b?c=1",
        },
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = run_here("predict", "--input", "rows.jsonl", "--output", "answer.txt")
    assert done.code == 0, done.err
    lines = (tmp_path / "answer.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert [line.split("\t")[0] for line in lines] == [row["newsId"] for row in rows]
    assert lines[:2] == ["007\t\t", "NA\t\t"]
    assert run_here("check", "--submission", "answer.txt", "--input", "rows.jsonl").code == 0
    names = [".answer.txt.json", "answer.csv", "answer.txt", "models", "rows.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_limit_and_bad_rows(run_here: Callable[..., Done], tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    lines = (tiny_data / "test.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join([lines[0], b"not JSON\n", *lines[1:]]))
    arguments = ("--input", "rows.jsonl", "--output", "answer.txt", "--skip-bad-rows", "--limit", "3")
    done = run_here("predict", *arguments)
    assert done.code == 0
    assert "1 malformed rows left out (first: rows.jsonl:2: not JSON" in done.err
    assert list(read_submission(tmp_path / "answer.txt")) == ["tiny044", "tiny045", "tiny046"]


def test_predict_without_any_run_says_how_to_train(cli: Cli, tmp_path: Path) -> None:
    done = cli.run("predict", "--input", ROOT / "data" / "sample" / "test.jsonl", cwd=tmp_path)
    assert done.code == 4
    assert done.message == "models: no finished run"
    assert "hint: python run.py train" in done.err

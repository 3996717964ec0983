"""Files that hold other answers are not overwritten unasked; what is known of them is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.submission import Origin, note_origin, refuse_other_answers
from tests.support.command_line import Cli, TinyRun

FIRST = Origin("first", "0" * 64, "test.jsonl")


def upload(path: Path, *ids: str) -> Path:
    path.write_text("".join(f"{news_id}\t\t\n" for news_id in ids), encoding="utf-8")
    return path


def refused(origin: Origin, path: Path, ids: list[str] | None, *others: Path) -> str:
    with pytest.raises(ConfigError, match=r": (holds|exists)") as caught:
        refuse_other_answers(origin, path, list(others), ids)
    assert "--force" in str(caught.value.hint)
    return caught.value.message


def test_an_earlier_state_of_the_same_answers_may_be_overwritten(tmp_path: Path) -> None:
    path, table = upload(tmp_path / "a.txt", "n1", "n2"), tmp_path / "a.csv"
    table.write_text("newsId\n")
    note_origin(FIRST, path, [table])
    refuse_other_answers(FIRST, path, [table, tmp_path / "new.jsonl"], ["n1", "n2"])
    refuse_other_answers(FIRST, path, [table], ["n1", "n2", "n3"])  # a trial with --limit before
    refuse_other_answers(FIRST, path, [table], None)
    shutil.move(tmp_path / "a.txt", tmp_path / "b.txt")
    refuse_other_answers(FIRST, tmp_path / "c.txt", [], ["n9"])  # nothing is there


def test_empty_files_may_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    refuse_other_answers(FIRST, tmp_path / "a.txt", [], ["n1"])


def test_answers_of_another_run_or_input_are_named(tmp_path: Path) -> None:
    path = upload(tmp_path / "a.txt", "n1", "n2")
    note_origin(FIRST, path)
    holds = f"{path}: holds the answers of run first to test.jsonl"
    assert refused(Origin("second", "1" * 64, "test.jsonl"), path, ["n1", "n2"]) == holds
    retrained = Origin("first", "1" * 64, "test.jsonl")
    assert refused(retrained, path, ["n1", "n2"]) == f"{holds}, before it was trained again"
    for ids in (["n2", "n1"], ["n1"], ["n1", "x"]):
        assert refused(Origin("first", "0" * 64, "o.jsonl"), path, ids) == f"{holds}, not to o.jsonl"
    assert refused(Origin("first", "0" * 64, "parts"), path, None) == f"{holds}, not to parts"


def test_files_of_unknown_origin_or_changed_since_stay(tmp_path: Path) -> None:
    path, details = upload(tmp_path / "a.txt", "n1"), tmp_path / "d.jsonl"
    about = f"exists, and is not as predict left it beside {path}"
    assert refused(FIRST, path, ["n1"]) == f"{path}: {about}"
    note_origin(FIRST, path)
    details.write_text("mine\n")
    assert refused(FIRST, path, ["n1"], details) == f"{details}: {about}"
    details.unlink()
    upload(path, "n1", "n2")
    assert refused(FIRST, path, ["n1", "n2"], details) == f"{path}: {about}"
    (tmp_path / ".a.txt.json").write_text("{")
    assert refused(FIRST, path, ["n1", "n2"]) == f"{path}: {about}"


def test_predict_overwrites_its_own_answers_and_no_others(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    lines = (tiny_data / "test.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[:4]))
    (tmp_path / "other.jsonl").write_bytes(b"".join(lines[4:6]))
    predict = ("predict", "--workers", "1", "--output", "a.txt", "--input")
    assert cli.run(*predict, "rows.jsonl", "--limit", "2", cwd=tmp_path).code == 0
    assert cli.run(*predict, "rows.jsonl", cwd=tmp_path).code == 0
    before = (tmp_path / "a.txt").read_bytes()
    done = cli.run(*predict, "other.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert done.message == "a.txt: holds the answers of run tiny to rows.jsonl, not to other.jsonl"
    assert (tmp_path / "a.txt").read_bytes() == before
    assert cli.run(*predict, "other.jsonl", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "a.txt").read_bytes() != before

"""What the program calls itself, and what it says where the sample is missing."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import files, main
from pipeline.cli.program import as_started, program_name
from pipeline.errors import ConfigError, DataError
from tests.support.paths import ROOT, SAMPLE


@pytest.fixture(autouse=True)
def _what_main_changes_is_put_back() -> Iterator[None]:
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    yield
    root.handlers[:] = handlers
    package.setLevel(level)
    signal.signal(signal.SIGTERM, on_term)


@pytest.mark.parametrize(
    ("started", "name"),
    [("/x/bin/core-entities", "core-entities"), ("run.py", "python run.py"), ("-c", "python run.py")],
)
def test_hints_name_the_program_as_it_was_started(started: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert program_name() == name
    assert as_started("try: python run.py train") == f"try: {name} train"


def test_help_and_hints_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/bin/core-entities"])
    monkeypatch.chdir(tmp_path)
    for arguments in (["--help"], ["train", "--help"], ["tag", "predict", "--help"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "Usage: core-entities" in out
        assert "run.py" not in out
    assert main(["predict", "--input", str(SAMPLE / "test.jsonl")]) == 4
    assert "hint: core-entities train\n" in capsys.readouterr().err
    assert main(["fly"]) == 2
    assert "core-entities --help lists" in capsys.readouterr().err


def test_the_sample_is_found_in_a_checkout_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.SAMPLES[0] == ROOT / "data" / "sample"
    (tmp_path / "test.jsonl").touch()
    monkeypatch.setattr(files, "SAMPLES", (tmp_path / "nowhere", tmp_path))
    assert files.sample("test.jsonl") == tmp_path / "test.jsonl"


def test_a_command_without_files_takes_the_official_ones_and_never_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert files.sample("train.jsonl").is_file()
    for find in (files.default_train, files.default_input):
        with pytest.raises(DataError, match=r"data/coreEntityEmotion_.*\.txt: no such file") as caught:
            find()
        assert "python run.py demo" in str(caught.value.hint)
    for path in (files.OFFICIAL_TRAIN, files.OFFICIAL_TEST):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert (files.default_train(), files.default_input()) == (files.OFFICIAL_TRAIN, files.OFFICIAL_TEST)


def test_without_the_sample_the_commands_say_what_they_want(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "SAMPLES", (tmp_path / "a", tmp_path / "b"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"train.jsonl: the sample is not there"):
        files.sample("train.jsonl")
    with pytest.raises(DataError, match=r"data/coreEntityEmotion_train.txt: no such file"):
        files.default_train()
    assert main(["demo"]) == 2
    assert "data/sample of the project's repository" in capsys.readouterr().err
    assert main(["train"]) == 3
    assert "hint: name a file of articles by --train FILE" in capsys.readouterr().err
    assert main(["predict"]) == 3
    assert "hint: name a file of articles by --input FILE" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

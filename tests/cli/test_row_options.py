"""The options of rows: every command that reads some has them, from one definition, and passes them down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from pipeline.cli.main import app
from pipeline.data.formats.registry import FORMATS
from pipeline.data.formats.tagging.registry import FORMATS as TAG_FORMATS
from tests.support.command_line import Done, TinyRun
from tests.support.rows import GOOD, rows

OPTIONS = ("--format", "--encoding", "--columns", "--label-map")
OF_A_RUN = "reads the files of a run as its training read them"
NO_EMOTION = "looks at no emotion"
EXCEPTIONS: dict[tuple[str, ...], dict[str, str]] = {
    ("demo",): dict.fromkeys(OPTIONS, "reads the shipped sample alone"),
    ("tune",): dict.fromkeys(OPTIONS, OF_A_RUN),
    ("check",): {"--label-map": NO_EMOTION},
    ("predict",): {"--label-map": NO_EMOTION},
    ("heads", "predict"): {"--label-map": NO_EMOTION},
    ("heads", "show"): {"--label-map": NO_EMOTION},
    ("tag", "predict"): {"--label-map": "looks at no type"},
    **{("match", name): {"--label-map": "labels are 0 and 1, or scores"} for name in ("train", "predict", "evaluate")},
}
"""Commands without an option, and why."""


def commands(group: Any = None, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each command with its options."""
    command = group or get_command(app)
    if parts := getattr(command, "commands", None):
        for name, part in parts.items():
            yield from commands(part, (*names, name))
    else:
        yield names, {option: one for one in command.params for option in one.opts}


COMMANDS = dict(commands())


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_has_the_options_of_rows_or_a_reason(names: tuple[str, ...]) -> None:
    lacking = {option for option in OPTIONS if option not in COMMANDS[names]}
    assert lacking == set(EXCEPTIONS.get(names, {}))


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_rows_says_the_same_everywhere(option: str) -> None:
    said = {
        (names[0] == "tag" and option in ("--format", "--label-map"), found[option].help, found[option].metavar)
        for names, found in COMMANDS.items()
        if option in found
    }
    assert len(said) == (2 if option in ("--format", "--label-map") else 1)


def test_help_names_every_format() -> None:
    for names, formats in ((("train",), FORMATS), (("tag", "train"), TAG_FORMATS)):
        listed = COMMANDS[names]["--format"].help.partition(": ")[2].rstrip(".").split(", ")
        assert sorted(listed) == sorted(formats)


WITHOUT_MODEL = {
    "check": ("--submission", "x.txt", "--input"),
    "evaluate": ("--submission", "x.txt", "--gold"),
    "train": ("--dry-run", "--preset", "tiny", "--train"),
    "report": ("--gold",),
    "explain": ("--id", "a1", "--input"),
    "audit": (),
    "convert": ("out.jsonl", "--to", "articles"),
    "compare runs": ("--run", "a", "--other", "b", "--gold"),
    "compare modes": ("--preset", "tiny", "--train"),
    "compare heads": ("--preset", "tiny", "--data"),
    "heads train": ("--preset", "tiny", "--head", "ian", "--out", "m", "--data"),
    "match train": ("--preset", "tiny", "--out", "m", "--data"),
    "tag train": ("--preset", "tiny", "--tagger", "lstm", "--model", "m", "--train"),
    "tag evaluate": ("--pred", "x.jsonl", "--gold"),
}
"""Commands that read rows before they want a model: what stands before the file, which is the last argument."""


@pytest.mark.parametrize("command", WITHOUT_MODEL)
def test_the_options_of_rows_reach_the_reader(run_here: Callable[..., Done], tmp_path: Path, command: str) -> None:
    """A column that is not there is an error of the reader; so is an encoding that the bytes are not in."""
    (tmp_path / "rows.jsonl").write_bytes(rows({**GOOD, "text": "青禾好"}))
    given = [*command.split(), *WITHOUT_MODEL[command]]
    if command == "convert":
        given[1:1] = ["rows.jsonl"]
    else:
        given.append("rows.jsonl")
    done = run_here(*given, "--columns", "text=absent")
    if command == "audit":
        assert (done.code, "no column absent" in done.err + done.out) == (3, True)
    else:
        assert (done.code, "rows.jsonl:1: no column absent (have: newsId" in done.message) == (3, True)
    done = run_here(*given, "--encoding", "ascii")
    assert (done.code, "not ASCII" in done.err + done.out) == (3, True)
    assert run_here(*given, "--encoding", "klingon").code == 2
    done = run_here(*given, "--format", "klingon")
    assert (done.code, "unknown format 'klingon'" in done.message) == (2, True)
    if "--label-map" not in EXCEPTIONS.get(tuple(command.split()), {}):
        assert "--label-map x:" in run_here(*given, "--label-map", "x").message


def test_predict_takes_the_columns_of_a_table_in_another_encoding(
    run_here: Callable[..., Done], tmp_path: Path, tiny_run: TinyRun
) -> None:
    (tmp_path / "models").symlink_to(tiny_run.path.parent)
    (tmp_path / "news.txt").write_bytes("编号;标题;正文\n7;砚台超市开业;砚台超市好评如潮。\n".encode("gb18030"))
    how = ("--format", "csv", "--encoding", "gb18030", "--columns", "newsId=编号,title=标题,content=正文")
    done = run_here("predict", "--run", tiny_run.path.name, "--input", "news.txt", "--output", "a.txt", *how)
    assert done.code == 0, done.err
    assert (tmp_path / "a.txt").read_text(encoding="utf-8").startswith("7\t砚台超市")

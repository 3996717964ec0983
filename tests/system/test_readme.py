"""What the README tells people to type: the commands and options exist, and so do the presets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from pipeline.cli.main import app
from pipeline.config import PRESET_DIR, Config, load_config, presets
from tests.support.paths import ROOT

READMES = ("README.md", "README.zh-CN.md")
_COMMAND = re.compile(r"python run\.py\b((?:\\\n|[^`\n&|;#)）])*)")
GROUP = get_command(app)


def commands_of(path: Path) -> list[str]:
    """Return every ``python run.py ...`` of a page, in blocks and in the text; lines joined by a backslash are one."""
    found = [match[1].replace("\\\n", " ").strip() for match in _COMMAND.finditer(path.read_text(encoding="utf-8"))]
    return [command for command in found if command and command != "..."]


def documented() -> list[object]:
    pages = [ROOT / name for name in READMES if (ROOT / name).is_file()]
    return [
        pytest.param(line, id=f"{page.name}: {line}") for page in pages for line in dict.fromkeys(commands_of(page))
    ]


def parse(line: str) -> tuple[str, dict[str, object]]:
    """Parse a command as the program would, without running it; return its name and the values of its options."""
    name, *arguments = shlex.split(line)
    assert name in GROUP.commands, f"there is no command {name!r}"
    arguments = [argument for argument in arguments if argument not in ("...", "…")]
    return name, GROUP.commands[name].make_context(name, arguments).params


@pytest.mark.parametrize("line", documented())
def test_a_documented_command_parses(line: str) -> None:
    if line.startswith("-"):
        assert set(line.split()) <= {"--help", "-h", "--version", "--debug"}
        return
    _, values = parse(line)
    load_config(preset=str(values.get("preset") or "cpu"), overrides=values.get("overrides") or [])


@pytest.mark.parametrize("name", READMES)
def test_the_readme_shows_every_command(name: str) -> None:
    shown = {command.split()[0] for command in commands_of(ROOT / name)}
    assert shown >= set(GROUP.commands)


def test_the_parser_of_this_test_notices_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`python run.py audit FILE...` and\n\n    python run.py train \\\n        --run a && python run.py demo\n"
    )
    assert commands_of(page) == ["audit FILE...", "train          --run a", "demo"]
    with pytest.raises(AssertionError, match="there is no command 'fly'"):
        parse("fly --high")
    with pytest.raises(Exception, match="No such option: --hihg"):
        parse("train --hihg")
    assert parse("train --train a.jsonl --set seed=3")[1]["overrides"] == ["seed=3"]


@pytest.mark.parametrize("command", sorted(GROUP.commands))
def test_the_example_in_the_help_parses(command: str) -> None:
    text = GROUP.commands[command].help or ""
    example = re.search(r"Example: python run\.py (.+)", text)
    assert example, f"{command} has no example"
    assert parse(example[1])[0] == command


def test_every_preset_parses() -> None:
    found = sorted(path.stem for path in PRESET_DIR.glob("*.yaml"))
    assert set(found) >= {"cpu", "tiny"}
    assert list(presets()) == found
    for name in found:
        assert isinstance(load_config(preset=name), Config)


def test_every_preset_is_explained() -> None:
    """In the help of ``train``, and in both READMEs."""
    option = next(one for one in GROUP.commands["train"].params if one.name == "preset")
    help_text = str(getattr(option, "help", ""))
    for name in presets():
        assert re.search(rf"\b{name}\b", help_text), help_text
        for readme in ("README.md", "README.zh-CN.md"):
            assert f"`{name}`" in (ROOT / readme).read_text(encoding="utf-8"), f"{readme}: {name}"

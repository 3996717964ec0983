"""What the program says: nothing commands the terminal, hints fit the command; closed streams and odd values."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.say import EscapingFormatter, escaped
from pipeline.submission import read_submission
from tests.support.command_line import RUN_PY, Cli, TinyRun
from tests.support.paths import SAMPLE

ROW = {
    "newsId": "a1",
    "coreEntityEmotions": [{"entity": "砚台超市", "emotion": "POS"}],
    "title": "砚台超市开业",
    "content": "砚台超市今天开业，砚台超市好评如潮。",
}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


# --- the terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("砚台 😀 é\n\tx", "砚台 😀 é\n\tx"),
        ("\x1b[31mred\x07\r", "\\x1b[31mred\\x07\\r"),
        ("a\u202eb\u2028\x9b", "a\\u202eb\\u2028\\x9b"),
        ("\ud83d", "\\ud83d"),
    ],
)
def test_what_commands_a_terminal_is_written_as_an_escape(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_message_stays_on_its_line() -> None:
    record = logging.LogRecord("x", logging.WARNING, "x", 1, "id %s", ("a\nerror: b\x1b[2J",), None)
    assert EscapingFormatter("%(message)s").format(record) == "id a\\nerror: b\\x1b[2J"


def test_ids_and_names_reach_the_screen_without_escape_sequences(cli: Cli, tmp_path: Path) -> None:
    hostile = "a\x1b]0;title\x07"
    entities = [{"entity": "\x1b[2J砚", "emotion": "POS"}] * 2
    write(tmp_path / "rows.jsonl", ROW | {"newsId": hostile, "coreEntityEmotions": entities})
    (tmp_path / "s.txt").write_text(f"{hostile}\t\x1b[2J砚,\tPOS\n\x1bx\t\t\n", encoding="utf-8")
    commands = (
        ("check", "--submission", "s.txt", "--input", "rows.jsonl"),
        ("evaluate", "--submission", "s.txt", "--gold", "rows.jsonl"),
        ("train", "--preset", "tiny", "--train", "rows.jsonl"),
        ("audit", "rows.jsonl", "rows.jsonl"),
        ("explain", "--id", "x\x1b", "--input", "rows.jsonl"),
    )
    for command in commands:
        done = cli.run(*command, cwd=tmp_path)
        assert done.code in (0, 3)
        assert "\x1b" not in done.out + done.err, command


# --- streams that are closed


def test_a_closed_reader_does_not_make_problems_a_success(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", ROW)
    (tmp_path / "s.txt").write_text("".join(f"x{number}\t\t\n" for number in range(20_000)), encoding="utf-8")
    process = cli.start("check", "--submission", "s.txt", "--input", "rows.jsonl", cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"line 1: ")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (3, b"")


@pytest.mark.parametrize("closing", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_from_the_start_stops_nothing(
    closing: str, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    source = tiny_data / "test.jsonl"
    command = f"{sys.executable} {RUN_PY} predict --workers 1 --input {source} --output a.txt {closing}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(read_submission(tmp_path / "a.txt")) == 10
    assert b"run:" not in (tmp_path / "a.csv").read_bytes()
    failing = f"{sys.executable} {RUN_PY} audit nowhere.jsonl {closing}"
    assert subprocess.run(["bash", "-c", failing], cwd=tmp_path, capture_output=True, timeout=60).returncode == 3


# --- options and hints


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (("predict", "--limit", "9" * 30), "--limit"),
        (("predict", "--workers", "9" * 30), "--workers"),
        (("tune", "--seed", "9" * 30), "--seed"),
        (("train", "--train", "rows.jsonl", "--set", f"seed={'9' * 30}"), "seed"),
        (("train", "--train", "rows.jsonl", "--set", f"workers={'9' * 30}"), "workers"),
        (("audit", "x" * 300), "File name too long"),
        (("train", "--train", "x" * 300), "File name too long"),
        (("predict", "--input", "x" * 300), "File name too long"),
        (("train", "--train", "rows.jsonl", "--config", "x" * 300), "File name too long"),
        (("audit", "rows.jsonl", "--json", "x" * 250), "File name too long"),
        (("train", "--train", "rows.jsonl", "--preset", "tiny", "--set", 'candidates.dictionary="a\\0b"'), ""),
    ],
)
def test_values_out_of_any_range_are_errors_of_the_user(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], piece: str
) -> None:
    write(tmp_path / "rows.jsonl", *(ROW | {"newsId": f"a{n}", "title": f"第{n}篇{n * 7}"} for n in range(6)))
    done = cli.run(*arguments, cwd=tmp_path)
    assert done.code in (2, 3), done.err
    assert piece in done.message
    assert "bug" not in done.err


def test_bad_rows_are_left_out_by_every_command_that_advises_it(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", ROW, "{", ROW | {"newsId": "a2"})
    (tmp_path / "s.txt").write_text("a1\t砚台超市\tPOS\na2\t\t\n", encoding="utf-8")
    commands = (
        ("check", "--submission", "s.txt", "--input", "rows.jsonl"),
        ("evaluate", "--submission", "s.txt", "--gold", "rows.jsonl"),
    )
    for command in commands:
        done = cli.run(*command, cwd=tmp_path)
        assert done.code == 3
        assert "--skip-bad-rows" in done.err
        done = cli.run(*command, "--skip-bad-rows", cwd=tmp_path)
        assert done.code == 0, done.err
        assert "rows.jsonl: 1 malformed rows left out (first: rows.jsonl:2" in done.err
    refused = cli.run("explain", "--id", "a9", "--input", "rows.jsonl", cwd=tmp_path)
    assert (refused.code, "hint: mend the rows\n" in refused.err) == (3, True)
    report = cli.run("report", "--gold", "rows.jsonl", "--skip-bad-rows", cwd=tmp_path)
    assert (report.code, report.message) == (4, "models: no finished run")


def test_a_folder_is_no_file_and_the_hint_fits_the_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    train = cli.run("train", "--train", "parts", cwd=tmp_path)
    predict = cli.run("predict", "--input", "parts", cwd=tmp_path)
    assert train.message == predict.message == "parts: is a folder, not a file"
    assert "hint: name a file in it\n" in train.err
    assert "--engine ray" in predict.err


def test_a_run_that_is_not_there_brings_the_names_of_those_that_are(
    cli: Cli, tiny_run: TinyRun, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path, "one")
    tiny_run.copy_to(tmp_path, "two")
    for command in (
        ("predict", "--input", SAMPLE / "test.jsonl"),
        ("report", "--gold", SAMPLE / "test.jsonl"),
        ("explain", "--title", "x"),
    ):
        done = cli.run(*command, "--run", "three", cwd=tmp_path)
        assert (done.code, done.message) == (4, "models/three: no such run folder")
        assert "the newest runs there: " in done.err
        assert {"one", "two"} <= set(done.err.replace(",", " ").split())


def test_json_to_standard_output_stands_alone(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", ROW)
    (tmp_path / "s.txt").write_text("a1\t砚台超市\tPOS\n", encoding="utf-8")
    done = cli.run("evaluate", "--gold", "rows.jsonl", "--submission", "s.txt", "--json", "-", cwd=tmp_path)
    assert (done.code, json.loads(done.out)["score"]) == (0, 1.0)
    assert json.loads(cli.run("audit", "rows.jsonl", "--json", "-", cwd=tmp_path).out)["files"][0]["n_articles"] == 1
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--dev", "bad.jsonl")])
def test_bad_data_is_found_before_anything_heavy_is_imported(cli: Cli, tmp_path: Path, more: tuple[str, ...]) -> None:
    write(tmp_path / "bad.jsonl", ROW, "{")
    write(tmp_path / "rows.jsonl", ROW)
    source = "rows.jsonl" if "--dev" in more else "bad.jsonl"
    code = "import sys; from pipeline.cli import main; print(main(sys.argv[1:]), *sys.modules)"
    done = cli.run("train", "--preset", "tiny", "--train", source, *more, cwd=tmp_path, code=code)
    answer, *modules = done.out.split()
    assert (answer, done.message.split(": not JSON")[0]) == ("3", "bad.jsonl:2")
    assert not {"torch", "lightgbm", "sklearn", "transformers", "pandas"} & set(modules)


# --- newsIds that occur again


def test_rows_that_repeat_an_id_are_answered_checked_and_scored_alike(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    rows = [json.loads(line) for line in (tiny_data / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[3]["newsId"] = rows[1]["newsId"]
    write(tmp_path / "rows.jsonl", *rows)
    done = cli.run("predict", "--workers", 1, "--input", "rows.jsonl", "--output", "a.txt", cwd=tmp_path)
    assert done.code == 0, done.err
    told = "1 row repeats an earlier newsId (1 with another text), each is answered on its own line:"
    assert f"{told} {rows[1]['newsId']} at rows.jsonl:4 (first at rows.jsonl:2, another text)" in done.err
    assert len((tmp_path / "a.txt").read_bytes().splitlines()) == len(rows)
    assert cli.run("check", "--submission", "a.txt", "--input", "rows.jsonl", cwd=tmp_path).code == 0
    scored = cli.run("evaluate", "--gold", "rows.jsonl", "--submission", "a.txt", "--json", "-", cwd=tmp_path)
    assert scored.code == 0, scored.err
    figures = json.loads(scored.out)
    assert (figures["n_articles"], figures["n_missing"], figures["n_unexpected"]) == (len(rows), 0, 0)
    assert "the second row of an id is scored with its second line" in scored.err
    plain = cli.run(
        *("predict", "--workers", 1, "--input", tiny_data / "test.jsonl", "--output", "b.txt"), cwd=tmp_path
    )
    assert plain.code == 0
    usual = cli.run(
        *("evaluate", "--gold", tiny_data / "test.jsonl", "--submission", "b.txt", "--json", "-"), cwd=tmp_path
    )
    assert json.loads(usual.out)["score"] == figures["score"]


def test_an_input_that_changes_while_it_is_answered_gives_no_file(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    lines = (tiny_data / "test.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines))
    code = (
        "import os, sys\n"
        "from pipeline.submission import SubmissionWriter\n"
        "enter = SubmissionWriter.__enter__\n"
        "def shorten(self):\n"
        f"    os.truncate('rows.jsonl', {len(lines[0])})\n"
        "    return enter(self)\n"
        "SubmissionWriter.__enter__ = shorten\n"
        "from pipeline.cli import main\n"
        "raise SystemExit(main(sys.argv[1:]))\n"
    )
    done = cli.run("predict", "--workers", 1, "--input", "rows.jsonl", "--output", "a.txt", cwd=tmp_path, code=code)
    assert (done.code, done.message) == (3, "rows.jsonl: changed while it was read, so nothing was written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "rows.jsonl"]

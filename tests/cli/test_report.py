"""report, explain and compare runs as a user calls them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from pipeline.submission import read_table
from tests.support.command_line import Cli, TinyRun


def test_report_writes_one_folder(cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    arguments = ("--gold", tiny_data / "test.jsonl", "--out", "found", "--limit", 8, "--workers", 1, "--lang", "zh")
    done = cli.run("report", *arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    figures = json.loads((tmp_path / "found" / "report.json").read_bytes())
    assert figures["gold"]["n_articles"] == 8
    assert figures["lang"] == "zh"
    assert figures["learning_curve"] is None
    assert "human" not in {row["key"] for row in figures["ladder"]}
    assert "human" not in done.out
    assert f"{figures['summary']['score']['value']:.4f}" in done.out
    assert done.out.splitlines()[-3:] == [
        "page: found/index.html",
        "report: found/report.json",
        "errors: found/errors.csv",
    ]
    table = read_table(tmp_path / "found" / "errors.csv")
    assert (
        len(table)
        == figures["attribution"]["n_missed"]
        + figures["attribution"]["n_spurious"]
        + (figures["attribution"]["hits"]["wrong_emotion"])
    )
    assert (tmp_path / "found" / "index.html").stat().st_size > 10_000
    assert list((tmp_path / "found" / "data").glob("*.js"))
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_report_of_a_run_lies_in_it_and_leaves_it_usable(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    done = cli.run("report", "--gold", tiny_data / "test.jsonl", "--limit", 2, "--human-agreement", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "human: two people's labels of the same articles: 17 pairs" in done.out
    (report,) = tmp_path.glob("models/*/report/report.json")
    assert json.loads(report.read_bytes())["ladder"][-1]["score"]["value"] == 0.605
    RunFolder.load(report.parents[1])


def test_a_report_needs_labels(cli: Cli, tiny_run: TinyRun, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    (tmp_path / "blind.jsonl").write_text('{"newsId": "a", "title": "t", "content": "c"}\n')
    done = cli.run("report", "--gold", "blind.jsonl", cwd=tmp_path)
    assert (done.code, done.message) == (3, "blind.jsonl:1: no coreEntityEmotions: labels are needed here")


def test_a_report_does_not_overwrite_its_input(cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    gold = tmp_path / "errors.csv"
    gold.write_bytes((tiny_data / "test.jsonl").read_bytes())
    done = cli.run("report", "--gold", "errors.csv", "--out", ".", cwd=tmp_path)
    assert (done.code, done.message) == (2, "errors.csv: would overwrite errors.csv")


def test_explain_shows_an_article_in_the_terminal_and_as_a_page(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    row = json.loads((tiny_data / "test.jsonl").read_text(encoding="utf-8").splitlines()[0])
    named = cli.run(
        *("explain", "--id", row["newsId"], "--input", tiny_data / "test.jsonl", "--out", "one.html"), cwd=tmp_path
    )
    assert named.code == 0, named.err
    assert row["title"] in named.out
    assert "gold" in named.out.splitlines()
    assert "lifted by" in named.out
    assert named.out.splitlines()[-1] == "one.html"
    assert row["title"] in (tmp_path / "one.html").read_text(encoding="utf-8")
    typed = cli.run("explain", "--title", row["title"], "--content", row["content"], cwd=tmp_path)
    assert typed.code == 0, typed.err
    assert "gold" not in typed.out.splitlines()
    answer = [line for line in named.out.splitlines() if line.startswith("1. ")]
    assert [line for line in typed.out.splitlines() if line.startswith("1. ")] == answer


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "want an article"),
        (("--title", "a", "--id", "b"), 2, "want an article"),
        (("--id", "b"), 2, "give --input FILE"),
        (("--title", "a", "--input", "b.jsonl"), 2, "--input goes with --id"),
        (("--id", "b", "--input", "b.jsonl"), 3, "b.jsonl: no such file"),
    ],
)
def test_explain_says_what_it_wants(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = cli.run("explain", *arguments, cwd=tmp_path)
    assert done.code == code
    assert message in done.message


def test_explain_names_an_unknown_article(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes((tiny_data / "test.jsonl").read_bytes())
    done = cli.run("explain", "--id", "nobody", "--input", "a.jsonl", cwd=tmp_path)
    assert (done.code, done.message) == (3, "a.jsonl: holds no article nobody")


def test_compare_runs_writes_what_changed(cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path, name="first")
    tiny_run.copy_to(tmp_path, name="second")
    arguments = ("--run", "first", "--other", "second", "--gold", tiny_data / "test.jsonl", "--json", "found.json")
    done = cli.run("compare", "runs", *arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "0 of 10 articles have another answer" in done.out
    figures = json.loads((tmp_path / "found.json").read_bytes())
    assert figures["changed"] == []
    assert figures["figures"]["score"]["delta"] == 0


def test_errors_of_hostile_texts_survive_the_csv(cli: Cli, tiny_run: TinyRun, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    names = ['"引号",逗号', "=1+1", "换\n行"]
    labels = [{"entity": name, "emotion": "POS"} for name in names]
    row = {"newsId": 'a"b', "title": "标题", "content": '砚台超市和"引号",逗号', "coreEntityEmotions": labels}
    (tmp_path / "gold.jsonl").write_text(json.dumps(row) + "\n")
    done = cli.run("report", "--gold", "gold.jsonl", "--out", "found", cwd=tmp_path)
    assert done.code == 0, done.err
    with (tmp_path / "found" / "errors.csv").open(encoding="utf-8", newline="") as file:
        found = [line for line in csv.DictReader(file) if line["kind"] == "missed"]
    # A spreadsheet would compute the second.
    assert [line["entity"] for line in found] == [names[0], f"'{names[1]}", names[2]]
    assert {line["newsId"] for line in found} == {'a"b'}

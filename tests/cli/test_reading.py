"""Commands on people's own files: options that say how to read them, and messages that name those options."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Done
from tests.support.paths import FILES
from tests.support.rows import GOOD

INPUTS = FILES / "inputs"
RENAMED = "newsId=id,content=text"


def test_columns_are_named_where_they_are_missing(run_here: Callable[..., Done]) -> None:
    source = INPUTS / "idtext.jsonl"
    done = run_here("train", "--preset", "tiny", "--train", source, "--dry-run")
    assert done.code == 3
    assert f"{source}:1: no newsId (have: id, title, text; want: newsId, title, content)" in done.message
    assert "hint: --columns newsId=id,content=text\n" in done.err
    done = run_here("train", "--preset", "tiny", "--train", source, "--dry-run", "--columns", RENAMED)
    assert done.message.startswith(f"{source}:1: no coreEntityEmotions")
    done = run_here("compare", "heads", "--data", INPUTS / "idtext.jsonl")
    assert done.code == 3


def test_convert_makes_rows_of_ours(run_here: Callable[..., Done], tmp_path: Path) -> None:
    done = run_here("convert", INPUTS / "idtext.jsonl", "news.json.gz", "--to", "articles", "--columns", RENAMED)
    assert (done.code, done.out) == (0, "news.json.gz: 2 rows\n")
    rows = json.loads(gzip.decompress((tmp_path / "news.json.gz").read_bytes()))
    assert [sorted(row) for row in rows] == [["content", "newsId", "title"]] * 2
    done = run_here("convert", INPUTS / "sent_neu.jsonl", "rows.csv", "--to", "targets", "--csv-bom")
    assert done.code == 0
    assert "labels: NEG -> NEG (30), NEU -> NORM (30), POS -> POS (30)" in done.err
    assert (tmp_path / "rows.csv").read_bytes().startswith(b"\xef\xbb\xbftext,target,from,to")
    same = run_here("convert", "rows.csv", "rows.csv", "--to", "targets")
    assert (same.code, same.message) == (2, "rows.csv: would overwrite rows.csv")


def test_audit_exits_3_where_rows_are_malformed(run_here: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(GOOD)}\n{{\n", encoding="utf-8")
    assert run_here("audit", "rows.jsonl").code == 3
    assert run_here("audit", INPUTS / "array_pretty.json").code == 0
    done = run_here("audit", INPUTS / "sent_aspect_key.jsonl", "--json", "-")
    assert done.code == 0
    assert json.loads(done.out)["rows"][0]["labels"] == {"POS": 30, "NORM": 30, "NEG": 30}


@pytest.mark.parametrize(
    ("options", "piece"),
    [
        (["--format", "xlsx"], "unknown format 'xlsx'"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--columns", "title"], "--columns title: want pairs joined by commas"),
        (["--label-map", "2=good"], "--label-map 2=good: want POS, NORM, NEG or skip"),
    ],
)
def test_options_that_are_none(run_here: Callable[..., Done], options: list[str], piece: str) -> None:
    done = run_here("audit", INPUTS / "sent_neu.jsonl", *options)
    assert (done.code, piece in done.message) == (2, True)


def test_a_hint_names_an_option_that_the_command_takes(run_here: Callable[..., Done], tmp_path: Path) -> None:
    rows = [{"text": "青禾好", "target": "青禾", "polarity": number} for number in (0, 1, 2)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = run_here("compare", "heads", "--data", "rows.jsonl", "--preset", "tiny")
    assert done.code == 3
    assert "label 0 is a number, and what 0, 1, 2 mean is not known" in done.message
    assert done.err.endswith("as in --label-map 0=NEG,1=NORM,2=POS\n")
    mapped = ("--label-map", "0=NEG,1=NORM,2=skip")
    done = run_here("compare", "heads", "--data", "rows.jsonl", "--preset", "tiny", *mapped)
    assert "labels: 0 -> NEG (1), 1 -> NORM (1), 2 left out (1)" in done.err


def test_traditional_script_is_told(run_here: Callable[..., Done]) -> None:
    assert "mostly traditional script" in run_here("audit", INPUTS / "trad_test.jsonl").err

"""Kinds table_roundtrip, submission and validate_submission: files that leave the program."""

from __future__ import annotations

import csv
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.errors import PipelineError
from pipeline.submission import (
    Problem,
    check_submission,
    read_table,
    write_table,
)
from tests.support.submissions import write_answers

from .framework import (
    Adapter,
    CaseError,
    Given,
    Tools,
    at_most,
    entities_of,
    equals,
    file_of,
    mentions_all,
)

# --- table_roundtrip


def table_roundtrip(given: Given, tools: Tools) -> pd.DataFrame:
    """Write a table of strings and read it back; every list of the input is a column."""
    if "rows" in given:
        table = pd.DataFrame(given["rows"])
    else:
        table = pd.DataFrame({name: given[name] for name in given if isinstance(given[name], list)})
    path = tools.tmp_path / "table.csv"
    write_table(path, table)
    return read_table(path)


def _same_table(table: pd.DataFrame, wanted: Any) -> None:
    if isinstance(wanted, Mapping):
        assert table.to_dict("list") == wanted
    elif wanted and isinstance(wanted[0], Mapping):
        assert table.to_dict("records") == wanted
    else:
        assert table.iloc[:, 0].tolist() == wanted


TABLE_ROUNDTRIP = Adapter(
    table_roundtrip,
    {
        **dict.fromkeys(("after_save_and_load", "values"), _same_table),
        "dtype": lambda table, wanted: _all_of_type(table, wanted),
        **dict.fromkeys(("rows", "n_rows"), equals(len)),
        "columns": equals(lambda table: list(table.columns)),
        "no_missing": equals(lambda table: not table.isna().to_numpy().any()),
    },
    lambda key, values: equals(lambda table: table[key].tolist()) if isinstance(values.get(key), list) else None,
)


def _all_of_type(table: pd.DataFrame, wanted: str) -> None:
    assert {str(dtype) for dtype in table.dtypes} == {wanted}
    assert {type(value).__name__ for column in table for value in table[column]} <= {wanted}


# --- submission


@dataclass(frozen=True)
class Written:
    """An upload file, what was said about it, and the table beside it."""

    content: bytes
    message: str | None
    warnings: str
    table: list[list[str]]

    @property
    def lines(self) -> list[str]:
        """Lines without their ends."""
        return self.content.decode("utf-8").split("\n")[:-1]


def submission(given: Given, tools: Tools) -> Written:
    """Write upload file and table as the command does, article by article; one without a prediction is empty."""
    predictions = {news_id: entities_of(pairs) for news_id, pairs in given["predictions"].items()}
    order = given.first("order", "test_ids", default=list(predictions))
    path = tools.tmp_path / "upload.txt"
    log = _Log()
    logging.getLogger("pipeline").addHandler(log)
    try:
        write_answers(path, order, predictions)
    except PipelineError as error:
        return Written(b"", error.message, log.text, [])
    finally:
        logging.getLogger("pipeline").removeHandler(log)
    with path.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return Written(path.read_bytes(), None, log.text, list(csv.reader(file)))


class _Log(logging.Handler):
    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage() + "\n"


def _same_lines(written: Written, wanted: Any) -> None:
    if isinstance(wanted, int):
        assert len(written.lines) == wanted
    else:
        assert written.lines == wanted


def _is_utf8(written: Written) -> bool:
    try:
        written.content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


SUBMISSION = Adapter(
    submission,
    {
        "bytes": lambda written, wanted: _same_bytes(written.content, wanted),
        **dict.fromkeys(("lines", "n_lines"), _same_lines),
        "no_bom": equals(lambda written: not written.content.startswith(b"\xef\xbb\xbf")),
        "lf_only": equals(lambda written: b"\r" not in written.content),
        "output_is_valid_utf8": equals(_is_utf8),
        "max_entities": at_most(lambda written: max(len(line.split("\t")[1].split(",")) for line in written.lines)),
        "warning_mentions": mentions_all(lambda written: written.warnings),
        "warns": equals(lambda written: bool(written.warnings)),
        "csv": equals(lambda written: written.table),
        **dict.fromkeys(("raises", "error"), equals(lambda written: written.message is not None)),
        "message_mentions": mentions_all(lambda written: written.message),
    },
)


def _same_bytes(content: bytes, wanted: str) -> None:
    assert content == wanted.encode("utf-8")


# --- validate_submission

_SAME_FAULT = (
    ("bom", ("bom", "byte order")),
    ("crlf", ("crlf", "cr lf", "carriage", "line ending", "\\r")),
    ("invalid utf-8", ("utf",)),
    ("missing final LF", ("final", "last line", "trailing newline", "no newline", "end of file")),
    ("unknown emotion", ("emotion",)),
    ("more than three entities", ("three", "too many", "more than 3", "> 3")),
    ("repeated entity", ("repeated entity", "duplicate entity", "repeat")),
    ("outer blanks", ("outer", "blanks around", "whitespace", "untrimmed")),
    ("wrong number of tab fields", ("field", "tab", "column")),
    ("empty entity", ("empty entity", "empty name")),
    ("blank line", ("blank line", "empty line", "blank")),
    ("wrong order", ("order",)),
    ("line break", ("line break", "line separator", "newline in")),
    ("count mismatch", ("mismatch", "count")),
    ("duplicate or unexpected id", ("duplicate", "unexpected", "unknown id", "not in the test")),
)
"""Names of a fault that a case may use, the first that fits counts; "missing id X" stands for itself."""


def fault(about: str) -> str:
    """Return the checker's name of a fault."""
    if about.startswith("missing id"):
        return about
    known = {name for name, _ in _SAME_FAULT}
    if about in known:
        return about
    for name, words in _SAME_FAULT:
        if any(word in about.lower() for word in words):
            return name
    raise CaseError(f"fault {about!r} is not understood")


def validate_submission(given: Given, tools: Tools) -> list[Problem]:
    """Check an upload file."""
    path = file_of(given, tools.tmp_path, name="upload.txt", lists=("lines",))
    return check_submission(path, given.first("test_ids", "ids", "order"))


def _same_problems(found: list[Problem], wanted: Any) -> None:
    if isinstance(wanted, int):
        assert len(found) == wanted
        return
    rows = sorted((problem.line or 0, problem.about) for problem in found)
    assert rows == sorted((row.get("line") or 0, fault(row["about"])) for row in wanted)


def _has_problems(found: list[Problem], wanted: Any) -> None:
    rows = {(problem.line, problem.about) for problem in found}
    for row in wanted:
        assert (row.get("line"), fault(row["about"])) in rows


VALIDATE_SUBMISSION = Adapter(
    validate_submission,
    {
        "ok": equals(lambda found: not found),
        **dict.fromkeys(("problems", "n_problems"), _same_problems),
        **dict.fromkeys(("must_include", "problems_include"), _has_problems),
        "problem_lines": equals(lambda found: sorted({problem.line for problem in found if problem.line})),
        "message_mentions": mentions_all(lambda found: "\n".join(map(str, found))),
    },
)

"""The strict checker: every fault by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.submission import (
    check_submission,
)

IDS = ["t1", "t2", "t3"]


GOOD = "t1\t松果,云杉\tPOS,NEG\nt2\t\t\nt3\tNova Pad\tNORM\n"


FAULTY: dict[str, tuple[bytes, list[tuple[int | None, str]]]] = {
    "nothing wrong": (GOOD.encode(), []),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), [(1, "bom")]),
    "crlf is told once": (GOOD.replace("\n", "\r\n").encode(), [(1, "crlf")]),
    "crlf on a later line": (GOOD.replace("\t\t\n", "\t\t\r\n").encode(), [(2, "crlf")]),
    "no final newline": (GOOD.removesuffix("\n").encode(), [(3, "missing final LF")]),
    "blank line": (GOOD.encode() + b"\n", [(4, "blank line")]),
    "empty file": (b"", [(None, "missing id t1"), (None, "missing id t2"), (None, "missing id t3")]),
    "too few lines": (b"t1\t\t\n", [(None, "missing id t2"), (None, "missing id t3")]),
    "line missing in the middle": (b"t1\t\t\nt3\t\t\n", [(None, "missing id t2")]),
    "repeated id": (GOOD.encode() + b"t1\t\t\n", [(4, "duplicate or unexpected id")]),
    "unknown id": (b"t0\t\t\n" + GOOD.encode(), [(1, "duplicate or unexpected id")]),
    "wrong order is told once": (b"t1\t\t\nt3\t\t\nt2\t\t\n", [(2, "wrong order")]),
    "two fields": (b"t1\t\nt2\t\t\nt3\t\t\n", [(1, "wrong number of tab fields")]),
    "four fields": (b"t1\t\t\t\nt2\t\t\nt3\t\t\n", [(1, "wrong number of tab fields")]),
    "too few emotions": (GOOD.replace("POS,NEG", "POS").encode(), [(1, "count mismatch")]),
    "emotion without entity": (GOOD.replace("t2\t\t", "t2\t\tPOS").encode(), [(2, "count mismatch")]),
    "unknown emotion": (GOOD.replace("NORM", "NORMAL").encode(), [(3, "unknown emotion")]),
    "emotion in another case": (GOOD.replace("NORM", "norm").encode(), [(3, "emotion spelling")]),
    "blank before an emotion": (GOOD.replace("POS,NEG", "POS, NEG").encode(), [(1, "emotion spelling")]),
    "control character": (GOOD.replace("云杉", "云\x1b[31m杉").encode(), [(1, "control character")]),
    "four entities": (
        GOOD.replace("t2\t\t", "t2\ta,b,c,d\tPOS,POS,POS,POS").encode(),
        [(2, "more than three entities")],
    ),
    "repeated entity": (GOOD.replace("云杉", "松果").encode(), [(1, "repeated entity")]),
    "empty entity": (GOOD.replace("云杉", "").encode(), [(1, "empty entity")]),
    "invisible entity": (GOOD.replace("云杉", "\u200b").encode(), [(1, "empty entity")]),
    "outer blanks": (GOOD.replace("云杉", "云杉 ").encode(), [(1, "outer blanks")]),
    "line separator": (GOOD.replace("云杉", "云\u2028杉").encode(), [(1, "line break")]),
    "not utf-8": (GOOD.replace("云杉", "?").encode().replace(b"?", b"\xd4\xc6"), [(1, "invalid utf-8")]),
}


@pytest.mark.parametrize("case", FAULTY)
def test_check_submission_names_line_and_fault(case: str, tmp_path: Path) -> None:
    content, expected = FAULTY[case]
    (tmp_path / "s.txt").write_bytes(content)
    found = check_submission(tmp_path / "s.txt", iter(IDS))
    assert [(problem.line, problem.about) for problem in found] == expected
    assert all(problem.detail for problem in found)


def test_check_submission_allows_an_id_as_often_as_the_test_file_holds_it(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("t1\t\t\nt1\t\t\n", encoding="utf-8")
    assert check_submission(tmp_path / "s.txt", ["t1", "t1"]) == []
    assert [problem.line for problem in check_submission(tmp_path / "s.txt", ["t1"])] == [2]


def test_a_problem_reads_as_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("t9\t甲,乙\tPOS\n", encoding="utf-8")
    assert [str(problem) for problem in check_submission(tmp_path / "s.txt", ["t1"])] == [
        "line 1: count mismatch: entities 2, emotions 1",
        "line 1: duplicate or unexpected id: 't9' is not in the test file",
        "missing id t1: the article has no line",
    ]

"""Traditional script is told from simplified by characters that only one of them has."""

from __future__ import annotations

import pytest

from pipeline.text.script import MIN_CHARS, N_TEXTS, ScriptCount, script_of


@pytest.mark.parametrize(("char", "script"), [("們", 1), ("们", -1), ("人", 0), ("a", 0), ("。", 0), ("𠮷", 0)])
def test_characters(char: str, script: int) -> None:
    assert script_of(char) == script


def test_most_telling_characters_decide() -> None:
    count = ScriptCount()
    count.add("們" * (MIN_CHARS - 1), "人" * 100)
    assert count.warning() is None
    count.add("們")
    assert str(count.warning()).startswith(f"mostly traditional script ({MIN_CHARS} of {MIN_CHARS} telling characters)")
    count.add("们" * MIN_CHARS)
    assert count.warning() is None


def test_only_the_first_rows_are_looked_at() -> None:
    count = ScriptCount()
    for _ in range(N_TEXTS + 5):
        count.add("們")
    assert count.n_traditional == N_TEXTS

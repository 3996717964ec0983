"""What reading articles found, counted by kind, with the first place of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pipeline.artifacts import AnyFile
from pipeline.data.labels import LabelMap, LabelReader
from pipeline.data.repeats import RepeatedIds
from pipeline.schema import MAX_ENTITIES

MAX_PROBLEMS = 20
"""Malformed rows gathered before reading stops, and examples kept where it goes on."""


class Finding(StrEnum):
    """What reading mends or leaves out; the value completes "3 ..."."""

    BAD_ROW = "malformed rows left out"
    REPEATED_ID = "articles left out that repeat an earlier newsId"
    EMPTY_ENTITY = "empty entities left out"
    REPEATED_ENTITY = "entities left out that their article names twice"
    MANY_ENTITIES = f"articles with more than {MAX_ENTITIES} entities"
    LONE_SURROGATE = "texts or entities with a broken character (lone surrogate), replaced by U+FFFD"


@dataclass
class ReadReport:
    """What reading found; one report may be filled by several files."""

    n_articles: int = 0
    counts: Counter[Finding] = field(default_factory=Counter)
    first: dict[Finding, str] = field(default_factory=dict)
    """Where each finding was met first."""
    bad_rows: list[str] = field(default_factory=list)
    """The first malformed rows as ``path:line: reason``."""
    repeats: RepeatedIds | None = None
    """Given where newsIds that occur again are to be found; it keeps every id."""
    labels: LabelReader = field(default_factory=lambda: LabelReader(LabelMap()))
    """Reads the emotions, and counts what each label was taken for."""

    def note(self, finding: Finding, where: str) -> None:
        """Count one finding."""
        self.counts[finding] += 1
        self.first.setdefault(finding, where)
        if finding is Finding.BAD_ROW and len(self.bad_rows) < MAX_PROBLEMS:
            self.bad_rows.append(where)

    def warnings(self) -> list[str]:
        """Return one line for each kind of finding that occurred, with its count and first place."""
        return [f"{self.counts[found]} {found} (first: {self.first[found]})" for found in Finding if self.counts[found]]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, every kind of finding included."""
        findings = {finding.name.lower(): self.counts[finding] for finding in Finding}
        return {"articles": self.n_articles, **findings, "bad_row_examples": list(self.bad_rows)}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A malformed row."""

    path: AnyFile
    line: int
    reason: str
    hint: str | None = None
    """What to do about it, where that is known."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"

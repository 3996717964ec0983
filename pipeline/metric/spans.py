"""Strict precision, recall and F1 of labelled spans.

Strict: a span counts if both of its ends and its type are right. Spans of a row are a set. Counts are added up over
rows and divided last. On tags that keep the rules of BIO or BIESO this is seqeval's strict mode. Macro figures are
means over the types that occur in gold or are found, the rule of ``labels``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.metric.counts import Counts

Span = tuple[int, int, str]
"""Start, stop and type."""


@dataclass(frozen=True, slots=True)
class Averages:
    """Means over types, each type counting alike; None where nothing is marked nor found."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class TagScores:
    """Found spans against gold spans."""

    n_rows: int
    types: Mapping[str, Counts]
    """By type, of those in gold or found, in order."""
    n_tags: int = 0
    """Tokens that have a tag of their own; 0 where tags spell spans."""
    n_right_tags: int = 0

    @property
    def micro(self) -> Counts:
        """All spans, whatever their type."""
        return sum(self.types.values(), Counts())

    @property
    def macro(self) -> Averages:
        """Means of the figures of the types."""
        counts = list(self.types.values())
        figures = ([count.precision, count.recall, count.f1] for count in counts)
        columns = list(zip(*figures, strict=True)) or [()] * 3
        return Averages(*(_mean([value for value in column if value is not None]) for column in columns))

    @property
    def tag_accuracy(self) -> float | None:
        """Share of tokens with the right tag; None where tags spell spans."""
        return self.n_right_tags / self.n_tags if self.n_tags else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values, rounded to 6 places."""
        macro = self.macro
        return {
            "n_rows": self.n_rows,
            "micro": self.micro.to_dict(),
            "macro": {name: _rounded(getattr(macro, name)) for name in ("precision", "recall", "f1")},
            "types": {label: count.to_dict() for label, count in self.types.items()},
            "tag_accuracy": _rounded(self.tag_accuracy),
        }


def score_spans(
    gold: Iterable[Iterable[Span]],
    pred: Iterable[Iterable[Span]],
    *,
    tags: Iterable[tuple[Sequence[str], Sequence[str]]] = (),
) -> TagScores:
    """Compare rows.

    Args:
        gold: the spans of each row.
        pred: the same rows as a tagger sees them.
        tags: gold and predicted tags of each row, where each token has a tag of its own.

    Raises:
        ValueError: the numbers of rows or tags differ.
    """
    types: dict[str, Counts] = defaultdict(Counts)
    n_rows = n_tags = n_right = 0
    for marked, found in zip(gold, pred, strict=True):
        n_rows += 1
        wanted, given = set(marked), set(found)
        for span in wanted | given:
            types[span[2]] += Counts(span in wanted and span in given, span in given, span in wanted)
    for right, answered in tags:
        n_tags += len(right)
        n_right += sum(first == second for first, second in zip(right, answered, strict=True))
    return TagScores(n_rows, dict(sorted(types.items())), n_tags, n_right)


def span_f1(gold: Iterable[Iterable[Span]], pred: Iterable[Iterable[Span]]) -> float | None:
    """Return the micro F1 over all rows; None where nothing is marked nor found."""
    return score_spans(gold, pred).micro.f1


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)

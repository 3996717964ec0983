"""Figures of plain tagging: strict spans and tag accuracy. Pure functions, no files.

Strict: a span counts if both of its ends and its type are right. Spans of a row are a set. Counts are added up over
rows and divided last; 0/0 as in ``metric``. On tags that keep the rules of BIO or BIESO this is seqeval's strict mode.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.metric import PRF
from pipeline.text.spans import Span
from pipeline.text.terminal import columns, padded, shown

TYPELESS = "(no type)"


@dataclass(frozen=True, slots=True)
class Averages:
    """Means over types, each type counting alike."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class TagScores:
    """Found spans against gold spans."""

    n_rows: int
    types: Mapping[str, PRF]
    """By type, of those in gold or found, in order."""
    n_tags: int = 0
    """Tokens that have a tag of their own; 0 where tags spell spans."""
    n_right_tags: int = 0

    @property
    def micro(self) -> PRF:
        """All spans, whatever their type."""
        return sum(self.types.values(), PRF())

    @property
    def macro(self) -> Averages:
        """Means of the figures of the types; 1 where nothing is marked nor found."""
        counts = list(self.types.values()) or [PRF()]
        figures = ([count.precision, count.recall, count.f1] for count in counts)
        return Averages(*(sum(column) / len(counts) for column in zip(*figures, strict=True)))

    @property
    def tag_accuracy(self) -> float | None:
        """Share of tokens with the right tag; None where tags spell spans."""
        return self.n_right_tags / self.n_tags if self.n_tags else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values, rounded to 6 places."""
        macro = self.macro
        accuracy = self.tag_accuracy
        return {
            "n_rows": self.n_rows,
            "micro": self.micro.to_dict(),
            "macro": {name: round(getattr(macro, name), 6) for name in ("precision", "recall", "f1")},
            "types": {label: count.to_dict() for label, count in self.types.items()},
            "tag_accuracy": None if accuracy is None else round(accuracy, 6),
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
    types: dict[str, PRF] = defaultdict(PRF)
    n_rows = n_tags = n_right = 0
    for marked, found in zip(gold, pred, strict=True):
        n_rows += 1
        wanted, given = set(marked), set(found)
        for span in wanted | given:
            types[span.label] += PRF(span in wanted and span in given, span in given, span in wanted)
    for right, answered in tags:
        n_tags += len(right)
        n_right += sum(first == second for first, second in zip(right, answered, strict=True))
    return TagScores(n_rows, dict(sorted(types.items())), n_tags, n_right)


def format_scores(scores: TagScores) -> str:
    """Lay the figures out as a plain-text table."""
    rows = [(shown(label) or TYPELESS, counts) for label, counts in scores.types.items()]
    width = max([20, *(columns(name) + 2 for name, _ in rows)])
    lines = [
        f"{scores.n_rows} rows; strict: both ends and the type of a span must be right",
        "",
        f"{'type':<{width}}{'prec':>8}{'recall':>8}{'F1':>8}{'hits':>8}{'pred':>8}{'gold':>8}",
    ]
    for name, counts in (*rows, ("micro", scores.micro)):
        lines.append(f"{padded(name, width)}{_ratios(counts)}{counts.hits:>8}{counts.n_pred:>8}{counts.n_gold:>8}")
    lines.append(f"{'macro':<{width}}{_ratios(scores.macro)}")
    if scores.tag_accuracy is not None:
        lines += ["", f"tag accuracy {scores.tag_accuracy:.4f} ({scores.n_right_tags} of {scores.n_tags} tokens)"]
    return "\n".join(lines)


def _ratios(figures: PRF | Averages) -> str:
    return f"{figures.precision:>8.4f}{figures.recall:>8.4f}{figures.f1:>8.4f}"

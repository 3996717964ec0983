"""Figures of a trained head on labelled rows, beside those of its most frequent class, and its errors as a table."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.artifacts import atomic_writer, safe_cell
from pipeline.data.reading import Reading
from pipeline.data.seen import tell_seen
from pipeline.errors import ArtifactError, DataError
from pipeline.metric import LabelScores
from pipeline.standalone.heads.answers import Answer, answer
from pipeline.standalone.heads.rows import SentimentFile, read_rows
from pipeline.standalone.heads.saved import SavedHead
from pipeline.standalone.heads.training import score
from pipeline.text.terminal import columns, padded, shown

MAJORITY = "majority"
SHORTEST_NAME = 12
"""Columns of the first column of a table."""


@dataclass(frozen=True, slots=True)
class HeadEvaluation:
    """The answers of a head to the rows of a file, and how right they are."""

    file: SentimentFile
    answers: Sequence[Answer]
    """To each row."""
    scores: LabelScores
    most_frequent: str
    """What the baseline always answers: the class that most training rows have."""
    baseline: LabelScores

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as plain JSON values."""
        return {
            "rows": len(self.file.rows),
            **_averages(self.scores),
            "classes": {name: counts.to_dict() for name, counts in self.scores.per_label.items()},
            "confusion": {"labels": list(self.scores.per_label), "gold_by_answer": self.scores.confusion.tolist()},
            MAJORITY: {"answer": self.most_frequent, **_averages(self.baseline)},
        }


def evaluate_head(saved: SavedHead, data: Path, reading: Reading | None = None) -> HeadEvaluation:
    """Let a head answer labelled rows, and compare.

    Raises:
        DataError: rows are malformed, or have targets where those of training had none, or the other way round.
        ArtifactError: a row has a label that the head does not know.
    """
    file = read_rows(data, max_context_chars=saved.max_context_chars, reading=reading)
    if file.kind.has_targets != saved.kind.has_targets:
        raise DataError(f"{data}: holds {file.kind} rows, the head was trained on {saved.kind} rows")
    classes = saved.model.classes
    if unknown := [name for name in file.classes if name not in classes]:
        raise ArtifactError(f"the head answers {', '.join(classes)}; {data} has also {', '.join(unknown)}")
    tell_seen((row.example.document for row in file.rows), saved.seen, data)
    answers = answer(saved.model, [row.example for row in file.rows])
    baseline = score([saved.most_frequent] * len(file.rows), file.rows, classes)
    scores = score([one.label for one in answers], file.rows, classes)
    return HeadEvaluation(file, answers, scores, saved.most_frequent, baseline)


def format_evaluation(evaluation: HeadEvaluation, head: str) -> str:
    """Lay the figures out as plain text: averages beside the baseline, each class, and the confusion matrix."""
    scores, labels = evaluation.scores, list(evaluation.scores.per_label)
    averages = [
        (name, [f"{of.accuracy:.4f}", f"{of.macro_f1:.4f}"])
        for name, of in (
            (head, scores),
            (f"{MAJORITY} ({shown(evaluation.most_frequent)})", evaluation.baseline),
        )
    ]
    per_class = [
        (
            shown(label),
            [*(_figure(value) for value in (counts.precision, counts.recall, counts.f1)), str(counts.n_gold)],
        )
        for label, counts in scores.per_label.items()
    ]
    confusion = [(shown(label), list(map(str, row))) for label, row in zip(labels, scores.confusion, strict=True)]
    return "\n\n".join(
        [
            f"{len(evaluation.file.rows)} examples",
            _table(["", "accuracy", "macro-F1"], averages),
            _table(["class", "precision", "recall", "F1", "support"], per_class),
            _table(["gold \\ answer", *map(shown, labels)], confusion),
        ]
    )


def write_errors_table(path: Path, evaluation: HeadEvaluation) -> int:
    """Write a CSV line for each row with a wrong answer, the surest first, and return their number.

    Cells of text are such that no spreadsheet computes them.

    Raises:
        ConfigError: the file cannot be written.
    """
    pairs = zip(evaluation.file.rows, evaluation.answers, strict=True)
    wrong = [(row, given) for row, given in pairs if given.label != row.label]
    wrong.sort(key=lambda pair: -pair[1].probabilities[pair[1].label])
    classes = list(evaluation.scores.per_label)
    with atomic_writer(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            map(safe_cell, ["row", "target", "gold", "predicted", *(f"p_{name}" for name in classes), "text"])
        )
        for row, given in wrong:
            probs = [round(given.probabilities[name], 6) for name in classes]
            table.writerow(
                map(safe_cell, [row.where, row.example.name, row.label, given.label, *probs, row.example.text])
            )
    return len(wrong)


def _averages(scores: LabelScores) -> dict[str, float]:
    return {"accuracy": round(scores.accuracy, 6), "macro_f1": round(scores.macro_f1, 6)}


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _table(header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Align a column of names to the left, and columns of figures to the right."""
    lines = [(header[0], header[1:]), *rows]
    first = max(SHORTEST_NAME, *(columns(name) for name, _ in lines))
    widths = [max(columns(cells[index]) for _, cells in lines) for index in range(len(header) - 1)]
    return "\n".join(
        padded(name, first)
        + "".join(" " * (2 + width - columns(cell)) + cell for cell, width in zip(cells, widths, strict=True))
        for name, cells in lines
    )

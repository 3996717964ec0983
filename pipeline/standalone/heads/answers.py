"""Answers of a trained head to rows: their class, every probability, and where the head looked."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Protocol, TextIO

from pipeline.artifacts import safe_cell
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.errors import ConfigError
from pipeline.schema import Target
from pipeline.standalone.heads.unlabelled import UnlabelledRow

PREDICTED, PROBABILITIES, ATTENTION = "predicted", "probabilities", "attention"
"""Keys of an answer."""
CHUNK_SIZE = 256
"""Rows answered together. Fixed: a batch's size could change the last bits of a probability."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a head says of one example."""

    example: Target
    label: str
    """The most probable class."""
    probabilities: dict[str, float]
    """Of each class; they sum to one."""
    attention: list[float] | None = None
    """Of each character of ``example.text``, where it was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        found = {
            PREDICTED: self.label,
            PROBABILITIES: {name: round(value, 6) for name, value in self.probabilities.items()},
        }
        return found if self.attention is None else {**found, ATTENTION: _spans(self.example, self.attention)}


def answer_rows(
    model: HeadClassifier, rows: Iterable[UnlabelledRow], *, attention: bool = False
) -> Iterator[tuple[UnlabelledRow, list[Answer]]]:
    """Yield each row with the answer to each of its examples; memory does not grow with the number of rows.

    Args:
        model: a fitted head.
        rows: in any number.
        attention: tell where the head looked.

    Raises:
        ConfigError: attention is asked of a head that has none.
    """
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK_SIZE)):
        found = iter(answer(model, [example for row in chunk for example in row.examples], attention=attention))
        for row in chunk:
            yield row, list(islice(found, len(row.examples)))


def answer(model: HeadClassifier, examples: Sequence[Target], *, attention: bool = False) -> list[Answer]:
    """Return the answer to each example; see ``answer_rows``."""
    if not examples:
        return []
    weights = model.attention(examples) if attention else None
    if attention and weights is None:
        raise ConfigError(f"head {model.name} has no attention: there is nothing to show")
    answers = []
    for index, probs in enumerate(model.predict_proba(examples)):
        probabilities = dict(zip(model.classes, probs.tolist(), strict=True))
        looked = None if weights is None else weights[index].tolist()
        answers.append(Answer(examples[index], model.classes[int(probs.argmax())], probabilities, looked))
    return answers


class AnswerWriter(Protocol):
    """Writes rows with their answers."""

    def write(self, row: UnlabelledRow, answers: Sequence[Answer]) -> None:
        """Write one row."""
        ...


class LinesWriter:
    """One JSON object per row: the row as it was, with the keys of the answer where its example stands.

    Args:
        file: opened for text.
        ascii_only: write other characters as escapes, for a terminal.
    """

    def __init__(self, file: TextIO, *, ascii_only: bool = False) -> None:
        self._file, self._ascii_only = file, ascii_only

    def write(self, row: UnlabelledRow, answers: Sequence[Answer]) -> None:
        """Write one row."""
        values = row.answered([answer.to_dict() for answer in answers])
        self._file.write(json.dumps(values, ensure_ascii=self._ascii_only) + "\n")


class TableWriter:
    """One line of CSV per example: the keys of row and target, the class, and a column ``p_CLASS`` for each class.

    Args:
        file: opened for text, line ends untouched.
        keys: of the rows, in order; see ``survey``.
        classes: of the head.
        attention: has a column for it.
    """

    def __init__(self, file: TextIO, keys: Sequence[str], classes: Sequence[str], *, attention: bool = False) -> None:
        own = [PREDICTED, *map(_column, classes), *([ATTENTION] if attention else [])]
        self._columns = [*(key for key in keys if key not in own), *own]
        self._table = csv.DictWriter(file, self._columns, restval="", extrasaction="ignore", lineterminator="\n")
        self._table.writerow({name: safe_cell(name) for name in self._columns})

    def write(self, row: UnlabelledRow, answers: Sequence[Answer]) -> None:
        """Write the lines of one row."""
        for keys, answer in zip(row.flat(), answers, strict=True):
            said = answer.to_dict()
            probabilities = {_column(name): value for name, value in said.pop(PROBABILITIES).items()}
            values = {**keys, **said, **probabilities}
            self._table.writerow({name: _cell(value) for name, value in values.items() if value is not None})


def survey(rows: Iterable[UnlabelledRow]) -> tuple[int, list[str]]:
    """Count rows, and return every key of them and of their targets, in the order in which they first come."""
    n_rows, keys = 0, dict[str, None]()
    for row in rows:
        n_rows += 1
        keys.update(dict.fromkeys(key for entry in row.flat() for key in entry))
    return n_rows, list(keys)


def _column(label: str) -> str:
    return f"p_{label}"


def _cell(value: Any) -> str:
    return safe_cell(json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value)


def _spans(example: Target, weights: Sequence[float]) -> dict[str, Any]:
    """Return the text that was read, its target, and neighbours of equal weight as one span with their sum."""
    spans = []
    for weight, run in groupby(range(len(weights)), key=weights.__getitem__):
        places = list(run)
        if weight > 0:
            span: Mapping[str, Any] = {
                "from": places[0],
                "to": places[-1] + 1,
                "weight": round(weight * len(places), 6),
            }
            spans.append(span)
    target = {"target": [example.start, example.stop]} if example.start < example.stop else {}
    return {"text": example.text, **target, "spans": spans}

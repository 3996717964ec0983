"""One head trained on labelled rows, its epoch chosen by development rows."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from pipeline.config import Config
from pipeline.data.formats.sentiment import RowKind, SentimentRow
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.emotions.heads.base import Head
from pipeline.errors import ConfigError, DataError
from pipeline.metric import LabelScores
from pipeline.registry import HEADS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.schema import EMOTIONS
from pipeline.standalone.heads.rows import SentimentFile
from pipeline.standalone.heads.split import cut_by_group

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DevFigures:
    """A head on its development rows, beside the answer that is most frequent in training."""

    n_rows: int
    accuracy: float
    macro_f1: float
    majority_accuracy: float

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild what ``to_dict`` made.

        Raises:
            TypeError: something is missing, or is not known.
        """
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def warn_if_useless(self, head: str, answer: str) -> None:
        """Warn where the head is not better than always giving one answer."""
        if self.accuracy <= self.majority_accuracy:
            logger.warning(
                "%s is right on %.4f of the dev rows, which is not better than always answering %s (%.4f); "
                "more rows, more epochs or another head may help",
                *(head, self.accuracy, answer, self.majority_accuracy),
            )


@dataclass(frozen=True, slots=True)
class FittedHead:
    """A head and how it did."""

    model: HeadClassifier
    dev: DevFigures
    most_frequent: str


def fit_head(
    head: str,
    config: Config,
    rows: Sequence[SentimentRow],
    dev: Sequence[SentimentRow] | None,
    *,
    classes: Sequence[str],
    seed: int,
    log: JsonLinesLog | None = None,
    states: Path | None = None,
) -> FittedHead:
    """Train a head.

    Args:
        head: its name.
        config: options of heads, training and sentiment.
        rows: what is learnt from.
        dev: rows that choose the epoch. None: ``sentiment.dev_fraction`` of the groups of ``rows`` are held out.
        classes: every class, in the order of the probabilities.
        seed: of training and of what is held out.
        log: gets a JSON line per epoch.
        states: folder in which the states of a frozen encoder are kept meanwhile.

    Raises:
        DataError: there are too few groups to hold one out.
    """
    if dev is None:
        rows, dev = cut_by_group(rows, fraction=config.sentiment.dev_fraction, seed=seed)
    model = HeadClassifier(head, config, classes=classes, seed=seed, log=log, states=states)
    model.fit(
        [row.example for row in rows], [row.label for row in rows], [row.example for row in dev], [r.label for r in dev]
    )
    answer = most_frequent(rows, classes)
    scores, baseline = score(answers(model, dev), dev, classes), score([answer] * len(dev), dev, classes)
    return FittedHead(model, DevFigures(len(dev), scores.accuracy, scores.macro_f1, baseline.accuracy), answer)


def answers(model: HeadClassifier, rows: Sequence[SentimentRow]) -> list[str]:
    """Return the most probable class of each row."""
    probs = model.predict_proba([row.example for row in rows])
    return [model.classes[column] for column in probs.argmax(1)]


def score(given: Sequence[str], rows: Sequence[SentimentRow], classes: Sequence[str]) -> LabelScores:
    """Compare answers with the labels of the rows."""
    return LabelScores.of(given, [row.label for row in rows], classes)


def most_frequent(rows: Sequence[SentimentRow], classes: Sequence[str]) -> str:
    """Return the class that most rows have; the first of equals."""
    counts = Counter(row.label for row in rows)
    return max(classes, key=lambda name: counts[name])


def head_class(name: str) -> type[Head]:
    """Return the class of a head.

    Raises:
        ConfigError: there is no such head.
    """
    return resolve(HEADS, name, kind="head")


def require_fitting(names: Sequence[str], kind: RowKind, path: Path) -> None:
    """Refuse heads that need a target where the rows have none.

    Raises:
        ConfigError: there are some; the hint lists the others.
    """
    if not kind.has_targets and (lost := [name for name in names if head_class(name).uses_target]):
        baselines = [name for name in HEADS if not head_class(name).uses_target]
        raise ConfigError(
            f"{path}: rows of texts and labels name no target, which {', '.join(lost)} must have",
            hint=f"document baselines: {', '.join(baselines)}",
        )


def require_one_form(files: Sequence[SentimentFile]) -> None:
    """Refuse files of different rows.

    Raises:
        DataError: two of them differ.
    """
    first = files[0]
    for other in files[1:]:
        if other.kind is not first.kind:
            raise DataError(f"{first.path} holds {first.kind} rows, {other.path} {other.kind} rows")


def classes_of(files: Sequence[SentimentFile], rows: Sequence[SentimentRow]) -> list[str]:
    """Return the classes; those of documents are what training has, emotions what any file has.

    Args:
        files: all files, that of the training rows first.
        rows: what is learnt from.

    Raises:
        DataError: training has one class only, or a document has a label that no training row has.
    """
    learnt = {row.label for row in rows}
    if len(learnt) < 2:
        raise DataError(f"{files[0].path}: every training row is {', '.join(learnt)}: there is nothing to tell apart")
    if files[0].kind is RowKind.DOCUMENT:
        for row in (row for file in files for row in file.rows):
            if row.label not in learnt:
                raise DataError(f"{row.where}: label {row.label!r} is in no training row ({', '.join(sorted(learnt))})")
        return sorted(learnt)
    found = {name for file in files for name in file.classes}
    return [emotion.value for emotion in EMOTIONS if emotion in found]

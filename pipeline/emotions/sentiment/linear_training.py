"""One training of a member on TF-IDF: its items are numbers of examples whose n-grams were counted before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from pipeline.config import Config
from pipeline.emotions.sentiment.counted import CountedExamples, Tokens, count_examples
from pipeline.emotions.sentiment.members import LINEAR, build_linear
from pipeline.emotions.sentiment.tfidf import Tfidf, field_jobs
from pipeline.emotions.sentiment.training import FEW_EXAMPLES, member_key, read_probs
from pipeline.runtime.fold_task import FoldTask
from pipeline.schema import Target

COUNTS = "ngrams"
"""Folder, in that of the stage, with the n-grams of all examples, while members are trained."""


def count_ngrams(
    examples: Sequence[Target], folds: Sequence[int], members: Sequence[str], *, folder: Path, workers: int
) -> CountedExamples | None:
    """Count what the linear ones among the members need of the examples, once for all of them and all folds.

    Args:
        examples: of all folds.
        folds: the fold of each.
        members: names.
        folder: of the stage.
        workers: processes.

    Returns:
        What ``LinearTraining`` reads; None without a linear member.
    """
    kinds: list[Tokens] = sorted({build_linear(name).tokens for name in members if name in LINEAR})
    if not kinds:
        return None
    n_fewest = len(examples) - max(map(folds.count, set(folds)))
    jobs = field_jobs(examples, kinds, n_fewest=n_fewest)
    return count_examples(jobs, folder / COUNTS, workers=workers, alone=FEW_EXAMPLES)


@dataclass(frozen=True)
class LinearTraining(FoldTask[int, Tfidf, list[float]]):
    """How a member on TF-IDF is trained."""

    stage: ClassVar[str] = "sentiment"
    results_file: ClassVar[str] = "probs.json.gz"
    few: ClassVar[int] = FEW_EXAMPLES

    member: str
    class_weight_power: float
    labels: tuple[str, ...]
    """The emotion of every example."""
    counts: Path
    """Folder of their n-grams."""

    @classmethod
    def on(
        cls,
        examples: Sequence[Target],
        member: str,
        config: Config,
        *,
        digest: str,
        folds: Sequence[int],
        counted: CountedExamples,
    ) -> Self:
        """Return the training of a member on examples in these folds; ``digest`` is ``digest_of_list(examples)``."""
        key = member_key(member, config, digest=digest, folds=folds)
        labels = tuple(str(example.emotion) for example in examples)
        return cls(config.seed, key, None, member, config.sentiment.class_weight_power, labels, counted.folder)

    @property
    def label(self) -> str:
        """The member's name."""
        return self.member

    @property
    def is_network(self) -> bool:
        """No launcher's processes share it."""
        return False

    @property
    def reads(self) -> tuple[Path, ...]:
        """The counted n-grams."""
        return (self.counts,)

    def moved(self, places: Mapping[Path, Path]) -> Self:
        """Return the task with the n-grams in another place."""
        return replace(self, counts=places.get(self.counts, self.counts))

    @cached_property
    def counted(self) -> CountedExamples:
        """The n-grams, read once by each process."""
        return CountedExamples(self.counts)

    def fit(self, items: list[int], fold: int | None) -> Tfidf:
        """Fit without one fold (a number), or on all examples (None)."""
        member = build_linear(self.member, class_weight_power=self.class_weight_power)
        return member.fit_counted(self.counted, np.array(items), [self.labels[item] for item in items])

    def predict(self, model: Tfidf, items: list[int]) -> list[Any]:
        """Return the probabilities of each example's emotions."""
        return model.predict_counted(self.counted, np.array(items)).tolist()

    def read(self, value: Any) -> list[float]:
        """Return the probabilities of one example."""
        return read_probs(value)

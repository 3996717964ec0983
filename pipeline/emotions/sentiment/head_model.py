"""A head as a member of stage two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pipeline.config import Config
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.emotions.sentiment.contexts import WeightedSpan, gold_emotions
from pipeline.emotions.sentiment.scores import Probs
from pipeline.nn.loop import JsonLinesLog
from pipeline.schema import EMOTIONS, Target


class HeadModel:
    """One registered head over the emotions.

    Args:
        name: key in HEADS.
        config: options of head, training and sentiment.
        seed: of the first weights and of training.
        log: gets a JSON line an epoch.
        start: folder of the same head, saved; its training begins there.
    """

    def __init__(
        self,
        name: str,
        config: Config,
        *,
        seed: int = 0,
        log: JsonLinesLog | None = None,
        start: Path | None = None,
    ) -> None:
        classes = [emotion.value for emotion in EMOTIONS]
        self.classifier = HeadClassifier(name, config, classes=classes, seed=seed, log=log, start=start)

    @property
    def stops_early(self) -> bool:
        """Whether development examples choose the epoch.

        Not with an encoder: it takes its fixed number of epochs, for to predict with one of every fold is too slow.
        """
        return not self.classifier.reads_encoder

    def fit(self, examples: Sequence[Target], dev: Sequence[Target]) -> Self:
        """Train; the vocabulary is that of ``examples``, and the epoch is chosen by ``dev`` where there is any."""
        self.classifier.fit(examples, gold_emotions(examples), dev, gold_emotions(dev))
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion."""
        return self.classifier.predict_proba(examples)

    def attention(self, examples: Sequence[Target]) -> list[list[WeightedSpan]]:
        """Return what the head looked at, for each example: characters of its text with weights that sum to one.

        Every list is empty where the head has no attention.
        """
        found = self.classifier.attention(examples)
        if found is None:
            return [[] for _ in examples]
        return [
            [WeightedSpan(int(place), int(place) + 1, float(weights[place])) for place in weights.nonzero()[0]]
            for weights in found
        ]

    def save(self, folder: Path) -> None:
        """Write JSON and safetensors files."""
        self.classifier.save(folder)

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote; the options of the head are those of the constructor's ``config``."""
        self.classifier.load(folder)
        return self

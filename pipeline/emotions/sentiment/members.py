"""The contract of stage two's models, the table that builds them, and the row that every one has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import Config
from pipeline.config.emotions import BASELINE
from pipeline.emotions.sentiment.order import ORDER, check_order
from pipeline.emotions.sentiment.scores import Probs, one_hot
from pipeline.errors import ArtifactError
from pipeline.nn.encoders import STATES
from pipeline.registry import HEADS, unknown_name
from pipeline.schema import EMOTIONS, Target

if TYPE_CHECKING:
    from pipeline.emotions.sentiment.tfidf import Tfidf
    from pipeline.runtime.epoch_log import JsonLinesLog


LINEAR = ("tfidf", "tfidf_words", "tfidf_nb")
"""Members on TF-IDF: logistic regression on n-grams of characters, on those of words, and one on n-grams of characters
that naive Bayes has scaled."""


class Member(Protocol):
    """A model of the emotion toward a target."""

    @property
    def stops_early(self) -> bool:
        """True: training needs development examples, and the average of the fold models predicts.

        False: a model fitted once more, on all examples, predicts.
        """
        ...

    def fit(
        self,
        examples: Sequence[Target],
        labels: Sequence[str],
        dev: Sequence[Target] = (),
        dev_labels: Sequence[str] = (),
    ) -> Self:
        """Learn from examples with their emotions; ``dev`` is empty unless ``stops_early``."""
        ...

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion."""
        ...

    def save(self, folder: Path) -> None:
        """Write safetensors and JSON files, nothing that runs code when it is read."""
        ...

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote."""
        ...


@runtime_checkable
class Attentive(Protocol):
    """A member that can tell what it looked at."""

    def attention(self, examples: Sequence[Target]) -> list[NDArray[np.float64]] | None:
        """Return the weight of each character of each text, (len(text),); None where the model has no attention."""
        ...


@runtime_checkable
class Checkable(Protocol):
    """A member that reads more than its examples."""

    def check(self) -> None:
        """Read it now, so that nothing is amiss with it later."""
        ...


class Majority:
    """Gives every example the emotions' shares in training."""

    stops_early: ClassVar[bool] = False

    def fit(
        self,
        examples: Sequence[Target],
        labels: Sequence[str],
        dev: Sequence[Target] = (),
        dev_labels: Sequence[str] = (),
    ) -> Self:
        """Count the emotions."""
        self.shares_ = one_hot(labels).mean(0)
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Repeat the shares."""
        return np.tile(self.shares_, (len(examples), 1))

    def save(self, folder: Path) -> None:
        """Write the shares."""
        atomic_write_json(folder / "shares.json", {"emotions": ORDER, "shares": self.shares_.tolist()})

    def load(self, folder: Path) -> Self:
        """Read the shares."""
        path = folder / "shares.json"
        saved = read_json(path)
        if isinstance(saved, dict):  # runs of before 0.2.0 have the shares alone
            check_order(path, saved.get("emotions"))
            saved = saved.get("shares")
        if not isinstance(saved, list) or len(saved) != len(ORDER):
            raise ArtifactError(f"{path}: want a share of each of {len(ORDER)} emotions")
        try:
            self.shares_ = np.array(saved, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ArtifactError(f"{path}: want shares ({error})") from error
        return self


def build_member(
    name: str,
    config: Config,
    *,
    seed: int = 0,
    log: JsonLinesLog | None = None,
    start: Path | None = None,
    shared: Path | None = None,
) -> Member:
    """Construct an unfitted member: ``majority``, one of ``LINEAR`` or a head.

    Args:
        name: as in ``sentiment.members``.
        config: its options.
        seed: of a head's first weights and training.
        log: gets a JSON line for each epoch of a head.
        start: folder of the same head, saved; its training begins there.
        shared: folder of the frozen encoder that all heads read.

    Raises:
        ConfigError: no such member.
    """
    if name == BASELINE:
        return Majority()
    if name in LINEAR:
        return build_linear(name, class_weight_power=config.sentiment.class_weight_power)
    if name in HEADS:
        from pipeline.emotions.classifier.estimator import HeadClassifier

        classes = [emotion.value for emotion in EMOTIONS]
        states = shared / STATES if shared else None
        return HeadClassifier(
            name, config, classes=classes, seed=seed, log=log, start=start, shared=shared, states=states
        )
    raise unknown_name("sentiment member", name, {BASELINE: "", **dict.fromkeys(LINEAR, ""), **HEADS})


def build_linear(name: str, *, class_weight_power: float = 0.0) -> Tfidf:
    """Construct an unfitted member of ``LINEAR``."""
    from pipeline.emotions.sentiment.linear import fit_naive_bayes, fit_softmax
    from pipeline.emotions.sentiment.tfidf import Tfidf

    return Tfidf(
        tokens="word" if name == "tfidf_words" else "char",
        fit_linear=fit_naive_bayes if name == "tfidf_nb" else fit_softmax,
        class_weight_power=class_weight_power,
    )


def check_member(name: str, config: Config) -> None:
    """Find now what would stop ``fit``: an unknown member, an encoder or a file of vectors that cannot be read.

    Raises:
        ConfigError: no such member, or options that do not go together.
        DataError: the file of vectors is missing or damaged.
        ArtifactError: the encoder cannot be loaded.
    """
    member = build_member(name, config)
    if isinstance(member, Checkable):
        member.check()

"""One training of a head (or the baseline): in a fold or on all examples, and first on other people's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from pipeline.artifacts import read_json, stage_key
from pipeline.config import Config
from pipeline.emotions.sentiment.contexts import gold_emotions
from pipeline.emotions.sentiment.members import Member, build_member
from pipeline.nn.encoders import STATES
from pipeline.registry import HEADS
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import digest_of_list
from pipeline.runtime.trainings import DONE, is_done, mark_done
from pipeline.schema import EMOTIONS, Target

TRANSFERRED = "transferred"
"""Folder, in that of a head, with the head as other rows have left it."""

FEW_EXAMPLES = 600
"""Of fewer examples no other process is worth its start."""


@dataclass(frozen=True)
class MemberTraining(FoldTask[Target, Member, list[float]]):
    """How a member is trained, wherever."""

    stage: ClassVar[str] = "sentiment"
    results_file: ClassVar[str] = "probs.json.gz"
    few: ClassVar[int] = FEW_EXAMPLES

    member: str
    config: Config
    start: Path | None = None
    """Folder of a saved head that training goes on from."""
    shared: Path | None = None
    """Folder of the frozen encoder that all heads read."""

    @classmethod
    def on(
        cls,
        examples: Sequence[Target],
        member: str,
        config: Config,
        *,
        digest: str = "",
        folds: Sequence[int] = (),
        start: Path | None = None,
        shared: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Return the training of a member on examples, in these folds if it is cut into any.

        ``digest`` is ``digest_of_list(examples)``, where it is known.
        """
        begun = read_json(start / DONE) if start else None
        key = member_key(member, config, digest=digest or digest_of_list(examples), begun=begun, folds=folds)
        return cls(config.seed, key, log, member, config, start, shared)

    @property
    def label(self) -> str:
        """The member's name."""
        return self.member

    @property
    def is_network(self) -> bool:
        """True for heads."""
        return self.member in HEADS

    @property
    def keeps_fold_models(self) -> bool:
        """True for members whose average over the folds predicts."""
        return build_member(self.member, self.config).stops_early

    @property
    def reads(self) -> tuple[Path, ...]:
        """Return the head that training goes on from, if there is one."""
        return (self.start,) if self.start else ()

    @property
    def leaves(self) -> tuple[Path, ...]:
        """Return the folder of the frozen encoder, which the first heads that are saved write."""
        return (self.shared,) if self.shared else ()

    @property
    def scratch(self) -> tuple[Path, ...]:
        """Return where the states of the frozen encoder are kept while heads learn."""
        return (self.shared / STATES,) if self.shared else ()

    def moved(self, places: Mapping[Path, Path]) -> Self:
        """Return the training with other folders for head and encoder."""
        start, shared = (places[path] if path else None for path in (self.start, self.shared))
        return replace(self, start=start, shared=shared)

    def fit(self, items: list[Target], fold: int | str | None) -> Member:
        """Fit without one fold (a number), on all examples (None), or on rows of another kind (their name)."""
        seed = self.seed_of(fold)
        member = build_member(
            self.member, self.config, seed=seed, log=self.epochs_of(fold), start=self.start, shared=self.shared
        )
        dev: list[Target] = []
        if member.stops_early:
            items, dev = split_dev(items, fraction=self.config.sentiment.dev_fraction, seed=seed)
        return member.fit(items, gold_emotions(items), dev, gold_emotions(dev))

    def predict(self, model: Member, items: list[Target]) -> list[Any]:
        """Return the probabilities of each example's emotions."""
        return model.predict_proba(items).tolist()

    def read(self, value: Any) -> list[float]:
        """Return the probabilities of one example."""
        return read_probs(value)


def member_key(member: str, config: Config, *, digest: str, begun: Any = None, folds: Sequence[int]) -> str:
    """Hash all that the models of a member rest on.

    Args:
        member: its name.
        config: of the run.
        digest: of the examples.
        begun: marker of the model that training goes on from.
        folds: of the examples.
    """
    unused = {"members": None, "choose": None}  # which others there are does not change it
    options = [asdict(config.sentiment) | unused, asdict(config.head), asdict(config.training)]
    return stage_key(member, *options, config.seed, digest, begun, list(folds))


def read_probs(value: Any) -> list[float]:
    """Return the probabilities of one example as they were saved.

    Raises:
        ValueError: they are not one for each emotion.
    """
    if len(value) != len(EMOTIONS):
        raise ValueError(f"{len(value)} probabilities for {len(EMOTIONS)} emotions")
    return [float(prob) for prob in value]


def transfer(examples: Sequence[Target], member: str, config: Config, *, folder: Path, log: Path | None = None) -> Path:
    """Train a head on rows that are not those of the task, unless that was done before.

    Args:
        examples: the rows.
        member: name of the head.
        config: options of the run.
        folder: of the head in the run.
        log: file that gets a JSON line for each epoch.

    Returns:
        The folder of the trained head, for ``MemberTraining.start``.
    """
    training, place = MemberTraining.on(examples, member, config, log=log), folder / TRANSFERRED
    if not is_done(place, training.base_key):
        training.fit(list(examples), TRANSFERRED).save(place)
        mark_done(place, training.base_key)
    return place


def split_dev(examples: Sequence[Target], *, fraction: float, seed: int) -> tuple[list[Target], list[Target]]:
    """Cut development examples off, by group; a single group serves as both."""
    groups = sorted({example.group for example in examples})
    n_dev = max(1, round(len(groups) * fraction))
    in_dev = {groups[index] for index in np.random.default_rng(seed).permutation(len(groups))[:n_dev]}
    dev = [example for example in examples if example.group in in_dev]
    return [example for example in examples if example.group not in in_dev] or dev, dev

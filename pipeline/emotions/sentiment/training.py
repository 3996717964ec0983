"""One training of a member of stage two: in a fold or on all examples, and first on other people's rows."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pipeline.artifacts import read_json, stage_key
from pipeline.config import Config
from pipeline.emotions.sentiment.members import Member, build_member
from pipeline.runtime.fold_training import DONE, FoldTask, is_done, mark_done, train_folds
from pipeline.schema import EMOTIONS, Target

TRANSFERRED = "transferred"
"""Folder, in that of a head, with the head as other rows have left it."""


@dataclass(frozen=True)
class MemberTraining:
    """How a member is trained, wherever: picklable, since folds are trained in processes.

    Its seed depends on run, member and fold alone.
    """

    member: str
    config: Config
    start: Path | None = None
    """Folder of a saved head that training goes on from."""
    log: Path | None = None
    """Gets a JSON line for each epoch of a head."""

    def fit(self, examples: Sequence[Target], fold: int | str | None) -> Member:
        """Fit without one fold (a number), on all examples (None), or on rows of another kind (their name)."""
        seed = zlib.crc32(f"{self.config.seed}/{self.member}/{fold}".encode())
        lines = None
        if self.log is not None:
            from pipeline.nn.loop import JsonLinesLog  # imports torch, which prediction may not need

            lines = JsonLinesLog(self.log, stage="sentiment", member=self.member, fold=fold)
        member = build_member(self.member, self.config, seed=seed, log=lines, start=self.start)
        if not member.stops_early:
            return member.fit(examples, ())
        return member.fit(*split_dev(examples, fraction=self.config.sentiment.dev_fraction, seed=seed))

    def key(self, examples: Sequence[Target]) -> str:
        """Return a hash of all that a training on these examples rests on."""
        config = self.config
        unused = {"members": None, "choose": None}  # which others there are does not change it
        options = [asdict(config.sentiment) | unused, asdict(config.head), asdict(config.training)]
        data = hashlib.sha256(repr(list(examples)).encode("utf-8", "surrogatepass")).hexdigest()
        return stage_key(self.member, *options, config.seed, data, read_json(self.start / DONE) if self.start else None)


def transfer(training: MemberTraining, examples: Sequence[Target], folder: Path) -> MemberTraining:
    """Train a head on rows that are not those of the task, unless that was done before.

    Args:
        training: of the head, from its first weights.
        examples: the rows.
        folder: of the head in the run.

    Returns:
        The training that goes on from what was saved.
    """
    place, key = folder / TRANSFERRED, training.key(examples)
    if not is_done(place, key):
        training.fit(examples, TRANSFERRED).save(place)
        mark_done(place, key)
    return replace(training, start=place)


def train_and_save(
    training: MemberTraining, examples: Sequence[Target], fold_of: Sequence[int], *, folder: Path, workers: int
) -> list[list[float]]:
    """Train a member that does not stop early, fold by fold and on all examples; what is done is not repeated.

    Returns:
        The out-of-fold probabilities of each example's emotions. The model on all is in ``folder``.
    """
    task = _MemberTask(training, base_key=stage_key(training.key(examples), list(fold_of)))
    return train_folds(task, examples, fold_of, folder=folder, workers=workers)


@dataclass(frozen=True)
class _MemberTask(FoldTask[Target, Member, list[float]]):
    """A member that does not stop early, whose trainings are too long to be lost."""

    name: ClassVar[str] = "sentiment"
    results_file: ClassVar[str] = "probs.json.gz"

    training: MemberTraining
    base_key: str

    def key(self, fold: int | None) -> str:
        return stage_key(self.base_key, fold)

    def fit(self, items: list[Target], fold: int | None) -> Member:
        return self.training.fit(items, fold)

    def predict(self, model: Member, items: list[Target]) -> list[Any]:
        return model.predict_proba(items).tolist()

    def read(self, value: Any) -> list[float]:
        if len(value) != len(EMOTIONS):
            raise ValueError(f"{len(value)} probabilities for {len(EMOTIONS)} emotions")
        return [float(prob) for prob in value]


def split_dev(examples: Sequence[Target], *, fraction: float, seed: int) -> tuple[list[Target], list[Target]]:
    """Cut development examples off, by group; a single group serves as both."""
    groups = sorted({example.group for example in examples})
    n_dev = max(1, round(len(groups) * fraction))
    in_dev = {groups[index] for index in np.random.default_rng(seed).permutation(len(groups))[:n_dev]}
    dev = [example for example in examples if example.group in in_dev]
    return [example for example in examples if example.group not in in_dev] or dev, dev

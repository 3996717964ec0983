"""The best model of each head of a comparison, kept in folders that ``load_head`` reads."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pipeline.artifacts import temporary_path, write_errors
from pipeline.errors import ArtifactError, ConfigError
from pipeline.standalone.heads.results import HeadResult
from pipeline.standalone.heads.saved import read_settings, replace_folder
from pipeline.standalone.heads.training import DevFigures

Job = tuple[str, int]
"""Head and seed of one training."""


class BestModels:
    """Keeps ``folder``/HEAD for each head: the seed that did best on its development rows, never by the test rows.

    Args:
        folder: where to.
        key: names the comparison. Models of it that are there already count; others are not touched.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    def check(self, heads: Iterable[str]) -> None:
        """Refuse a folder that holds something else under the name of a head.

        Raises:
            ConfigError: it does.
        """
        for head in heads:
            if (self.folder / head).exists() and self.saved_seed(head) is None:
                raise ConfigError(
                    f"{self.folder / head}: exists already, and is of no such comparison",
                    hint="choose another folder, or remove it",
                )

    def saved_seed(self, head: str) -> int | None:
        """Return the seed of the model that is kept; None where this comparison has none."""
        try:
            settings = read_settings(self.folder / head)
        except ArtifactError:
            return None
        return int(settings["seed"]) if settings.get("comparison") == self.key else None

    @contextmanager
    def unfinished(self) -> Iterator[Path]:
        """Lend a folder in which trainings leave their models; what is not kept goes with it."""
        with write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = temporary_path(self.folder / "unfinished")
            unfinished.mkdir()
        try:
            yield unfinished
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def offer(self, unfinished: Path, result: HeadResult, done: Mapping[Job, HeadResult]) -> None:
        """Keep the model of a training if it is the best so far, and forget it otherwise.

        Args:
            unfinished: the folder where the training left it, as ``job_folder`` has it.
            result: of the training.
            done: results so far, this one among them.
        """
        model = job_folder(unfinished, result.head, result.seed)
        if best_seed(result.head, done) == result.seed:
            replace_folder(model, self.folder / result.head)
        else:
            shutil.rmtree(model)

    def lacking(self, heads: Iterable[str], done: Mapping[Job, HeadResult]) -> list[Job]:
        """Return the best trainings whose models are not kept: those done before models were asked for."""
        best = [(head, best_seed(head, done)) for head in heads]
        return [(head, seed) for head, seed in best if self.saved_seed(head) != seed]

    def warn_of_useless(self, heads: Iterable[str]) -> None:
        """Warn of each model that is not better than always giving the most frequent answer."""
        for head in heads:
            settings = read_settings(self.folder / head)
            DevFigures.from_dict(settings["dev"]).warn_if_useless(head, settings["most_frequent"])


def job_folder(unfinished: Path, head: str, seed: int) -> Path:
    """Return where a training leaves its model."""
    return unfinished / f"{head}-{seed}"


def best_seed(head: str, done: Mapping[Job, HeadResult]) -> int:
    """Return the seed of the best accuracy on development rows, the lowest of equals."""
    seeds = sorted(seed for name, seed in done if name == head)
    return max(seeds, key=lambda seed: done[head, seed].dev_accuracy or 0.0)

"""The tagger as a stage: one model per fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pipeline.artifacts import read_json, sha256_file, stage_key
from pipeline.config import Config, TaggerConfig, key_options
from pipeline.entities.taggers.converted import load_converted
from pipeline.entities.taggers.reader import TaggerReader
from pipeline.entities.tagging.spans import article_text
from pipeline.errors import DataError
from pipeline.nn import openvino_engine
from pipeline.runtime.epoch_log import log_to
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import FoldStage, digest_of_list, read_results
from pipeline.runtime.trainings import DONE, TrainingMap, is_done, mark_done, train_here
from pipeline.text import Document
from pipeline.text.spans import LabelledText, ScoredSpan

if TYPE_CHECKING:
    from pipeline.entities.taggers.model import TaggerModel

logger = logging.getLogger(__name__)

PRETRAINED, SPANS, STATES = "pretrained", "spans.json.gz", "states"
"""Names in the stage's folder, beside those of ``fold_training``: the pre-trained tagger, a fold's spans, and what
frozen layers say of the windows, while the taggers learn."""


class TaggerStage(FoldStage[LabelledText, TaggerReader, list[ScoredSpan]]):
    """Scores spans of articles; ``oof_`` holds those of each training article.

    Args:
        config: options of the run; ``config.tagger.name`` is not "none".
        labels: labels of the spans; the single "" for core entities whatever the emotion.
        label_weight: see ``TaggerModel``.
        log: file that gets a JSON line for each epoch.
    """

    def __init__(
        self,
        config: Config,
        *,
        labels: Sequence[str] = ("",),
        label_weight: float | None = None,
        log: Path | None = None,
    ) -> None:
        self.config = config
        self.labels = tuple(labels)
        self.label_weight = label_weight
        self.log = log

    def fit(
        self,
        texts: Sequence[LabelledText],
        folds: Sequence[int],
        *,
        folder: Path,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train out-of-fold and on all, ``config.workers`` models at a time.

        Args:
            texts: the training articles (``gold_text``). Those without any marked span take no part in training:
                their core entities are there, but under another name.
            folds: the fold of each.
            folder: of the stage in the run.
            training_map: runs the trainings.

        Raises:
            DataError: no article has a marked span, or a NER file cannot be read.
            ArtifactError: the encoder cannot be had.
        """
        n_marked = sum(bool(text.spans) for text in texts)
        if not n_marked:
            raise DataError("no training article names one of its core entities: there is nothing to learn to tag")
        logger.info("tagger: %d of %d articles name none of their core entities", len(texts) - n_marked, len(texts))
        options, seed = self.config.tagger, self.config.seed
        facts = (key_options(options), self.labels, self.label_weight, seed, digest_of_list(texts), list(folds))
        start = self._pretrain(folder / PRETRAINED)
        states = folder / STATES
        converts = openvino_engine.may_convert(self.config.engine.encoder)
        task = _TaggerTask(
            *(seed, stage_key(*facts), self.log, options, self.labels, self.label_weight, start, states, converts)
        )
        try:
            workers = self.config.workers
            return self.train(task, texts, folds, folder=folder, workers=workers, training_map=training_map)
        finally:
            shutil.rmtree(states, ignore_errors=True)  # large, and made again by a training that goes on

    def predict(self, documents: Sequence[Document]) -> list[list[ScoredSpan]]:
        """Return the scored spans of each article: offsets into ``document.text``, in order, possibly overlapping."""
        return self.model_.predict([article_text(document) for document in documents])

    def read_model(self, folder: Path) -> TaggerReader:
        """Read the model that predicts, for the engine that the options choose.

        Raises:
            ArtifactError: it is missing or damaged, or tags other labels.
            ConfigError: the engine is not installed.
        """
        if openvino_engine.answers(self.config.engine.encoder, folder):
            return load_converted(folder, labels=self.labels)
        return _load_model(folder, self.labels).reader

    @classmethod
    def load(cls, folder: Path, config: Config, *, labels: Sequence[str] = ("",)) -> Self:
        """Read what ``fit`` wrote; see ``read_model``."""
        return cls(config, labels=labels).restore(folder)

    def _pretrain(self, folder: Path) -> Path | None:
        """Train on rows with marked entities, unless that was done before; return the model's folder."""
        options = self.config.tagger
        if not options.ner_files:
            return None
        files = [Path(file) for file in options.ner_files]
        if missing := [file for file in files if not file.is_file()]:
            raise DataError(f"{missing[0]}: no such file (tagger.ner_files)")
        key = stage_key(key_options(options), self.config.seed, [sha256_file(file) for file in files])
        if not is_done(folder, key):
            from pipeline.data.formats.entity_rows import read_ner_rows
            from pipeline.entities.taggers.model import TaggerModel

            rows = [row for file in files for row in read_ner_rows(file, with_types=False)]
            training = replace(options.training, max_epochs=options.ner_epochs)
            model = TaggerModel(
                replace(options, training=training),
                seed=self.config.seed,
                threads=self.config.workers,
                log=log_to(self.log, stage="tagger", fold="pretraining"),
            )
            model.fit(rows).save(folder)
            mark_done(folder, key)
        return folder


@dataclass(frozen=True)
class _TaggerTask(FoldTask[LabelledText, "TaggerModel", list[ScoredSpan]]):
    """A tagger that learns from the articles with marked spans, from ``start`` on where that is given."""

    stage: ClassVar[str] = "tagger"
    results_file: ClassVar[str] = SPANS

    config: TaggerConfig
    labels: tuple[str, ...]
    label_weight: float | None
    start: Path | None
    states: Path
    converts: bool

    @property
    def reads(self) -> tuple[Path, ...]:
        return (self.start,) if self.start else ()

    @property
    def scratch(self) -> tuple[Path, ...]:
        return (self.states,)

    def moved(self, places: Mapping[Path, Path]) -> Self:
        return replace(self, start=places[self.start] if self.start else None, states=places[self.states])

    def key(self, fold: int | None) -> str:
        return stage_key(self.base_key, fold, read_json(self.start / DONE) if self.start else None)

    def select(self, items: list[LabelledText]) -> list[LabelledText]:
        marked = [text for text in items if text.spans]
        return drawn(marked, self.config.train_articles, seed=self.seed) if self.config.train_articles else marked

    def fit(self, items: list[LabelledText], fold: int | None) -> TaggerModel:
        from pipeline.entities.taggers.model import TaggerModel

        seed = self.seed_of(fold)
        order = np.random.default_rng(seed).permutation(len(items))
        n_dev = round(len(items) * self.config.dev_fraction)
        dev, rest = ([items[index] for index in part] for part in (order[:n_dev], order[n_dev:]))
        start = _load_model(self.start, None) if self.start else None
        model = TaggerModel(
            self.config,
            labels=self.labels,
            label_weight=self.label_weight,
            seed=seed,
            log=self.epochs_of(fold),
            converts=self.converts,
        )
        return model.fit(rest, dev, start=start, states=self.states)

    def predict(self, model: TaggerModel, items: list[LabelledText]) -> list[Any]:
        return model.predict(items)

    def read(self, value: Any) -> list[ScoredSpan]:
        return _spans(value)


def out_of_fold_spans(folder: Path, folds: Sequence[int]) -> list[list[ScoredSpan]]:
    """Return what ``TaggerStage.oof_`` was when it was trained.

    Args:
        folder: of the stage in the run.
        folds: the fold of each training article, in their order then.

    Raises:
        ArtifactError: the spans of a fold are missing or damaged.
    """
    return read_results(folder, folds, file=SPANS, read=_spans)


def drawn(texts: list[LabelledText], n: int, *, seed: int) -> list[LabelledText]:
    """Return ``n`` of the texts, or all where there are no more, in their order.

    What is drawn depends on the texts and the seed alone. Of more texts the same ones are drawn first: folds learn
    from the same articles as far as they may, and what frozen layers say of them is computed once.
    """

    def chance(index: int) -> bytes:
        content = f"{seed}/{texts[index].text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16).digest()

    first = sorted(range(len(texts)), key=lambda index: (chance(index), index))[:n]
    return [texts[index] for index in sorted(first)]


def _spans(value: Any) -> list[ScoredSpan]:
    return [ScoredSpan(*span) for span in value]


def _load_model(folder: Path, labels: Sequence[str] | None) -> TaggerModel:
    from pipeline.entities.taggers.model import TaggerModel  # torch and transformers are costly to import

    return TaggerModel.load(folder, labels=labels)

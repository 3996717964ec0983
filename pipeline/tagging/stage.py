"""The tagger as a stage: one model a fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json, sha256_file, stage_key
from pipeline.config import Config, TaggerConfig
from pipeline.errors import ArtifactError, DataError
from pipeline.parallel import deaf_children
from pipeline.taggers.data import LabelledText
from pipeline.taggers.schemes import ScoredSpan
from pipeline.tagging.spans import article_text
from pipeline.text import Document

if TYPE_CHECKING:
    from pipeline.taggers.model import TaggerModel
    from pipeline.training import JsonLinesLog

logger = logging.getLogger(__name__)

MODEL, PRETRAINED, FOLDS, DONE = "model", "pretrained", "folds", "done.json"
"""Names in the stage's folder."""


class TaggerStage:
    """Scores spans of articles.

    ``fit`` trains one model for each fold, which scores the articles of that fold, and one on all articles, which
    predicts. Each of these trainings is a process of its own on one thread, so the scores do not depend on how many
    run at a time; each is saved once done, and not repeated when ``fit`` is called again with the same data and
    options.

    Learnt: ``oof_``, the scored spans of each training article from the model that did not see its fold; ``model_``.

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

    def fit(self, texts: Sequence[LabelledText], folds: Sequence[int], *, folder: Path) -> Self:
        """Train out-of-fold and on all, ``config.workers`` models at a time.

        Args:
            texts: the training articles (``gold_text``). Those without any marked span take no part in training:
                their core entities are there, but under another name.
            folds: the fold of each.
            folder: of the stage in the run.

        Raises:
            DataError: no article has a marked span, or a NER file cannot be read.
            ArtifactError: the encoder cannot be had.
        """
        if len(folds) != len(texts):
            raise ValueError(f"{len(texts)} texts but {len(folds)} folds")
        marked = [index for index, text in enumerate(texts) if text.spans]
        if not marked:
            raise DataError("no training article names one of its core entities: there is nothing to learn to tag")
        logger.info("tagger: %d of %d articles name none of their core entities", len(texts) - len(marked), len(texts))
        options, seed = self.config.tagger, self.config.seed
        base = stage_key(asdict(options), self.labels, self.label_weight, seed, _digest(texts), list(folds))
        start = self._pretrain(folder / PRETRAINED)
        jobs = []
        for fold in (*sorted(set(folds)), None):
            job = _Job(options, self.labels, self.label_weight, seed, fold, folder, base, start, self.log)
            held_out = [index for index, other in enumerate(folds) if other == fold]
            if not job.is_done():
                rest = [texts[index] for index in marked if folds[index] != fold]
                jobs.append(delayed(_run)(job, rest, [texts[index] for index in held_out]))
        with deaf_children():
            runs = Parallel(n_jobs=min(self.config.workers, max(1, len(jobs))), return_as="generator")(jobs)
        for _ in tqdm(runs, desc="tagger", total=len(jobs), unit="model", disable=None):
            pass
        self.oof_: list[list[ScoredSpan]] = [[] for _ in texts]
        for fold in sorted(set(folds)):
            held_out = [index for index, other in enumerate(folds) if other == fold]
            for index, spans in zip(held_out, _read_spans(_spans_path(folder, fold)), strict=True):
                self.oof_[index] = spans
        self.model_ = _load_model(folder / MODEL, self.labels)
        return self

    def predict(self, documents: Sequence[Document]) -> list[list[ScoredSpan]]:
        """Return the scored spans of each article: offsets into ``document.text``, in order, possibly overlapping."""
        return self.model_.predict([article_text(document) for document in documents])

    def save(self, folder: Path) -> None:
        """Write the model that predicts; ``fit`` has done so in its own folder."""
        self.model_.save(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, config: Config, *, labels: Sequence[str] = ("",)) -> Self:
        """Read the model that predicts.

        Raises:
            ArtifactError: it is missing or damaged, or tags other labels.
        """
        stage = cls(config, labels=labels)
        stage.model_ = _load_model(folder / MODEL, labels)
        return stage

    def _pretrain(self, folder: Path) -> Path | None:
        """Train on rows with marked entities, unless that was done before; return the model's folder."""
        options = self.config.tagger
        if not options.ner_files:
            return None
        files = [Path(file) for file in options.ner_files]
        if missing := [file for file in files if not file.is_file()]:
            raise DataError(f"{missing[0]}: no such file (tagger.ner_files)")
        key = stage_key(asdict(options), self.config.seed, [sha256_file(file) for file in files])
        if not _has_key(folder / DONE, key):
            from pipeline.taggers.model import TaggerModel
            from pipeline.taggers.ner_rows import read_ner_rows

            rows = [row for file in files for row in read_ner_rows(file, with_types=False)]
            training = replace(options.training, max_epochs=options.ner_epochs)
            model = TaggerModel(
                replace(options, training=training),
                seed=self.config.seed,
                threads=self.config.workers,
                log=_log(self.log, fold="pretraining"),
            )
            model.fit(rows).save(folder)
            atomic_write_json(folder / DONE, {"key": key})
        return folder


@dataclass(frozen=True)
class _Job:
    """One training: without a fold, or (None) on all articles."""

    config: TaggerConfig
    labels: tuple[str, ...]
    label_weight: float | None
    seed: int
    fold: int | None
    folder: Path
    base_key: str
    start: Path | None
    log: Path | None

    @property
    def key(self) -> str:
        return stage_key(self.base_key, self.fold, read_json(self.start / DONE) if self.start else None)

    @property
    def marker(self) -> Path:
        """Written last: says what the training rested on."""
        return self.folder / (MODEL if self.fold is None else f"{FOLDS}/{self.fold}") / DONE

    def is_done(self) -> bool:
        return _has_key(self.marker, self.key)


def _run(job: _Job, texts: Sequence[LabelledText], held_out: Sequence[LabelledText]) -> None:
    from pipeline.taggers.model import TaggerModel

    seed = zlib.crc32(f"{job.seed}/tagger/{job.fold}".encode())
    order = np.random.default_rng(seed).permutation(len(texts))
    n_dev = round(len(texts) * job.config.dev_fraction)
    dev, rest = ([texts[index] for index in part] for part in (order[:n_dev], order[n_dev:]))
    start = _load_model(job.start, None) if job.start else None
    log = _log(job.log, fold=job.fold)
    model = TaggerModel(job.config, labels=job.labels, label_weight=job.label_weight, seed=seed, log=log)
    model.fit(rest, dev, start=start)
    if job.fold is None:
        model.save(job.folder / MODEL)
    else:
        content = json.dumps(model.predict(held_out), ensure_ascii=False)
        atomic_write_bytes(_spans_path(job.folder, job.fold), gzip.compress(content.encode(), 6, mtime=0))
    atomic_write_json(job.marker, {"key": job.key})


def _spans_path(folder: Path, fold: int) -> Path:
    return folder / FOLDS / str(fold) / "spans.json.gz"


def _read_spans(path: Path) -> list[list[ScoredSpan]]:
    try:
        return [[ScoredSpan(*span) for span in spans] for spans in json.loads(gzip.decompress(path.read_bytes()))]
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error


def _load_model(folder: Path, labels: Sequence[str] | None) -> TaggerModel:
    from pipeline.taggers.model import TaggerModel  # torch and transformers are costly to import

    return TaggerModel.load(folder, labels=labels)


def _has_key(marker: Path, key: str) -> bool:
    return marker.is_file() and read_json(marker) == {"key": key}


def _log(path: Path | None, **context: Any) -> JsonLinesLog | None:
    if path is None:
        return None
    from pipeline.training import JsonLinesLog  # imports torch

    return JsonLinesLog(path, stage="tagger", **context)


def _digest(texts: Sequence[LabelledText]) -> str:
    return hashlib.sha256(repr(list(texts)).encode("utf-8", "surrogatepass")).hexdigest()

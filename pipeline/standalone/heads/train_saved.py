"""A head trained on files of rows into a folder of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.artifacts import DataFile
from pipeline.config import Config
from pipeline.data.reading import Reading
from pipeline.data.seen import SeenTexts, tell_seen
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.standalone.epoch_bar import EpochBar
from pipeline.standalone.heads.rows import read_rows
from pipeline.standalone.heads.saved import LOG, SavedHead, save_head, unfinished_folder
from pipeline.standalone.heads.states import kept_states
from pipeline.standalone.heads.training import classes_of, fit_head, head_class, require_fitting, require_one_form
from pipeline.standalone.script import refuse_conversion

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeadTraining:
    """What a head is trained on.

    Args:
        data: labelled rows.
        head: its name.
        config: of which ``head``, ``training``, ``sentiment`` and ``seed`` matter.
        dev: labelled rows that choose the epoch; None cuts them from the data, by group and alike for every class.
        command: as typed.
        reading: how the files are read, where that is not to be recognised.
    """

    data: Path
    head: str
    config: Config
    dev: Path | None = None
    command: Sequence[str] = ()
    reading: Reading | None = None


def train_head(request: HeadTraining, folder: Path, *, force: bool = False) -> SavedHead:
    """Train into a new folder, which appears only when all is done.

    A warning tells of a head that is not better on its development rows than the most frequent answer.

    Args:
        request: what is trained on what.
        folder: where to.
        force: replace a trained head that is there.

    Raises:
        DataError: rows are malformed, of two forms, or of too few classes or texts; or a file of vectors is.
        ConfigError: there is no such head, it needs a target which the rows lack, options do not go together, or the
            folder exists.
        ArtifactError: an encoder cannot be loaded.
    """
    config = request.config
    refuse_conversion(config)
    head_class(request.head)  # better now than after the files were read
    with unfinished_folder(folder, force=force) as unfinished:
        paths = [request.data, *([request.dev] if request.dev else [])]
        max_chars = config.sentiment.max_context_chars
        files = [read_rows(path, max_context_chars=max_chars, reading=request.reading) for path in paths]
        require_one_form(files)
        require_fitting([request.head], files[0].kind, request.data)
        rows, dev = files[0].rows, files[1].rows if request.dev else None
        classes = classes_of(files, rows)
        seen = SeenTexts.of(row.example.document for row in rows)
        if request.dev:
            tell_seen((row.example.document for row in files[1].rows), seen, request.dev)
        n_epochs = _checked_epochs(HeadClassifier(request.head, config, classes=classes))
        logger.info("%s: %d examples, classes: %s", request.data, len(rows), ", ".join(classes))
        with (
            EpochBar(unfinished / LOG, n_epochs=n_epochs) as log,
            kept_states([request.head], config) as states,
        ):
            fitted = fit_head(
                request.head, config, rows, dev, classes=classes, seed=config.seed, log=log, states=states
            )
        fitted.model.leave_states()
        fitted.dev.warn_if_useless(request.head, fitted.most_frequent)
        saved = SavedHead(fitted.model, files[0].kind, fitted.most_frequent, fitted.dev, seen)
        described = [DataFile.of(file.path, rows=len(file.rows)).to_dict() for file in files]
        save_head(saved, unfinished, data=described, command=list(request.command))
    return saved


def _checked_epochs(model: HeadClassifier) -> int:
    """Read what training will read, and return how many epochs it takes at most."""
    model.check()
    fine_tunes = not model.stops_early
    return (model.config.head.encoder.training if fine_tunes else model.config.training).max_epochs

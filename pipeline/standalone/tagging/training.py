"""Training a tagger on rows of files into a new folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.artifacts import SCHEMA_VERSION, DataFile, atomic_write_json, new_folder
from pipeline.artifacts.manifest import environment
from pipeline.config import Config, TaggerConfig
from pipeline.data.formats.tagging import Form, Notation, TagFile, labelled_text, read_rows
from pipeline.data.seen import SeenTexts, tell_seen, text_key
from pipeline.entities.taggers.model import TaggerModel, reads_words
from pipeline.errors import ConfigError, DataError
from pipeline.metric import TagScores
from pipeline.registry import TAGGERS, resolve
from pipeline.standalone.epoch_bar import EpochBar
from pipeline.standalone.script import refuse_conversion
from pipeline.standalone.tagging.tagger import (
    LOG,
    METRICS,
    SETTINGS,
    WORD_TAGS,
    PlainTagger,
    find_spans,
    listing,
    load_tagger,
    score_file,
)
from pipeline.standalone.tagging.words import WORD_FORM, WordBaseline, word_example

logger = logging.getLogger(__name__)

WORD_TAGGER = "lstm"
"""Where rows have a label a word and nobody names a tagger."""


@dataclass(frozen=True, slots=True)
class TagTraining:
    """What a tagger is trained on.

    Args:
        files: labelled rows.
        config: of which ``tagger``, ``seed`` and ``workers`` (threads) matter.
        dev: labelled rows whose F1 chooses the epoch that is kept (unless ``tagger.dev_fraction`` holds rows back for
            that), and by which the finished tagger is scored.
        command: as typed.
        labels: ``word``: one label a token; ``span``: spans of text; ``auto``: by the tags of the files, and ``span``
            for a tagger that cannot read words.
        form: what is known of the files.
        start: folder of a trained tagger to go on from; its network, labels and notation are kept.
        names_tagger: whether somebody wants the tagger that ``config`` names; otherwise words get ``WORD_TAGGER``.
    """

    files: Sequence[Path]
    config: Config
    dev: Path | None = None
    command: Sequence[str] = ()
    labels: Literal["auto", "word", "span"] = "auto"
    form: Form = field(default_factory=Form)
    start: Path | None = None
    names_tagger: bool = True


def train_tagger(request: TagTraining, folder: Path) -> tuple[PlainTagger, TagScores | None]:
    """Train into a new folder, which appears only when all is done; return the tagger and its figures on ``dev``.

    Raises:
        DataError: rows are malformed or mark nothing, or have no word each to label where that is asked for.
        ConfigError: there is no such tagger, the folder exists, or options or the tagger to go on from do
            not fit.
        ArtifactError: the encoder, or the tagger to go on from, cannot be had.
    """
    refuse_conversion(request.config)
    resolve(TAGGERS, request.config.tagger.name, kind="tagger")  # better now than after the files were read
    with new_folder(folder) as unfinished:
        start = load_tagger(request.start, threads=request.config.workers) if request.start else None
        form = replace(request.form, tags=WORD_FORM) if request.labels == "word" else request.form
        files = [read_rows(path, form=form) for path in request.files]
        words = start.tags_words if start else _wants_words(request, files)
        options = _options(request, start, words=words)
        labels = _labels(files, start, words=words)
        notation = start.notation if start else next((file.notation for file in files if file.notation), Notation())
        gold = read_rows(request.dev, form=form) if request.dev else None
        seen = SeenTexts.of(text_key(row.text) for file in files for row in file.rows)
        seen |= start.seen if start else SeenTexts()
        if gold:
            tell_seen((text_key(row.text) for row in gold.rows), seen, gold.path)
        texts = [word_example(row) if words else labelled_text(row) for file in files for row in file.rows]
        order = np.random.default_rng(request.config.seed).permutation(len(texts))
        n_held_out = round(len(texts) * options.dev_fraction)
        held_out, rest = ([texts[index] for index in part] for part in (order[:n_held_out], order[n_held_out:]))
        if gold and not held_out:
            held_out = [word_example(row) if words else labelled_text(row) for row in gold.rows]
        with EpochBar(unfinished / LOG, n_epochs=options.training.max_epochs) as log:
            model = TaggerModel(
                options, labels=labels, words=words, seed=request.config.seed, threads=request.config.workers, log=log
            )
            model.fit(rest, held_out, start=start.model if start else None)
        baseline = WordBaseline.of(texts) if words else None
        tagger = PlainTagger(model, notation, seen, baseline)
        model.save(unfinished)
        seen.save(unfinished)
        if baseline:
            baseline.save(unfinished / WORD_TAGS)
        scores = score_file(gold, find_spans(replace(tagger, seen=SeenTexts()), gold)) if gold else None
        if scores:
            atomic_write_json(unfinished / METRICS, {"dev": scores.to_dict()})
        settings = {
            "schema_version": SCHEMA_VERSION,
            "labels": labels,
            "notation": str(notation),
            "n_tokens": len(model.tokeniser_),
            "command": list(request.command),
            "seed": request.config.seed,
            "threads": request.config.workers,
            "data": [DataFile.of(path, rows=count).to_dict() for file in files for path, count in file.parts],
            **environment(),
        }
        atomic_write_json(unfinished / SETTINGS, settings)
    return tagger, scores


def _wants_words(request: TagTraining, files: Sequence[TagFile]) -> bool:
    """Tell whether each token is to get one label."""
    if request.labels == "span":
        return False
    is_plain = all(file.notation is not None and file.notation.is_plain for file in files)
    if request.labels == "word":
        if not is_plain:
            raise DataError("--labels word wants rows with tokens and a tag each")
        return True
    return is_plain and (not request.names_tagger or reads_words(request.config.tagger.name))


def _options(request: TagTraining, start: PlainTagger | None, *, words: bool) -> TaggerConfig:
    """Return the options to train with: of a tagger that is gone on from, all but those of training are kept.

    Rows are read whole, unless another bound than that of articles is given: what is core comes early, names do not.
    """
    options = request.config.tagger
    if options.predict_chars == TaggerConfig().predict_chars:
        options = replace(options, predict_chars=0)
    if start is None:
        return replace(options, name=WORD_TAGGER) if words and not request.names_tagger else options
    kept = start.model.config
    if request.names_tagger and options.name != kept.name:
        raise ConfigError(f"{request.start} is a tagger {kept.name}, not {options.name}")
    return replace(
        kept,
        training=options.training,
        dev_fraction=options.dev_fraction,
        encoder_learning_rate=options.encoder_learning_rate,
        layer_decay=options.layer_decay,
    )


def _labels(files: Sequence[TagFile], start: PlainTagger | None, *, words: bool) -> list[str]:
    """Return the types to learn, in order; of words, every tag that occurs."""
    if words:
        found = {tag for file in files for row in file.rows for tag in row.tags}
    else:
        found = {label for file in files for label in file.labels}
    if not found:
        raise DataError(
            f"{', '.join(str(file.path) for file in files)}: no row has a marked span: there is nothing to learn"
        )
    if start is None:
        return sorted(found)
    if unmarked := [label for label in start.labels if label not in found]:
        logger.warning("the rows mark no %s, which the model knows: it learns to find none", listing(unmarked))
    if new := sorted(found - set(start.labels)):
        logger.info("new types: %s", listing(new))
    return sorted(found | set(start.labels))

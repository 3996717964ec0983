"""Plain matching: a matcher on rows of two texts, apart from any article."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from pipeline.artifacts import SCHEMA_VERSION, DataFile, atomic_write_json, new_folder, read_json, sha256_file
from pipeline.artifacts.manifest import environment
from pipeline.config import Config, RelevanceConfig, config_from_dict
from pipeline.data.formats.pair_rows import PairRow, read_pairs
from pipeline.data.reading import Reading
from pipeline.data.seen import SEEN, SeenRows, SeenTexts, pair_key, tell_seen
from pipeline.entities.relevance.encoding import TokenReader
from pipeline.entities.relevance.estimator import IDENTITY, VOCABULARY, MatcherModel
from pipeline.entities.relevance.text_pairs import LabelledPairs, prediction_batches, read_ids, text_tokens
from pipeline.entities.relevance.tokens import read_stopwords
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.nn.weights import WEIGHTS
from pipeline.registry import MATCHERS, resolve
from pipeline.standalone.epoch_bar import EpochBar
from pipeline.standalone.matching.dev_cut import dev_rows, pair_groups
from pipeline.standalone.matching.scale import LabelScale
from pipeline.standalone.matching.score import Figures, LabelFigures, ScoreFigures, Thresholds, spearman
from pipeline.standalone.script import refuse_conversion

logger = logging.getLogger(__name__)

SETTINGS, LOG, METRICS = "matching.json", "log.jsonl", "metrics.json"
"""Names in a model's folder, beside those of ``MatcherModel``."""
CHUNK_SIZE, BATCH_SIZE = 4096, 256
"""Rows read, and pairs scored together. Fixed: a batch's size could change the last bits of a score."""
DIGITS = 6
"""Of a score."""
TRAINING_PAIR = "a training pair"
Tokens = tuple[list[str], list[str]]


@dataclass(frozen=True, slots=True)
class PlainMatcher:
    """A trained matcher, what its labels mean, and from which score on a pair belongs together."""

    model: MatcherModel
    scale: LabelScale
    thresholds: Thresholds | None
    """None where labels are scores."""
    seen: SeenTexts = field(default_factory=SeenTexts)
    """The pairs it was trained on."""

    def score(self, rows: Iterable[PairRow], where: object = "") -> Iterator[tuple[PairRow, float]]:
        """Yield each row with its score, 0 to 1; training pairs are told at the end, ``where`` names their file."""
        rows = SeenRows(self.seen, where, rows="pairs", whose=TRAINING_PAIR).watch(rows, _pair_key)
        while chunk := list(islice(rows, CHUNK_SIZE)):
            scores = _scores(self.model, [_tokens(row, self.model.config) for row in chunk])
            yield from zip(chunk, scores.tolist(), strict=True)

    def predicted(self, score: float) -> float:
        """Return the label that a score stands for: 0 or 1 by the threshold of the best F1, or one of the range."""
        if self.thresholds is None:
            return round(self.scale.label_of(score), DIGITS)
        return int(score >= self.thresholds.f1)

    def evaluate(self, rows: Sequence[PairRow], path: Path) -> Figures:
        """Score labelled rows.

        Raises:
            DataError: a label is none of those that the matcher was trained on.
        """
        labels = self.scale.normalised(rows, path)
        scores = np.array([score for _, score in self.score(rows, path)])
        return _figures(scores, labels, self.scale, self.thresholds)


@dataclass(frozen=True, slots=True)
class MatchTraining:
    """What a matcher is trained on.

    Args:
        files: labelled rows.
        config: of which ``relevance`` and ``seed`` matter.
        dev: labelled rows by which the epoch and the thresholds are chosen; None keeps some of the others back.
        scale: what the labels mean; None recognises it.
        command: as typed.
        reading: how the files are read, where that is not to be recognised.
    """

    files: Sequence[Path]
    config: Config
    dev: Path | None = None
    scale: LabelScale | None = None
    command: Sequence[str] = ()
    reading: Reading | None = None


def train_matcher(request: MatchTraining, folder: Path) -> tuple[PlainMatcher, Figures]:
    """Train into a new folder, which appears only when all is done; return the matcher and its figures on dev.

    Raises:
        DataError: rows are malformed, labels have no known range, or dev has one label only.
        ConfigError: there is no such matcher, the folder exists, or options do not go together.
    """
    refuse_conversion(request.config)
    options, seed = request.config.relevance, request.config.seed
    resolve(MATCHERS, options.name, kind="matcher")  # better now than after the files were read
    with new_folder(folder) as unfinished:
        stopwords = read_stopwords(options.stopwords)
        files = [(path, read_pairs(path, request.reading)) for path in request.files]
        scale = request.scale or LabelScale.of([row for _, rows in files for row in rows], request.files[0])
        if not scale.is_binary:
            logger.info("labels: scores from %s; --score-range LOW,HIGH says otherwise", scale)
        train, dev = _split(request, files, scale)
        with EpochBar(unfinished / LOG, n_epochs=options.training.max_epochs, figure=_figure_name(scale)) as log:
            model = MatcherModel(options, seed=seed, log=log, stopwords=stopwords)
            _fit(model, train, dev, scale)
        scores = _scores(model, dev.tokens(options))
        thresholds = Thresholds.best(scores, dev.labels) if scale.is_binary else None
        model.save(unfinished)
        seen = SeenTexts.of(_pair_key(row) for _, rows in files for row in rows)
        seen.save(unfinished)
        figures = _figures(scores, dev.labels, scale, thresholds)
        atomic_write_json(unfinished / METRICS, {"dev": figures.to_dict()})
        settings = {
            "schema_version": SCHEMA_VERSION,
            "relevance": asdict(options) | {"stopwords": ""},  # the words themselves are in the folder
            "scale": scale.to_dict(),
            "thresholds": asdict(thresholds) if thresholds else None,
            "files": {name: sha256_file(unfinished / name) for name in (WEIGHTS, VOCABULARY, IDENTITY, SEEN)},
            "command": list(request.command),
            "seed": seed,
            "data": [DataFile.of(path, rows=len(rows)).to_dict() for path, rows in files],
            "pairs": {"train": len(train.rows), "dev": len(dev.rows)},
            **environment(),
        }
        atomic_write_json(unfinished / SETTINGS, settings)
    return PlainMatcher(model, scale, thresholds, seen), figures


def load_matcher(folder: Path) -> PlainMatcher:
    """Read what ``train_matcher`` wrote.

    Raises:
        ArtifactError: the folder is none of these, or something in it is missing, or not as it was saved.
    """
    path = folder / SETTINGS
    if not path.is_file():
        hint = "python run.py match train --data FILE --out FOLDER"
        raise ArtifactError(f"{folder}: no folder of a trained matcher (no {SETTINGS})", hint=hint)
    settings = read_json(path)
    if not isinstance(settings, dict) or settings.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(f"{path}: not of this version of the program", hint="train the matcher again")
    files = settings.get("files")
    if not isinstance(files, dict) or not files:
        raise ArtifactError(f"{path}: damaged, files cannot be read")
    for name, checksum in files.items():
        if not (folder / name).is_file():
            raise ArtifactError(f"{folder}: holds no {name}")
        if sha256_file(folder / name) != checksum:
            raise ArtifactError(f"{folder / name}: is not as it was saved", hint="copy or train the matcher again")
    options = _stored_options(settings.get("relevance"), path)
    scale = LabelScale.from_dict(settings.get("scale"), path)
    model = MatcherModel.load(folder, options)
    return PlainMatcher(model, scale, _stored_thresholds(settings, scale, path), SeenTexts.load(folder))


@dataclass(frozen=True, slots=True)
class _Part:
    """Training or development pairs."""

    rows: list[PairRow]
    labels: np.ndarray
    """float64 (n_rows,), 0 to 1."""

    def tokens(self, options: RelevanceConfig) -> list[Tokens]:
        return [_tokens(row, options) for row in self.rows]

    def where(self, chosen: np.ndarray) -> _Part:
        """Return the pairs that a bool (n_rows,) chooses."""
        return _Part([row for row, is_chosen in zip(self.rows, chosen, strict=True) if is_chosen], self.labels[chosen])


def _split(
    request: MatchTraining, files: Sequence[tuple[Path, list[PairRow]]], scale: LabelScale
) -> tuple[_Part, _Part]:
    """Return training and development pairs: those of ``dev``, or some that are kept back."""
    labels = np.concatenate([scale.normalised(rows, path) for path, rows in files])
    train = _Part([row for _, rows in files for row in rows], labels)
    if request.dev:
        rows = read_pairs(request.dev, request.reading)
        dev = _Part(rows, scale.normalised(rows, request.dev))
        seen = SeenTexts.of(map(_pair_key, train.rows))
        tell_seen(map(_pair_key, rows), seen, request.dev, rows="pairs", whose=TRAINING_PAIR)
    else:
        kept_back = _cut(train.rows, request.config.relevance, request.config.seed)
        train, dev = train.where(~kept_back), train.where(kept_back)
        logger.info("dev: %d of %d pairs, none of which shares a text with the others", len(dev.rows), len(labels))
    for name, part in (("training", train), ("dev", dev)):
        if len(np.unique(part.labels)) < 2:
            raise DataError(f"the {name} pairs all have one label: there is nothing to tell apart")
    return train, dev


def _fit(model: MatcherModel, train: _Part, dev: _Part, scale: LabelScale) -> None:
    options = model.config
    tokens, dev_tokens = train.tokens(options), dev.tokens(options)
    if n_cut := sum(len(side) > options.max_text_tokens for pair in tokens for side in pair):
        limit = options.max_text_tokens
        logger.info("%d of %d texts are cut to relevance.max_text_tokens, %d", n_cut, 2 * len(tokens), limit)

    def batches(reader: TokenReader) -> LabelledPairs:
        left, right = _ids(tokens, reader, options)
        return LabelledPairs(left, right, train.labels, batch_size=options.training.batch_size, seed=model.seed)

    def figure() -> float:
        scores = _scores(model, dev_tokens)
        if scale.is_binary:
            return float(roc_auc_score(dev.labels, scores))
        found = spearman(scores, dev.labels)
        return -1.0 if found is None else found

    model.fit((token for pair in tokens for side in pair for token in side), batches, evaluate=figure)


def _figures(scores: np.ndarray, labels: np.ndarray, scale: LabelScale, thresholds: Thresholds | None) -> Figures:
    if thresholds is None:
        return ScoreFigures.of(scores, labels, scale)
    return LabelFigures.of(scores, labels, thresholds)


def _figure_name(scale: LabelScale) -> str:
    return "dev AUC" if scale.is_binary else "dev Spearman"


def _tokens(row: PairRow, options: RelevanceConfig) -> Tokens:
    return text_tokens(row.left, options.tokens), text_tokens(row.right, options.tokens)


def _ids(
    pairs: Sequence[Tokens], reader: TokenReader, options: RelevanceConfig
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    left, right = ([read_ids(pair[side], reader, options.max_text_tokens) for pair in pairs] for side in (0, 1))
    return left, right


def _scores(model: MatcherModel, pairs: Sequence[Tokens]) -> np.ndarray:
    """Return the rounded score of each pair: float64 (n_pairs,)."""
    left, right = _ids(pairs, model.reader_, model.config)
    batches = prediction_batches(left, right, batch_size=BATCH_SIZE)
    return model.similarities(batches, len(pairs)).round(DIGITS)


def _cut(rows: Sequence[PairRow], options: RelevanceConfig, seed: int) -> np.ndarray:
    kept_back = dev_rows(pair_groups(rows), fraction=options.dev_fraction, seed=seed)
    if not kept_back.any():
        raise DataError(
            f"of {len(rows)} pairs none can be kept back to choose the epoch: too many share their texts",
            hint="give labelled pairs of other texts by --dev FILE",
        )
    return kept_back


def _pair_key(row: PairRow) -> str:
    return pair_key(row.left, row.right)


def _stored_options(values: Any, path: Path) -> RelevanceConfig:
    try:
        return config_from_dict({"relevance": values}).relevance
    except ConfigError as error:
        raise ArtifactError(f"{path}: not the options of this version ({error.message})") from error


def _stored_thresholds(settings: dict[str, Any], scale: LabelScale, path: Path) -> Thresholds | None:
    if not scale.is_binary:
        return None
    try:
        values = settings["thresholds"]
        return Thresholds(f1=float(values["f1"]), accuracy=float(values["accuracy"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path}: damaged, thresholds cannot be read") from error

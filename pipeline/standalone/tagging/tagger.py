"""Plain tagging: a tagger of stage one on rows with marked spans, apart from any article."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pipeline.artifacts import SCHEMA_VERSION, DataFile, atomic_write_json, new_folder, read_json
from pipeline.artifacts.manifest import environment
from pipeline.config import Config
from pipeline.data.formats.tagging import (
    Notation,
    TagFile,
    TagRow,
    labelled_text,
    read_rows,
    to_characters,
    untouched_spans,
)
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ArtifactError, DataError
from pipeline.metric import TagScores, score_spans
from pipeline.registry import TAGGERS, resolve
from pipeline.runtime.epoch_log import EpochReport, JsonLinesLog
from pipeline.text import normalise
from pipeline.text.spans import LabelledText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger(__name__)

SETTINGS, WEIGHTS, LOG, METRICS = "tagging.json", "model.safetensors", "log.jsonl", "metrics.json"
"""Names in a model's folder."""
CHUNK_SIZE = 256
"""Rows tagged together. Fixed: a batch's size could change the last bits of a score."""


@dataclass(frozen=True, slots=True)
class PlainTagger:
    """A trained tagger, and the notation in which it writes tags."""

    model: TaggerModel
    notation: Notation

    @property
    def labels(self) -> tuple[str, ...]:
        """The types it tags, in order."""
        return self.model.scheme.labels

    def tag(self, rows: Iterable[TagRow]) -> Iterator[tuple[TagRow, tuple[Span, ...]]]:
        """Yield each row with the spans found in its untouched text, without overlap; they fit its tokens."""
        rows = iter(rows)
        n_misfit = 0
        while chunk := list(islice(rows, CHUNK_SIZE)):
            texts = [normalise(row.text) for row in chunk]
            found = self.model.tag([LabelledText(text.text) for text in texts])
            for row, text, spans in zip(chunk, texts, found, strict=True):
                answer = tuple(untouched_spans(text, spans))
                if row.tokens:
                    fitting = self.notation.to_tokens(answer, row.tokens)
                    n_misfit += 0 if self.notation.is_plain else len(answer) - len(fitting)
                    answer = to_characters(fitting, row.tokens)
                yield row, answer
        if n_misfit:
            logger.warning("%d spans that begin or end inside a token were left out", n_misfit)

    def require_labels(self, gold: TagFile) -> None:
        """Refuse rows with types that the tagger does not know: it would be scored on what it cannot find.

        Raises:
            ArtifactError: there are some; the message names both sides.
        """
        if unknown := [label for label in gold.labels if label not in self.labels]:
            raise ArtifactError(f"the model tags {_listing(self.labels)}; {gold.path} has also {_listing(unknown)}")


@dataclass(frozen=True, slots=True)
class TagTraining:
    """What a tagger is trained on.

    Args:
        files: labelled rows.
        config: of which ``tagger``, ``seed`` and ``workers`` (threads) matter.
        dev: labelled rows by which the finished tagger is scored; nothing is tuned on them.
        command: as typed.
    """

    files: Sequence[Path]
    config: Config
    dev: Path | None = None
    command: Sequence[str] = ()


def train_tagger(request: TagTraining, folder: Path) -> tuple[PlainTagger, TagScores | None]:
    """Train into a new folder, which appears only when all is done; return the tagger and its figures on ``dev``.

    With ``tagger.dev_fraction`` some of the rows are kept back to choose the best epoch.

    Raises:
        DataError: rows are malformed or mark nothing, or ``dev`` has types that no training row has.
        ConfigError: there is no such tagger, or the folder exists.
        ArtifactError: the encoder cannot be had.
    """
    options, seed = request.config.tagger, request.config.seed
    resolve(TAGGERS, options.name, kind="tagger")  # better now than after the files were read
    with new_folder(folder) as unfinished:
        files = [read_rows(path) for path in request.files]
        labels = sorted({label for file in files for label in file.labels})
        if not labels:
            raise DataError(
                f"{', '.join(map(str, request.files))}: no row has a marked span: there is nothing to learn"
            )
        gold = read_rows(request.dev) if request.dev else None
        if gold and (unknown := [label for label in gold.labels if label not in labels]):
            raise DataError(f"the training rows have {_listing(labels)}; {gold.path} has also {_listing(unknown)}")
        notation = next((file.notation for file in files if file.notation), Notation())
        texts = [labelled_text(row) for file in files for row in file.rows]
        order = np.random.default_rng(seed).permutation(len(texts))
        n_held_out = round(len(texts) * options.dev_fraction)
        held_out, rest = ([texts[index] for index in part] for part in (order[:n_held_out], order[n_held_out:]))
        with _EpochLog(unfinished / LOG, n_epochs=options.training.max_epochs) as log:
            model = TaggerModel(options, labels=labels, seed=seed, threads=request.config.workers, log=log)
            tagger = PlainTagger(model.fit(rest, held_out), notation)
        model.save(unfinished)
        scores = score_file(gold, find_spans(tagger, gold)) if gold else None
        if scores:
            atomic_write_json(unfinished / METRICS, {"dev": scores.to_dict()})
        settings = {
            "schema_version": SCHEMA_VERSION,
            "labels": labels,
            "notation": notation.letters,
            "n_tokens": len(model.tokeniser_),
            "command": list(request.command),
            "seed": seed,
            "threads": request.config.workers,
            "data": [DataFile.of(file.path, rows=len(file.rows)).to_dict() for file in files],
            **environment(),
        }
        atomic_write_json(unfinished / SETTINGS, settings)
    return tagger, scores


def load_tagger(folder: Path, *, threads: int = 1) -> PlainTagger:
    """Read what ``train_tagger`` wrote.

    Raises:
        ArtifactError: the folder is none of these, or something in it is missing, damaged or does not belong.
    """
    hint = "python run.py tag train --train FILE --model FOLDER"
    if not (folder / SETTINGS).is_file():
        raise ArtifactError(f"{folder}: no folder of a trained tagger (no {SETTINGS})", hint=hint)
    if not (folder / WEIGHTS).is_file():
        raise ArtifactError(f"{folder}: holds no weights ({WEIGHTS})", hint=hint)
    settings = _read_settings(folder / SETTINGS)
    model = TaggerModel.load(folder, labels=settings["labels"], threads=threads)
    if len(model.tokeniser_) != settings["n_tokens"]:
        raise ArtifactError(
            f"{folder}: its vocabulary has {len(model.tokeniser_)} tokens, it was trained with {settings['n_tokens']}"
        )
    return PlainTagger(model, Notation(settings["notation"]))


def find_spans(tagger: PlainTagger, gold: TagFile) -> list[tuple[Span, ...]]:
    """Tag the rows of a file; return what was found in each.

    Raises:
        ArtifactError: the rows have types that the tagger does not know.
    """
    tagger.require_labels(gold)
    tagged = tqdm(tagger.tag(gold.rows), total=len(gold.rows), desc="tag", unit="row", disable=None)
    return [spans for _, spans in tagged]


def read_predicted(path: Path, gold: TagFile) -> list[tuple[Span, ...]]:
    """Read the spans that a file of predictions has in the rows of gold, whatever the form of either.

    Raises:
        DataError: its rows are malformed, or are not those of gold.
    """
    plain = gold.notation if gold.notation and gold.notation.is_plain else None
    answers = read_rows(path, notation=plain).rows
    for answer, row in zip(answers, gold.rows, strict=False):
        if answer.text != row.text:
            raise DataError(f"{path}:{answer.line}: its text is not that of {gold.path}:{row.line}")
    if len(answers) != len(gold.rows):
        raise DataError(f"{path}: has {len(answers)} rows, {gold.path} has {len(gold.rows)}")
    return [row.spans for row in answers]


def score_file(gold: TagFile, found: Sequence[Sequence[Span]]) -> TagScores:
    """Compare what was found in each row with gold; plain tags are compared token by token as well."""
    notation = gold.notation

    def tags(row: TagRow, spans: Sequence[Span], notation: Notation) -> list[str]:
        return notation.tags(notation.to_tokens(spans, row.tokens), len(row.tokens))

    return score_spans(
        (row.spans for row in gold.rows),
        found,
        tags=(
            ((row.source["tags"], tags(row, spans, notation)) for row, spans in zip(gold.rows, found, strict=True))
            if notation and notation.is_plain
            else ()
        ),
    )


class _EpochLog(JsonLinesLog):
    """Appends a JSON line per epoch, and shows a bar in a terminal and a line elsewhere."""

    def __init__(self, path: Path, *, n_epochs: int) -> None:
        super().__init__(path)
        self._bar = tqdm(total=n_epochs, desc="train", unit="epoch", disable=None)

    def __enter__(self) -> _EpochLog:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, report: EpochReport | Mapping[str, Any]) -> None:
        super().__call__(report)
        if isinstance(report, EpochReport):
            self._bar.set_postfix(loss=f"{report.loss:.4f}")
            self._bar.update()
            if self._bar.disable:
                logger.info(
                    "epoch %d of %d: loss %.4f, %.0f s",
                    report.epoch + 1,
                    self._bar.total,
                    report.loss,
                    report.seconds,
                )


def _read_settings(path: Path) -> dict[str, Any]:
    settings = read_json(path)
    wanted = {"labels": list, "notation": str, "n_tokens": int}
    if not isinstance(settings, dict) or settings.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(f"{path}: not of this version of the program", hint="train the tagger again")
    if wrong := [key for key, kind in wanted.items() if not isinstance(settings.get(key), kind)]:
        raise ArtifactError(f"{path}: damaged, {' and '.join(wrong)} cannot be read")
    return settings


def _listing(labels: Iterable[str]) -> str:
    return ", ".join(label or "(no type)" for label in labels)

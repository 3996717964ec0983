"""A trained tagger at work on rows with marked spans, or words with a tag each, apart from any article."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pipeline.artifacts import SCHEMA_VERSION, read_json
from pipeline.data.formats.tagging import (
    Form,
    Notation,
    TagFile,
    TagRow,
    read_rows,
    to_characters,
    untouched_spans,
)
from pipeline.data.seen import SeenRows, SeenTexts, text_key
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ArtifactError, DataError
from pipeline.metric import TagScores, score_spans
from pipeline.standalone.tagging.words import WordBaseline, as_words, word_example
from pipeline.text import normalise
from pipeline.text.spans import OUTSIDE, LabelledText, ScoredSpan, Span

logger = logging.getLogger(__name__)

SETTINGS, WEIGHTS, LOG, METRICS = "tagging.json", "model.safetensors", "log.jsonl", "metrics.json"
WORD_TAGS = "word_tags.json"
"""Names in a model's folder."""
CHUNK_SIZE = 256
"""Rows tagged together. Fixed: a batch's size could change the last bits of a score."""


@dataclass(frozen=True, slots=True)
class PlainTagger:
    """A trained tagger, and the notation in which it writes tags."""

    model: TaggerModel
    notation: Notation
    seen: SeenTexts = field(default_factory=SeenTexts)
    """The texts it was trained on."""
    baseline: WordBaseline | None = None
    """Of a tagger of words: the commonest tags."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The types it tags, in order."""
        return self.model.scheme.labels

    @property
    def tags_words(self) -> bool:
        """Tell whether it gives each word one label."""
        return self.model.words

    def tag(self, rows: Iterable[TagRow], where: object = "") -> Iterator[tuple[TagRow, tuple[Span, ...]]]:
        """Yield each row with the spans found in its untouched text, without overlap; they fit its tokens.

        Rows that it was trained on are told at the end; ``where`` names their file. A tagger of words cuts rows without
        tokens into words first; they are yielded as rows of tokens.
        """
        for row, spans in self._answers(rows, where, with_probs=False):
            yield row, tuple(Span(span.start, span.stop, span.label) for span in spans)

    def tag_scored(self, rows: Iterable[TagRow], where: object = "") -> Iterator[tuple[TagRow, tuple[ScoredSpan, ...]]]:
        """Yield the same with the probability of each span."""
        return self._answers(rows, where, with_probs=True)

    def tell_other_labels(self, gold: TagFile) -> None:
        """Warn of rows with types that the tagger does not know: they count as missed."""
        if unknown := [label for label in gold.labels if label not in self.labels]:
            logger.warning(
                "the model tags %s; %s has also %s: counted as missed",
                *(listing(self.labels), gold.path, listing(unknown)),
            )

    def _answers(
        self, rows: Iterable[TagRow], where: object, *, with_probs: bool
    ) -> Iterator[tuple[TagRow, tuple[ScoredSpan, ...]]]:
        n_misfit = 0
        chunks = SeenRows(self.seen, where).watch(rows, lambda row: text_key(row.text) if self.seen else "")
        while chunk := list(islice(chunks, CHUNK_SIZE)):
            chunk = [as_words(row) for row in chunk] if self.tags_words else chunk
            for row, found in zip(chunk, self._chunk(chunk, with_probs=with_probs), strict=True):
                answer = found
                if row.tokens and not self.tags_words:
                    fitting = self.notation.to_tokens([_bare(span) for span in found], row.tokens)
                    n_misfit += 0 if self.notation.is_plain else len(found) - len(fitting)
                    answer = _with_probs(to_characters(fitting, row.tokens), found)
                yield row, tuple(answer)
        if n_misfit:
            logger.warning("%d spans that begin or end inside a token were left out", n_misfit)

    def _chunk(self, rows: Sequence[TagRow], *, with_probs: bool) -> Iterator[list[ScoredSpan]]:
        """Yield what is found in each row's untouched text."""
        normalised = [normalise(row.text) for row in rows]
        texts = (
            [word_example(row) for row in rows] if self.tags_words else [LabelledText(text.text) for text in normalised]
        )
        if with_probs:
            found = self.model.tag_scored(texts)
        else:
            found = [
                [ScoredSpan(span.start, span.stop, 1.0, span.label) for span in spans]
                for spans in self.model.tag(texts)
            ]
        for row, text, spans in zip(rows, normalised, found, strict=True):
            if self.tags_words:
                marked = [span for span in spans if span.label != OUTSIDE]
                yield [
                    span._replace(start=row.tokens[span.start][0], stop=row.tokens[span.start][1]) for span in marked
                ]
            else:
                moved = [ScoredSpan(*text.raw_span(span.start, span.stop), span.prob, span.label) for span in spans]
                yield _with_probs(untouched_spans(text, [_bare(span) for span in spans]), moved)


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
    try:
        notation = Notation.parse(settings["notation"])
    except ValueError as error:
        raise ArtifactError(f"{folder / SETTINGS}: damaged, {error}") from error
    baseline = WordBaseline.load(folder / WORD_TAGS) if model.words else None
    return PlainTagger(model, notation, SeenTexts.load(folder), baseline)


def find_spans(tagger: PlainTagger, gold: TagFile) -> list[tuple[Span, ...]]:
    """Tag the rows of a file; return what was found in each. Types that the tagger does not know are told."""
    tagger.tell_other_labels(gold)
    tagged = tqdm(tagger.tag(gold.rows, gold.path), total=len(gold.rows), desc="tag", unit="row", disable=None)
    return [spans for _, spans in tagged]


def read_predicted(path: Path, gold: TagFile, *, form: Form | None = None) -> list[tuple[Span, ...]]:
    """Read the spans that a file of predictions has in the rows of gold, whatever the form of either.

    Raises:
        DataError: its rows are malformed, or are not those of gold.
    """
    plain = gold.notation if gold.notation and gold.notation.is_plain else None
    answers = read_rows(path, form=form, notation=plain, keeps_rules=False).rows
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
            ((row.tags, tags(row, spans, notation)) for row, spans in zip(gold.rows, found, strict=True))
            if notation and notation.is_plain
            else ()
        ),
    )


def _read_settings(path: Path) -> dict[str, Any]:
    settings = read_json(path)
    wanted = {"labels": list, "notation": str, "n_tokens": int}
    if not isinstance(settings, dict) or settings.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(f"{path}: not of this version of the program", hint="train the tagger again")
    if wrong := [key for key, kind in wanted.items() if not isinstance(settings.get(key), kind)]:
        raise ArtifactError(f"{path}: damaged, {' and '.join(wrong)} cannot be read")
    return settings


def _bare(span: ScoredSpan) -> Span:
    return Span(span.start, span.stop, span.label)


def _with_probs(spans: Iterable[Span], scored: Sequence[ScoredSpan]) -> list[ScoredSpan]:
    """Give each span the probability of the one it came from: the likeliest of its type that it overlaps."""
    return [
        ScoredSpan(
            *(span.start, span.stop),
            max(
                other.prob
                for other in scored
                if other.label == span.label and other.start < span.stop and span.start < other.stop
            ),
            span.label,
        )
        for span in spans
    ]


def listing(labels: Iterable[str]) -> str:
    """Return types in words."""
    return ", ".join(label or "(no type)" for label in labels)

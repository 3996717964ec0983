"""spaCy 2's training files: documents of paragraphs of sentences of tokens, their ``ner`` tags in BILUO."""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.tagging.form import Notes
from pipeline.data.formats.tagging.marked import Marked, entry, object_of
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.row import Range
from pipeline.data.formats.tagging.tokens import join_tokens, to_characters
from pipeline.errors import DataError
from pipeline.text.spans import OUTSIDE

PARAGRAPHS = "paragraphs"
_BILUO = Notation("BILU")
_UNKNOWN = "-"
"""Tag of a token of which nobody said what it is."""


def is_training_document(value: object) -> bool:
    """Tell a document by its paragraphs."""
    return isinstance(value, dict) and isinstance(value.get(PARAGRAPHS), list)


def parse_training_document(row: dict[str, Any], *, labelled: bool, notes: Notes) -> Iterator[Marked]:
    """Yield the sentences of a document.

    A sentence of a paragraph with ``raw`` is the slice of it from its first token to its last; elsewhere its tokens are
    joined, with blanks as their ``space`` says, or between Latin words.

    Raises:
        DataError: it lacks a level, a token has no text or no tag, or is not in ``raw``.
    """
    for paragraph in _objects(row, PARAGRAPHS):
        raw, begin = paragraph.get("raw"), 0
        for sentence in _objects(paragraph, "sentences"):
            tokens = _objects(sentence, "tokens")
            if not tokens:
                continue
            forms = [_form(token) for token in tokens]
            if isinstance(raw, str):
                places = _places(forms, raw, begin)
                begin = places[-1][1]
                first = places[0][0]
                text, places = raw[first:begin], [(start - first, stop - first) for start, stop in places]
            else:
                text, places = _joined(forms, tokens)
            yield Marked(text, list(_entries(tokens, places, notes)) if labelled else ())


def _entries(tokens: list[dict[str, Any]], places: list[Range], notes: Notes) -> Iterator[dict[str, Any]]:
    tags = [_tag(token) for token in tokens]
    notes.unread["tokens whose tag is not known"] += tags.count(_UNKNOWN)
    spans, broken = _BILUO.spans([OUTSIDE if tag == _UNKNOWN else tag for tag in tags])
    notes.lost["tags that break the rules of BILUO"] += len(broken)
    for start, stop, label in to_characters(spans, places):
        yield entry(start, stop, label)


def _tag(token: dict[str, Any]) -> str:
    if "ner" not in token:
        raise DataError(f"token {short_repr(token.get('orth'))} has no ner (have: {', '.join(token)})")
    tag = token["ner"]
    if tag is None:
        return _UNKNOWN
    if not isinstance(tag, str):
        raise DataError(f"ner is {short_repr(tag)}, want a tag such as B-PER")
    return tag


def _form(token: dict[str, Any]) -> str:
    form = token.get("orth")
    if not (isinstance(form, str) and form):
        raise DataError(f"orth is {short_repr(form)}, want text that is not empty")
    return form


def _places(forms: list[str], raw: str, begin: int) -> list[Range]:
    places: list[Range] = []
    for form in forms:
        start = raw.find(form, begin)
        if start < 0:
            raise DataError(f"token {short_repr(form)} is not in raw after character {begin}")
        begin = start + len(form)
        places.append((start, begin))
    return places


def _joined(forms: list[str], tokens: list[dict[str, Any]]) -> tuple[str, list[Range]]:
    if not any("space" in token for token in tokens):
        text, places = join_tokens(forms)
        return text, list(places)
    text = ""
    found: list[Range] = []
    for form, token in zip(forms, tokens, strict=True):
        found.append((len(text), len(text) + len(form)))
        text += f"{form}{' ' if token.get('space') in (True, ' ') else ''}"
    return text, found


def _objects(row: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = row.get(key)
    if not isinstance(found, list):
        raise DataError(f"{key} is {short_repr(found)}, want a list" if key in row else f"no {key}")
    return [object_of(value) for value in found]

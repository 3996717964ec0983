"""Rows of every kind as other people write them: mostly sound, so that readers go deep, some of them strange."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.data.names import ALIASES

from .inputs import Maker

LABELS = ("POS", "NEG", "NORM", "正面", "负向", "neutral", "1", "-1", "0", 1, -1, 0, 2, 1.0, "冲突", "1e3", True, "")
TYPES = ("PER", "LOC", "公司", "B-X", "O", "", "ORG_1")
TAGS = ("O", "O", "B-PER", "I-PER", "E-PER", "S-LOC", "M-LOC", "I-LOC", "B_PER", "PER-B", "b-PER", "NR", "B", "I")
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 1.5, 2**63, -(10**18), "", " ", "\x00", "\ufeff", "\ud800", "nan", "Infinity"),
    *([], {}, [[]], [None], [[0, 1]], [[0, 1, "X"]], [{}], {"": ""}, {"text": []}, [{"from": -1, "to": 10**9}]),
    *([{"start": 1, "end": 0, "labels": ["X"]}], [["青禾", {"entities": [[5, 2, 3]]}]], "[]", '[{"a":', "1" * 400),
)
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Shape:
    """A kind of rows.

    Args:
        make: gives one row.
        keys: of ours that other people call otherwise.
        fits_tables: what its keys hold fits into cells.
    """

    make: Callable[[Maker], Any]
    keys: tuple[str, ...] = ()
    fits_tables: bool = False


def article(maker: Maker) -> Values:
    """Return an article with entities of its own text."""
    rng, words = maker.rng, _words(maker)
    labels = [{"entity": rng.choice(words), "emotion": rng.choice(LABELS[:3])} for _ in range(rng.randint(0, 4))]
    news_id = rng.choice([str(rng.randrange(10**9)), rng.randrange(10**9)])
    row = {"newsId": news_id, "title": maker.text(4), "content": "".join(words), "coreEntityEmotions": labels}
    return {**row, "truncated": True} if rng.random() < 0.05 else row


def target(maker: Maker) -> Values:
    """Return a text with one target or several, with and without places."""
    rng, words = maker.rng, _words(maker)
    text, polarity = "".join(words), rng.choice(LABELS[:6] if rng.random() < 0.9995 else LABELS)
    kind = rng.random()
    if kind < 0.1:
        named = [{"target": word, "polarity": rng.choice(LABELS[:6])} for word in words[:2]]
        return {"text": text, "targets": named}
    at = rng.randrange(len(words))
    row = {"text": text, "target": words[at], "polarity": polarity}
    if kind < 0.5:
        start = sum(map(len, words[:at]))
        row |= {"from": start, "to": start + len(words[at])}
    elif kind < 0.6:
        row |= {"occurrence": 1}
    return row


def category(maker: Maker) -> Values:
    """Return a text with a name that need not be in it."""
    rng = maker.rng
    return {"text": "".join(_words(maker)), "category": rng.choice(TYPES), "polarity": rng.choice(LABELS[:6])}


def document(maker: Maker) -> Values:
    """Return a text with a label."""
    return {"text": "".join(_words(maker)), "label": maker.rng.choice(LABELS[:10])}


def pair(maker: Maker) -> Values:
    """Return two texts with a label."""
    left, right = maker.rng.choice([("text_a", "text_b"), ("sentence1", "sentence2"), ("query", "title")])
    return {left: maker.text(4), right: maker.text(4), "label": maker.rng.choice([0, 1, "1", 0.5, "4.5"])}


def entities(maker: Maker) -> Values:
    """Return a text with spans, as one of our own rows."""
    text, spans = _marked(maker)
    return {"text": text, "entities": [{"from": i, "to": j, "type": t, "entity": text[i:j]} for i, j, t in spans]}


def tokens(maker: Maker) -> Values:
    """Return tokens with a tag each, most of them BIO."""
    words = _words(maker)
    return {"tokens": words, "tags": tags(maker, len(words))}


def tags(maker: Maker, length: int) -> list[str]:
    """Return tags: spans of BIO, rarely anything."""
    rng, found = maker.rng, ["O"]
    if rng.random() < 0.0005:
        return [rng.choice(TAGS) for _ in range(length)]
    for _ in range(length):
        follows = [found[-1].replace("B-", "I-")] if found[-1] != "O" else []
        found.append(rng.choice(["O", "B-PER", "B-LOC", *follows]))
    return found[1:]


def doccano(maker: Maker) -> Values:
    """Return a row of doccano."""
    text, spans = _marked(maker)
    if maker.rng.random() < 0.7:
        return {"id": 1, "text": text, "label": [list(span) for span in spans]}
    offsets = [{"start_offset": i, "end_offset": j, "label": t} for i, j, t in spans]
    return {"text": text, "entities": offsets, "relations": []}


def cluener(maker: Maker) -> Values:
    """Return a row of CLUENER."""
    text, spans = _marked(maker)
    return {"text": text, "label": {kind: {text[i:j]: [[i, j - 1]]} for i, j, kind in spans}}


def label_studio(maker: Maker) -> Values:
    """Return a task of Label Studio."""
    text, spans = _marked(maker)
    values = [{"start": i, "end": j, "text": text[i:j], "labels": [t]} for i, j, t in spans]
    if maker.rng.random() < 0.5:
        return {"id": 1, "text": text, "label": values}
    return {"data": {"text": text}, "annotations": [{"result": [{"type": "labels", "value": one} for one in values]}]}


def spacy(maker: Maker) -> Any:
    """Return a row of spaCy's."""
    text, spans = _marked(maker)
    places = [{"start": i, "end": j, "label": t} for i, j, t in spans]
    triples = [list(span) for span in spans]
    return maker.rng.choice([[text, {"entities": triples}], {"text": text, "ents": places}])


def region_table(maker: Maker) -> Values:
    """Return a row of a table whose label is a list of regions."""
    text, spans = _marked(maker)
    regions = [{"start": i, "end": j, "text": text[i:j], "labels": [t]} for i, j, t in spans]
    return {"text": text, "label": regions}


SHAPES = {
    "articles": Shape(article, ("newsId", "title", "content"), fits_tables=True),
    "targets": Shape(target, ("text", "target", "polarity", "from", "to"), fits_tables=True),
    "categories": Shape(category, ("text", "polarity"), fits_tables=True),
    "documents": Shape(document, ("text", "label"), fits_tables=True),
    "pairs": Shape(pair, fits_tables=True),
    "entities": Shape(entities),
    "tokens": Shape(tokens),
    "doccano": Shape(doccano),
    "cluener": Shape(cluener),
    "labelstudio": Shape(label_studio),
    "spacy": Shape(spacy),
    "table": Shape(region_table, fits_tables=True),
}


def strange(maker: Maker, value: Any) -> Any:
    """Return a row of which one value, at any depth, is something else, is not there, or has another name."""
    rng = maker.rng
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], strange(maker, value[at]), *value[at + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        rest = {name: found for name, found in value.items() if name != key}
        kind = rng.random()
        if kind < 0.1:
            return rest
        if kind < 0.2:
            return {**rest, maker.text(2): value[key]}
        return {**value, key: strange(maker, value[key])}
    return rng.choice([rng.choice(STRANGE), maker.text(3)])


def renamed(maker: Maker, rows: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Return rows under other usual names, the same for all of them."""
    names = {key: maker.rng.choice(ALIASES[key]) for key in keys}
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


def as_text(maker: Maker, rows: Sequence[Any], layout: str) -> str:
    """Lay rows out as JSON lines, one array, or a table."""
    as_ascii = maker.rng.random() < 0.3
    if layout in ("csv", "tsv", "semicolons"):
        return _table(maker, rows, {"csv": ",", "tsv": "\t", "semicolons": ";"}[layout])
    if layout == "array":
        return json.dumps(rows, ensure_ascii=as_ascii)
    if layout == "pretty":
        return json.dumps(rows, ensure_ascii=as_ascii, indent=1)
    return "".join(f"{json.dumps(row, ensure_ascii=as_ascii)}\n" for row in rows)


def _table(maker: Maker, rows: Sequence[Any], delimiter: str) -> str:
    found = [row if isinstance(row, dict) else {"text": row} for row in rows]
    columns = list(dict.fromkeys(key for row in found for key in row))
    file = io.StringIO(newline="")
    table = csv.writer(file, delimiter=delimiter, lineterminator=maker.rng.choice(["\n", "\r\n"]))
    table.writerow(columns)
    for row in found:
        values = (row.get(column, "") for column in columns)
        table.writerow([json.dumps(one) if isinstance(one, list | dict) else one for one in values])
    return file.getvalue()


def _words(maker: Maker) -> list[str]:
    """Return words of which none is blank."""
    return [maker.text(2).strip() or "青禾" for _ in range(maker.rng.randint(1, 6))]


def _marked(maker: Maker) -> tuple[str, list[tuple[int, int, str]]]:
    """Return a text and some spans of it, without overlap."""
    words, at, spans = _words(maker), 0, []
    for word in words:
        if maker.rng.random() < 0.4:
            spans.append((at, at + len(word), maker.rng.choice(TYPES[:3])))
        at += len(word)
    return "".join(words), spans

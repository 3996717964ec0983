"""Article data as script files that the page loads when it needs them: a page opened from disk may not fetch.

``index-*.js`` hold one short row per article, for list, filters and search; ``articles-*.js`` hold the articles.
Each file is one call, so that nothing but JSON is ever read from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.artifacts import write_errors
from pipeline.report.html.markup import script_json
from pipeline.report.html.plots import EMOTIONS
from pipeline.report.html.texts import REASONS

ARTICLES_A_FILE = 50
ROWS_A_FILE = 4000
FLAGS = (*REASONS, "wrong_emotion", "spurious")
"""Bits of a row's flags; no bit means that everything is right."""


def write_data(folder: Path, views: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Write the article files into a folder, reading the views once and holding few of them.

    Returns:
        What the page needs to read them: counts, the checksum of all, and the slices that rows name by number.
    """
    slices: dict[tuple[str, str], int] = {}
    rows: list[list[Any]] = []
    checksum = hashlib.sha256()
    for number, views_of_file in enumerate(_batched(views, ARTICLES_A_FILE)):
        for view in views_of_file:
            rows.append(index_row(view, slices))
        content = _call("articles", number, views_of_file)
        checksum.update(content)
        _write(folder / f"articles-{number}.js", content)
    stamp = checksum.hexdigest()[:16]
    for number, rows_of_file in enumerate(_batched(rows, ROWS_A_FILE)):
        _write(folder / f"index-{number}.js", _call("index", number, {"stamp": stamp, "rows": rows_of_file}))
    return {
        "n_articles": len(rows),
        "articles_a_file": ARTICLES_A_FILE,
        "rows_a_file": ROWS_A_FILE,
        "stamp": stamp,
        "flags": list(FLAGS),
        "slices": [list(pair) for pair in slices],
    }


def index_row(view: Mapping[str, Any], slices: dict[tuple[str, str], int]) -> list[Any]:
    """Return [id, title, flags, emotions, slice numbers, score in percent, entities] of an article.

    Emotions are bits: gold POS, NORM, NEG, then predicted POS, NORM, NEG.

    Args:
        view: an article.
        slices: (slice, value) -> number; new ones are added.
    """
    flags = emotions = 0
    for entity in view["gold"]:
        emotions |= 1 << EMOTIONS.index(entity["emotion"])
        if entity["reason"] is not None:
            flags |= 1 << FLAGS.index(entity["reason"])
        elif entity["is_right_emotion"] is False:
            flags |= 1 << FLAGS.index("wrong_emotion")
    for entity in view["pred"]:
        emotions |= 8 << EMOTIONS.index(entity["emotion"])
        if not entity["is_gold"]:
            flags |= 1 << FLAGS.index("spurious")
    pairs = [(name, str(one)) for name, value in view["slices"].items() for one in _values(value)]
    numbers = [slices.setdefault(pair, len(slices)) for pair in pairs]
    names = dict.fromkeys(entity["entity"] for entity in (*view["gold"], *view["pred"]))
    score = round(50 * (view["entity_f1"] + view["emotion_f1"]), 1)
    return [view["id"], view["title"], flags, emotions, numbers, score, "\n".join(names)]


def rounded(value: Any) -> Any:
    """Return JSON data with its fractions at four digits: more is not seen on a page."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def _values(value: Any) -> list[Any]:
    """Return the values of a slice; an article can be in several, as with the emotions of its entities."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _call(kind: str, number: int, value: Any) -> bytes:
    return f'reportData("{kind}",{number},{script_json(rounded(value))});\n'.encode()


def _write(path: Path, content: bytes) -> None:
    with write_errors(path):
        path.write_bytes(content)

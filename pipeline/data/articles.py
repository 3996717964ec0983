"""A decoded row to an article, strict about what is wrong with it; what can be mended is, and counted."""

from __future__ import annotations

import re
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.files.json_lines import parse_json
from pipeline.data.names import ARTICLE_COLUMNS, CONTENT, NEWS_ID, TITLE, alias_in, columns_hint
from pipeline.data.read_report import Finding, ReadReport
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, MAX_ENTITIES, Article, Emotion, Entity, news_id_fault
from pipeline.text import match_key, normalise

_LABELS, _TRUNCATED = "coreEntityEmotions", "truncated"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_article(row: object, *, labelled: bool | None = None, report: ReadReport | None = None) -> Article:
    """Check a decoded row and clean its gold entities: trimmed, none empty, none twice.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    report = ReadReport() if report is None else report
    if not isinstance(row, dict):
        raise DataError(f"not a JSON object but {short_repr(row)}")
    _check_columns(row)
    news_id = _news_id(row)
    title, content = _text(row, TITLE), _text(row, CONTENT)
    entities = None
    if labelled is not False and row.get(_LABELS) not in (None, ""):
        entities = _entities(row[_LABELS], news_id, report)
    elif labelled:
        raise DataError(f"no {_LABELS}: labels are needed here")
    title, content = _mend(title, news_id, report), _mend(content, news_id, report)
    truncated = row.get(_TRUNCATED)
    return Article(news_id, title, content, entities, truncated=truncated is True or truncated == "true")


def align_gold(article: Article) -> tuple[list[str], list[str]]:
    """Split the gold entities into those that occur in the text, as written or once normalised, and the others."""
    aligned: list[str] = []
    unaligned: list[str] = []
    normalised: list[str] | None = None
    for entity in article.entities or ():
        found = entity.name in article.title or entity.name in article.content
        if not found and (key := match_key(entity.name)):
            normalised = normalised or [normalise(article.title).text, normalise(article.content).text]
            found = any(key in text for text in normalised)
        (aligned if found else unaligned).append(entity.name)
    return aligned, unaligned


def _check_columns(row: dict[str, Any]) -> None:
    """Refuse a row whose text stands under a name that is not ours: it would be read as an empty one.

    A row may lack its title or its content. But without content no other key may hold text, and without a title none
    of the usual names of one may be there.
    """
    missing = [name for name in ARTICLE_COLUMNS if row.get(name) is None]
    if not missing:
        return
    known = (*ARTICLE_COLUMNS, _LABELS, _TRUNCATED)
    unread = [key for key, value in row.items() if key not in known and isinstance(value, str) and value.strip()]
    lost = [name for name in missing if name not in row and alias_in(unread, name)]
    if CONTENT not in row and unread and TITLE in row:
        lost = [*lost, *({CONTENT} - set(lost))]
    about = f" (have: {', '.join(map(str, row)) or 'none'}; want: {', '.join(ARTICLE_COLUMNS)})"
    hint = columns_hint(list(row), [name for name in ARTICLE_COLUMNS if name in lost]) if lost else None
    if NEWS_ID in missing:
        raise DataError(f"no {NEWS_ID}{about}", hint=hint)
    if TITLE not in row and CONTENT not in row:
        raise DataError(f"neither {TITLE} nor {CONTENT}{about}", hint=hint)
    if lost:
        nothing = f" (or {lost[0]}= where there is none)"
        raise DataError(f"no {' and no '.join(lost)}{about}", hint=f"{hint}{nothing}")


def _news_id(row: dict[str, Any]) -> str:
    value = row[NEWS_ID]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise DataError(f"newsId {short_repr(value)} is neither text nor a whole number")
    if fault := news_id_fault(value):
        raise DataError(f"newsId {short_repr(value)} {fault}" if value.strip() else f"newsId {fault}")
    return value


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{key} is not text but {short_repr(value)}")
    return value


def _mend(text: str, news_id: str, report: ReadReport) -> str:
    """Replace lone surrogates, which no file can hold, keeping the length."""
    mended, n_replaced = _LONE_SURROGATE.subn("\ufffd", text)
    if n_replaced:
        report.note(Finding.LONE_SURROGATE, news_id)
    return mended


def _entities(labels: object, news_id: str, report: ReadReport) -> tuple[Entity, ...]:
    labels = _decoded(labels)
    if not isinstance(labels, list):
        raise DataError(f"{_LABELS} is not a list but {short_repr(labels)}")
    parsed = [_entity(entry, number, report) for number, entry in enumerate(labels, 1)]
    kept: dict[str, Entity] = {}
    for raw_name, emotion in parsed:
        if emotion is None:
            continue
        name = _mend(raw_name, news_id, report).strip()
        if not name:
            report.note(Finding.EMPTY_ENTITY, news_id)
        elif name in kept:
            report.note(Finding.REPEATED_ENTITY, f"{name} in {news_id}")
        else:
            kept[name] = Entity(name, emotion)
    if len(kept) > MAX_ENTITIES:
        report.note(Finding.MANY_ENTITIES, news_id)
    return tuple(kept.values())


def _decoded(labels: object) -> object:
    """Return the list that the cell of a table holds as JSON; anything else as it is."""
    if not isinstance(labels, str):
        return labels
    try:
        return parse_json(labels)
    except DataError:
        return labels


def _entity(entry: object, number: int, report: ReadReport) -> tuple[str, Emotion | None]:
    """Return a name and its emotion; None where the user said to leave it out."""
    if not isinstance(entry, dict):
        raise DataError(f"entry {number} of {_LABELS} is not an object but {short_repr(entry)}")
    name, emotion = entry.get("entity"), entry.get("emotion")
    if not isinstance(name, str):
        raise DataError(f"entry {number} of {_LABELS} has no entity")
    if emotion is None:
        raise DataError(f"entry {number} of {_LABELS} has no emotion")
    try:
        return name, report.labels.read(emotion)
    except DataError as error:
        raise DataError(
            f"emotion {short_repr(emotion)} is not one of {', '.join(EMOTIONS)}", hint=error.hint
        ) from error

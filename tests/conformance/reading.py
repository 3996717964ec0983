"""Kinds parse and align: files to articles, gold entities to the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.data.read import BadRow, BadRowPolicy, ReadReport, align_gold, iter_articles, iter_rows, parse_article
from pipeline.errors import DataError
from pipeline.schema import Article

from .framework import (
    Adapter,
    CaseError,
    Check,
    Given,
    Tools,
    article_of,
    equals,
    file_of,
    mentions_all,
    mentions_none,
)

MODES = {None: None, "any": None, "train": True, "training": True, "test": False, "predict": False}


@dataclass
class Parsed:
    """What reading a file gave, row by row and as a command reads it."""

    articles: list[Article] = field(default_factory=list)
    bad_rows: list[BadRow] = field(default_factory=list)
    report: ReadReport = field(default_factory=ReadReport)
    message: str | None = None
    """What a command that stops at errors would say; the folder is left out."""
    exit_code: int = 0

    @property
    def error_lines(self) -> list[int]:
        """Lines of the malformed rows."""
        return [row.line for row in self.bad_rows]


def parse(given: Given, tools: Tools) -> Parsed:
    """Read a file leniently, counting bad rows, and once more as a command does."""
    mode = given.get("mode")
    if mode not in MODES:
        raise CaseError(f"mode {mode!r} is not understood")
    labelled = given.get("labelled", MODES[mode])
    path = file_of(given, tools.tmp_path, name="rows.jsonl", lists=("lines", "rows", "articles"))
    policy = BadRowPolicy.SKIP if given.first("skip_bad_rows", default=False) else BadRowPolicy.STOP
    parsed = Parsed()
    try:
        for row in iter_rows(path, labelled=labelled, report=parsed.report):
            (parsed.bad_rows if isinstance(row, BadRow) else parsed.articles).append(row)
        list(iter_articles(path, labelled=labelled, policy=policy))
    except DataError as error:
        parsed.message = str(error).replace(f"{path.parent}/", "")
        parsed.exit_code = error.exit_code
    return parsed


def _stops_at(parsed: Parsed, line: Any) -> None:
    assert parsed.error_lines[:1] == [line]
    assert f":{line}: " in (parsed.message or "")


def _same_entities(parsed: Parsed, wanted: Any) -> None:
    """Compare gold entities by article: names, [name, emotion] pairs, or rows as in the file."""
    found: list[Any] = []
    given = list(wanted.values()) if isinstance(wanted, Mapping) else wanted
    for article, entities in zip(parsed.articles, given, strict=True):
        forms = {type(entity) for entity in entities or []}
        if entities is None or article.entities is None:
            found.append(None if article.entities is None else [entity.name for entity in article.entities])
        elif forms <= {str}:
            found.append([entity.name for entity in article.entities])
        elif forms <= {list}:
            found.append([[entity.name, entity.emotion.value] for entity in article.entities])
        else:
            found.append([{"entity": entity.name, "emotion": entity.emotion.value} for entity in article.entities])
    assert found == given
    if isinstance(wanted, Mapping):
        assert [article.news_id for article in parsed.articles] == list(wanted)


def _report_count(key: str, values: Mapping[str, Any]) -> Check | None:
    return equals(lambda parsed: parsed.report.to_dict()[key]) if key in ReadReport().to_dict() else None


PARSE = Adapter(
    parse,
    {
        **dict.fromkeys(("records", "n_records"), equals(lambda parsed: len(parsed.articles))),
        **dict.fromkeys(("newsIds", "ids"), equals(lambda parsed: [article.news_id for article in parsed.articles])),
        **dict.fromkeys(("errors", "bad_rows", "n_errors"), equals(lambda parsed: len(parsed.bad_rows))),
        "titles": equals(lambda parsed: [article.title for article in parsed.articles]),
        "contents": equals(lambda parsed: [article.content for article in parsed.articles]),
        "title_lengths": equals(lambda parsed: [len(article.title) for article in parsed.articles]),
        "content_lengths": equals(lambda parsed: [len(article.content) for article in parsed.articles]),
        "truncated": equals(lambda parsed: [article.truncated for article in parsed.articles]),
        "labelled": equals(lambda parsed: [article.entities is not None for article in parsed.articles]),
        **dict.fromkeys(("entities", "labels", "coreEntityEmotions"), _same_entities),
        "error_line": _stops_at,
        "error_lines": equals(lambda parsed: parsed.error_lines),
        **dict.fromkeys(("message_mentions", "error_mentions"), mentions_all(lambda parsed: parsed.message)),
        "message_must_not_mention": mentions_none(lambda parsed: parsed.message),
        "exit_code": equals(lambda parsed: parsed.exit_code),
        **dict.fromkeys(("raises", "error", "stops"), equals(lambda parsed: parsed.message is not None)),
        "warnings": lambda parsed, wanted: [_report_count(key, {})(parsed, n) for key, n in wanted.items()],
    },
    _report_count,
)


# --- align


def align(given: Given, tools: Tools) -> tuple[list[str], list[str]]:
    """Split the gold entities of the articles into those that occur and those that do not."""
    articles = [parse_article(row) for row in given["articles"]] if "articles" in given else [article_of(given)]
    pairs = [align_gold(article) for article in articles]
    return [name for pair in pairs for name in pair[0]], [name for pair in pairs for name in pair[1]]


def _recall_ceiling(found: tuple[list[str], list[str]]) -> float:
    return round(len(found[0]) / len(found[0] + found[1]), 6)


ALIGN = Adapter(
    align,
    {
        "aligned": equals(lambda found: found[0]),
        "unaligned": equals(lambda found: found[1]),
        **dict.fromkeys(("n_aligned", "aligned_count"), equals(lambda found: len(found[0]))),
        **dict.fromkeys(("n_unaligned", "unaligned_count"), equals(lambda found: len(found[1]))),
        "recall_ceiling": equals(_recall_ceiling),
    },
)

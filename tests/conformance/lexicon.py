"""Kind lexicon: a list of names read from a file, and what it finds in a text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import DataError
from pipeline.schema import Mention
from pipeline.text import Document, match_key
from pipeline.text.dictionary import Matcher, read_dictionary

from .framework import (
    Adapter,
    Given,
    Tools,
    article_of,
    equals,
    file_of,
    mentions_all,
    mentions_none,
    same_items,
)

LISTS = ("lines", "entries", "names", "words", "lexicon", "dictionary")
BOUNDS = ("min_chars", "max_chars")


@dataclass
class Found:
    """What a dictionary holds, and what it matches."""

    keys: list[str] = field(default_factory=list)
    message: str | None = None
    exit_code: int = 0
    document: Document | None = None
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def mentions(self) -> list[Mention]:
        """The matches in the untouched fields, by position, the longer first."""
        spans = sorted(self.spans, key=lambda span: (span[0], -span[1]))
        return [self.document.mention(*span) for span in spans] if self.document else []

    @property
    def longest(self) -> list[Mention]:
        """The matches that lie inside no other."""
        outer = [
            (start, stop)
            for start, stop in self.spans
            if not any(a <= start and stop <= b and (a, b) != (start, stop) for a, b in self.spans)
        ]
        return [self.document.mention(*span) for span in sorted(outer)] if self.document else []

    @property
    def counts(self) -> Counter[str]:
        """Matches of each key."""
        return Counter(self.document.text[start:stop] for start, stop in self.spans) if self.document else Counter()


def lexicon(given: Given, tools: Tools) -> Found:
    """Read a dictionary file and match it in an article, where there is one."""
    path = file_of(given, tools.tmp_path, name="names.txt", lists=LISTS)
    found = Found()
    try:
        found.keys = read_dictionary(path, **{name: given[name] for name in BOUNDS if name in given})
    except DataError as error:
        found.message, found.exit_code = str(error).replace(f"{path.parent}/", ""), error.exit_code
    if any(key in given for key in ("article", "raw_line", "text", "content")):
        found.document = Document.of(article_of(given))
        found.spans = list(Matcher(found.keys).find(found.document.text))
    return found


def _entries(found: Found, wanted: Any) -> None:
    same_items(lambda found: found.keys)(found, wanted if isinstance(wanted, int) else set(map(match_key, wanted)))


def _includes(found: Found, wanted: Any) -> None:
    for name in wanted:
        assert match_key(name) in found.keys


def _excludes(found: Found, wanted: Any) -> None:
    for name in wanted:
        assert name not in found.keys
        assert match_key(name) not in found.keys


def _excludes_regex(found: Found, wanted: Any) -> None:
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        assert not [key for key in found.keys if re.search(pattern, key)], pattern


def _same_mentions(mentions: list[Mention], wanted: Any) -> None:
    """Compare matches given as a number, as names, as [start, end], or as objects."""
    if isinstance(wanted, int):
        assert len(mentions) == wanted
    elif all(isinstance(match, str) for match in wanted):
        found = [match_key(mention.surface) for mention in mentions]
        names = [match_key(name) for name in wanted]
        # Names that are all different say what is found, not how often.
        assert (set(found) if len(set(names)) == len(names) else sorted(found)) == (
            set(names) if len(set(names)) == len(names) else sorted(names)
        )
    elif all(isinstance(match, list) for match in wanted):
        assert [[mention.start, mention.end] for mention in mentions] == wanted
    else:
        for match in wanted:
            fields = {"field", "start", "end", "surface"} & set(match)
            assert fields, match
            assert {name: match[name] for name in fields} in [
                {name: getattr(mention, name) for name in fields} for mention in mentions
            ]
        assert len(mentions) == len(wanted)


def _counts(found: Found, wanted: Any) -> None:
    assert {name: found.counts[match_key(name)] for name in wanted} == wanted


def _spans(found: Found, wanted: Any) -> None:
    for name, spans in wanted.items():
        of_name = [mention for mention in found.mentions if match_key(mention.surface) == match_key(name)]
        assert [[mention.start, mention.end] for mention in of_name] == spans


LEXICON = Adapter(
    lexicon,
    {
        **dict.fromkeys(("entries", "keys", "names", "loaded", "n_entries", "size", "records", "count"), _entries),
        **dict.fromkeys(("must_include", "contains"), _includes),
        **dict.fromkeys(("must_not_include", "must_not_contain"), _excludes),
        "must_not_include_regex": _excludes_regex,
        **dict.fromkeys(("matches", "mentions", "hits"), lambda found, wanted: _same_mentions(found.mentions, wanted)),
        **dict.fromkeys(("longest", "longest_matches"), lambda found, wanted: _same_mentions(found.longest, wanted)),
        **dict.fromkeys(("counts", "merged_count"), _counts),
        "spans": _spans,
        "errors": equals(lambda found: int(found.message is not None)),
        **dict.fromkeys(("error", "raises"), equals(lambda found: found.message is not None)),
        "error_line": lambda found, wanted: mentions_all(lambda found: found.message)(found, f":{wanted}: "),
        **dict.fromkeys(("message_mentions", "error_mentions"), mentions_all(lambda found: found.message)),
        "message_must_not_mention": mentions_none(lambda found: found.message),
        "exit_code": equals(lambda found: found.exit_code),
        "surface_must_be_slice": equals(
            lambda found: all(
                found.document.article.field(mention.field)[mention.start : mention.end] == mention.surface
                for mention in found.mentions
            )
        ),
    },
)

"""What a case and an adapter are. A case that says something no adapter understands fails; nothing is ignored.

A case is ``{"id", "kind", "input", "expected"}``. An adapter runs the input through public functions of the pipeline
and has one check for each thing that can be expected of the result.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.data.read import parse_article
from pipeline.schema import Article, Emotion, Entity

if TYPE_CHECKING:
    from tests.support.command_line import Cli, TinyRun, TinyRuns

REMARKS = frozenset({"note", "notes", "comment", "source"})
"""Keys for people."""

Check = Callable[[Any, Any], None]
"""Gets the result and the expected value; asserts."""


class CaseError(Exception):
    """A case that cannot be run: an unknown kind, input or expectation."""


class Given(Mapping[str, Any]):
    """The input of a case; it knows which of its keys were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._read: set[str] = set(REMARKS)

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def first(self, *keys: str, default: Any = None) -> Any:
        """Return the value of the first of several names for one thing."""
        for key in keys:
            if key in self:
                return self[key]
        return default

    def refuse_unread(self) -> None:
        """Fail if a key was of no consequence."""
        unread = sorted(set(self._values) - self._read)
        if unread:
            raise CaseError(f"input {', '.join(unread)} is not understood")


@dataclass(frozen=True)
class Adapter:
    """How cases of one kind are run and checked."""

    run: Callable[[Given, Tools], Any]
    checks: Mapping[str, Check]
    """By expected key."""
    other_check: Callable[[str, Mapping[str, Any]], Check | None] = lambda key, values: None
    """Finds the check of a key that holds a name, such as an article's id; gets key and input."""

    def check_of(self, key: str, values: Mapping[str, Any]) -> Check:
        """Return the check of an expected key."""
        check = self.checks.get(key) or self.other_check(key, values)
        if check is None:
            raise CaseError(f"expected {key!r} is not understood (have: {', '.join(sorted(self.checks))})")
        return check


@dataclass(frozen=True)
class Tools:
    """What adapters may need beside the pipeline."""

    tmp_path: Path
    cli: Cli
    tiny_data: Path
    tiny_runs: TinyRuns
    trained: Callable[[], TinyRun] = field(repr=False)
    """Gives a run of preset tiny, trained at the first call."""


def run_case(case: Mapping[str, Any], tools: Tools, adapters: Mapping[str, Adapter]) -> None:
    """Run one case.

    Raises:
        CaseError: something in it is not understood.
        AssertionError: the result is not the expected one.
    """
    unknown = set(case) - {"id", "kind", "input", "expected"} - REMARKS
    if unknown:
        raise CaseError(f"{', '.join(sorted(unknown))}: a case has id, kind, input and expected")
    kind = case["kind"]
    if kind not in adapters:
        raise CaseError(f"no adapter for kind {kind!r} (have: {', '.join(sorted(adapters))})")
    expected = {key: value for key, value in case["expected"].items() if key not in REMARKS}
    if not expected:
        raise CaseError("nothing is expected")
    checks = {key: adapters[kind].check_of(key, case["input"]) for key in expected}
    given = Given(case["input"])
    result = adapters[kind].run(given, tools)
    given.refuse_unread()
    for key, check in checks.items():
        check(result, expected[key])


# --- inputs that several kinds share


def article_of(given: Given) -> Article:
    """Return the article of a case: ``article``, the JSON text ``raw_line``, or a bare title and content."""
    if "raw_line" in given:
        return parse_article(json.loads(given["raw_line"]))
    if "article" in given:
        return parse_article(given["article"])
    return parse_article({"newsId": "case", "title": given.get("title", ""), "content": given.first("content", "text")})


def file_of(given: Given, folder: Path, *, name: str, lists: tuple[str, ...] = ()) -> Path:
    """Write the file of a case: bytes, text, or (under one of the names ``lists``) lines or JSON rows."""
    path = folder / given.first("file_name", "filename", default=name)
    if (encoded := given.first("file_b64", "bytes_b64")) is not None:
        content = base64.b64decode(encoded)
    elif (text := given.first("file_text", "file")) is not None:
        content = text.encode("utf-8", "surrogatepass")
    elif (lines := given.first(*lists)) is not None:
        content = b"".join(f"{as_line(line)}\n".encode("utf-8", "surrogatepass") for line in lines)
    else:
        raise CaseError(f"no file in the input (want file_b64, file_text or {', '.join(lists)})")
    if given.first("gzip", "gz", default=False) or (path.suffix == ".gz" and content[:2] != b"\x1f\x8b"):
        content = gzip.compress(content)
    path.write_bytes(content)
    return path


def entities_of(pairs: Any) -> list[Entity]:
    """Read [name, emotion] pairs or objects; the emotion may be missing."""
    entities = []
    for pair in pairs:
        fields = [pair["entity"], pair.get("emotion", "POS")] if isinstance(pair, Mapping) else list(pair)
        entities.append(Entity(fields[0], Emotion(fields[1])))
    return entities


def as_line(row: Any) -> str:
    """Return a row as text: itself, or as JSON."""
    return row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)


# --- checks that several kinds share


def equals(part: Callable[[Any], Any]) -> Check:
    """Return a check: a part of the result equals the expected value."""

    def check(result: Any, wanted: Any) -> None:
        assert part(result) == wanted

    return check


def same_items(part: Callable[[Any], Any]) -> Check:
    """Return a check: a part of the result holds the expected items, in any order; a number means how many."""

    def check(result: Any, wanted: Any) -> None:
        found = list(part(result))
        if isinstance(wanted, int):
            assert len(found) == wanted
        else:
            assert sorted(map(str, found)) == sorted(map(str, wanted))

    return check


def mentions_all(part: Callable[[Any], str | None]) -> Check:
    """Return a check: a text of the result holds every expected string."""

    def check(result: Any, wanted: Any) -> None:
        text = part(result)
        assert text is not None, "there is no message"
        for piece in [wanted] if isinstance(wanted, str) else wanted:
            assert str(piece) in text

    return check


def mentions_none(part: Callable[[Any], str | None]) -> Check:
    """Return a check: a text of the result holds none of the strings."""

    def check(result: Any, wanted: Any) -> None:
        for piece in [wanted] if isinstance(wanted, str) else wanted:
            assert str(piece) not in (part(result) or "")

    return check


def at_least(part: Callable[[Any], Any]) -> Check:
    """Return a check: a part of the result is the expected value or more."""

    def check(result: Any, wanted: Any) -> None:
        assert part(result) >= wanted

    return check


def at_most(part: Callable[[Any], Any]) -> Check:
    """Return a check: a part of the result is the expected value or less."""

    def check(result: Any, wanted: Any) -> None:
        assert part(result) <= wanted

    return check

"""XML of SemEval-2014 task 4: sentences with aspect terms (or, without any, aspect categories) and polarities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from pipeline.data.formats.files.record import Lines, Record, faulty


def begins_xml(line: str) -> bool:
    """Tell it by its first element."""
    return line.lstrip().startswith(("<?xml", "<sentences"))


def read_semeval(lines: Lines) -> Iterator[Record]:
    """Yield ``{"text", "targets"}`` for each sentence with terms, ``{"text", "category", "polarity"}`` for categories.

    Categories count where no sentence before has had a term. After the first fault nothing more is read.
    """
    parser: XMLPullParser[Any] = XMLPullParser(("start", "end"))
    started: list[int] = []
    has_terms = False
    for line in lines:
        if line.fault:
            yield faulty(line)
            return
        if "<!DOCTYPE" in line.text or "<!ENTITY" in line.text:
            yield Record(line.number, fault="XML with declarations of its own, which are not read")
            return
        try:
            parser.feed(f"{line.text}\n")
            events: list[Any] = list(parser.read_events())
        except (ParseError, ValueError) as error:
            yield Record(line.number, fault=f"not XML: {error}")
            return
        for event, element in events:
            if element.tag != "sentence":
                continue
            if event == "start":
                started.append(line.number)
                continue
            number = started.pop() if started else line.number
            found = list(_sentence(number, element, has_terms))
            has_terms = has_terms or any("targets" in row.value for row in found if isinstance(row.value, dict))
            yield from found
            element.clear()
    try:
        parser.close()
    except ParseError as error:
        yield Record(line.number, fault=f"not XML: {error}")


def _sentence(number: int, sentence: Element, has_terms: bool) -> Iterator[Record]:
    text = sentence.findtext("text") or ""
    targets = [_term(term) for term in sentence.iter("aspectTerm")]
    if targets:
        yield Record(number, {"text": text, "targets": targets})
    elif not has_terms:
        for category in sentence.iter("aspectCategory"):
            name, polarity = category.get("category"), category.get("polarity")
            yield Record(number, {"text": text, "category": name, "polarity": polarity})


def _term(term: Element) -> dict[str, Any]:
    places = {key: _whole(term.get(key)) for key in ("from", "to")}
    return {"target": term.get("term"), **places, "polarity": term.get("polarity")}


def _whole(text: str | None) -> int | str | None:
    return int(text) if text and text.isdecimal() and len(text) < 10 else text

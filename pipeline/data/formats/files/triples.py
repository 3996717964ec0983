"""ABSA-PyTorch ``*.seg`` files: a text with ``$T$`` for its target, the target, its polarity; three lines a row."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.data.formats.files.record import Lines, Record, faulty
from pipeline.data.lines import TextLine

PLACE = "$T$"


def begins_triples(line: str) -> bool:
    """Tell it by the place of the target in the first line."""
    return PLACE in line and not line.lstrip().startswith(("{", "["))


def read_triples(lines: Lines) -> Iterator[Record]:
    """Yield ``{"text", "target", "from", "to", "polarity"}``; the polarity stays as written."""
    held: list[TextLine] = []
    for line in lines:
        if line.fault:
            yield faulty(line)
            return
        if not held and not line.text.strip():
            continue
        held.append(line)
        if len(held) == 3:
            yield _triple(held[0].number, *(each.text.strip() for each in held))
            held = []
    if held:
        yield Record(held[0].number, fault=f"{len(held)} of the three lines of a row: text, target, polarity")


def _triple(number: int, text: str, target: str, polarity: str) -> Record:
    before, place, after = text.partition(PLACE)
    if not place or PLACE in after:
        return Record(number, fault=f"the text has {text.count(PLACE)} times {PLACE}, want it once")
    if not target:
        return Record(number + 1, fault="the target is empty")
    start = len(before)
    return Record(
        number,
        {
            "text": f"{before}{target}{after}",
            "target": target,
            "from": start,
            "to": start + len(target),
            "polarity": polarity,
        },
    )

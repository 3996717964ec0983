"""ATEPC columns: a token, B-ASP, I-ASP or O, and a polarity on each line; a blank line after a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.data.formats.files.record import Lines, Record, faulty

BEGIN, INSIDE, OUTSIDE = "B-ASP", "I-ASP", "O"
NO_POLARITY = frozenset({"-100", "-999"})
"""Of tokens outside the aspect that a copy of the sentence is about."""


def begins_columns(line: str) -> bool:
    """Tell it by three columns, the second of which is a tag of aspects."""
    cells = line.split()
    return len(cells) == 3 and cells[1] in (BEGIN, INSIDE, OUTSIDE) and not line.lstrip().startswith(("{", "["))


def read_columns(lines: Lines) -> Iterator[Record]:
    """Yield ``{"text", "targets": [{"target", "from", "to", "polarity"}]}`` for each sentence with an aspect.

    Tokens are joined without a blank, but for words of ASCII characters side by side.
    """
    held: list[tuple[str, str, str]] = []
    first = 0
    for line in lines:
        cells = line.text.split()
        if line.fault or (cells and (len(cells) != 3 or cells[1] not in (BEGIN, INSIDE, OUTSIDE))):
            yield (
                faulty(line)
                if line.fault
                else Record(line.number, fault=f"want a token, {BEGIN}, {INSIDE} or {OUTSIDE}, and a polarity")
            )
            return
        if cells:
            first = first or line.number
            held.append((cells[0], cells[1], cells[2]))
        elif held:
            yield from _sentence(first, held)
            held, first = [], 0
    if held:
        yield from _sentence(first, held)


def _sentence(number: int, rows: Sequence[tuple[str, str, str]]) -> Iterator[Record]:
    text, places = _joined([token for token, _, _ in rows])
    targets = []
    for index, (_, tag, polarity) in enumerate(rows):
        if tag == BEGIN and polarity not in NO_POLARITY:
            last = index
            while last + 1 < len(rows) and rows[last + 1][1] == INSIDE:
                last += 1
            start, stop = places[index][0], places[last][1]
            targets.append({"target": text[start:stop], "from": start, "to": stop, "polarity": polarity})
    if targets:
        yield Record(number, {"text": text, "targets": targets})


def _joined(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    text, places = "", []
    for token in tokens:
        if text and text[-1].isascii() and token[0].isascii():
            text += " "
        places.append((len(text), len(text) + len(token)))
        text += token
    return text, places

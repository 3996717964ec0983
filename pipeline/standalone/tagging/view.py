"""A row for human eyes: its text, what gold marks in it and what was found, one below the other.

    text  李雷加入云杉汽车
    gold  李雷＊＊云杉汽车
    pred  李雷＊＊云杉＊＊
    right  person 李雷
    missed company 云杉汽车
    wrong  company 云杉

Characters outside of spans become stars of their own width, so that the lines align in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from pipeline.text.spans import Span
from pipeline.text.terminal import columns, shown, visible

STARS = ("", "*", "＊")
"""By width."""
COLOURS = ("32", "33", "34", "35", "36", "92", "93", "94", "95", "96")
"""Foregrounds of ANSI terminals, but for red and greys."""
DIFFERENT = ";4"
"""Underlines what only one of gold and prediction has."""
PLAIN = "1"
"""Bold: a type without colour."""
RESET = "\x1b[0m"
MARGIN = 6
MIN_WIDTH = 20
"""Columns, of which the names of the lines take the first ``MARGIN``."""


def type_colours(labels: Sequence[str]) -> dict[str, str]:
    """Give each type a colour; with more than ten types some share one."""
    return {label: COLOURS[index % len(COLOURS)] for index, label in enumerate(sorted(labels))}


def format_row(
    text: str,
    gold: Sequence[Span],
    pred: Sequence[Span],
    *,
    colours: Mapping[str, str] | None = None,
    width: int | None = None,
) -> str:
    """Lay a row out as in the module's example, without the last line break.

    Args:
        text: the row's.
        gold: spans of characters.
        pred: likewise.
        colours: of the types, as from ``type_colours``; None writes no ANSI codes.
        width: columns of the terminal, at which long rows are folded; None folds nothing.
    """
    hits = set(gold) & set(pred)
    marked, found = (_styles(spans, hits, colours, len(text)) for spans in (gold, pred))
    lines = []
    for start, stop in _folds(text, max(MIN_WIDTH, width) - MARGIN if width else None):
        piece = text[start:stop]
        lines.append(f"{'text':<{MARGIN}}{shown(piece)}")
        for name, styles in (("gold", marked), ("pred", found)):
            lines.append(f"{name:<{MARGIN}}{_masked(piece, styles[start:stop], colored=colours is not None)}")
    for name, chosen in (
        ("right ", sorted(hits)),
        ("missed", [span for span in gold if span not in hits]),
        ("wrong ", [span for span in pred if span not in hits]),
    ):
        if chosen:
            lines.append(f"{name} {', '.join(_named(text, span, colours) for span in chosen)}")
    return "\n".join(lines)


def _masked(text: str, styles: Sequence[str | None], *, colored: bool) -> str:
    """Return the characters that have a style, and stars for the others."""
    cells = (
        (style, visible(char) if style else STARS[columns(visible(char))])
        for char, style in zip(text, styles, strict=True)
    )
    runs = ((style, "".join(cell for _, cell in run)) for style, run in groupby(cells, key=itemgetter(0)))
    return "".join(_painted(run, style) if colored and style else run for style, run in runs)


def _styles(spans: Sequence[Span], hits: set[Span], colours: Mapping[str, str] | None, length: int) -> list[str | None]:
    """Return the ANSI style of each character, None outside of spans; of overlapping spans the last one counts."""
    styles: list[str | None] = [None] * length
    for span in spans:
        style = (colours or {}).get(span.label, PLAIN) + ("" if span in hits else DIFFERENT)
        styles[span.start : span.stop] = [style] * (span.stop - span.start)
    return styles


def _named(text: str, span: Span, colours: Mapping[str, str] | None) -> str:
    name = shown(text[span.start : span.stop])
    return shown(f"{span.label} ").lstrip() + (_painted(name, colours.get(span.label, PLAIN)) if colours else name)


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}{RESET}"


def _folds(text: str, width: int | None) -> Iterator[tuple[int, int]]:
    """Cut a text into pieces of at most so many columns; at least one piece."""
    start = used = 0
    for index, char in enumerate(text):
        size = columns(visible(char))
        if width is not None and used + size > width:
            yield start, index
            start, used = index, 0
        used += size
    yield start, len(text)

"""Attention for human eyes: a text whose characters are the darker the more weight a head gave them.

One view for a terminal, one as an SVG image. Shades are relative to the greatest weight of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from pipeline.text.terminal import columns, visible

SHADES = ("", "48;5;230", "48;5;229", "48;5;228", "48;5;221", "48;5;215", "48;5;208", "48;5;202")
"""ANSI backgrounds from no weight to the greatest, of the 256-colour palette."""
DARK_TEXT, UNDERLINED, RESET = "38;5;16", "4", "\x1b[0m"
N_DIGITS = 9

FONT_SIZE, LINE_HEIGHT, MARGIN = 16, 26, 16
"""Pixels."""
IMAGE_COLUMNS = 80
"""Of half a Chinese character each."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = (
    "text{font:16px ui-monospace,'Noto Sans Mono CJK SC','Noto Sans CJK SC','Microsoft YaHei',monospace;fill:#1f2328}"
    ".paper{fill:#fff}.weight{fill:#f97316}.target{stroke:#1f2328;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.target{stroke:#e6edf3}}"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A character that is shown."""

    char: str
    shade: float
    """Weight as a share of the greatest, 0 to 1."""
    weight: float
    in_target: bool
    width: int
    """Columns; 0 for a mark on the character before it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of several texts in a picture."""

    text: str
    weights: Sequence[float]
    target: tuple[int, int]
    title: str


def attention_text(
    text: str,
    weights: Sequence[float],
    *,
    target: tuple[int, int] = (0, 0),
    colored: bool = True,
    width: int | None = None,
) -> str:
    """Lay a text out for a terminal, without the last line break.

    In colour the background of a character shows its weight, and the target is underlined. Without, a line below the
    text has digits from 1 to 9, and ``^`` under the target's characters without weight.

    Args:
        text: as the head read it.
        weights: of each character, not negative.
        target: half-open, in characters.
        colored: write ANSI codes.
        width: columns at which lines are folded; None folds nothing.

    Raises:
        ValueError: there are not as many weights as characters.
    """
    lines = _lines(_cells(text, weights, target), width)
    if colored:
        return "\n".join("".join(_painted(style, run) for style, run in groupby(line, key=_style)) for line in lines)
    return "\n".join(f"{_plain(line)}\n{_digits(line)}".rstrip() for line in lines)


def attention_svg(text: str, weights: Sequence[float], *, target: tuple[int, int] = (0, 0), title: str = "") -> str:
    """Draw a text as a self-contained SVG image that follows the light or dark mode of its reader.

    Args:
        text: as the head read it.
        weights: of each character, not negative.
        target: half-open, in characters; it is underlined.
        title: names the image, for who cannot see it and as a tooltip.

    Raises:
        ValueError: there are not as many weights as characters.
    """
    lines = _lines(_cells(text, weights, target), IMAGE_COLUMNS)
    width, height = 2 * MARGIN + IMAGE_COLUMNS * FONT_SIZE // 2, 2 * MARGIN + LINE_HEIGHT * len(lines)
    return _image(width, height, title, list(_drawn(lines)))


def attention_sheet(parts: Sequence[Part], *, title: str = "") -> str:
    """Draw several texts one below the other as one SVG image, each under its title; see ``attention_svg``.

    Raises:
        ValueError: there are not as many weights as characters.
    """
    width = 2 * MARGIN + IMAGE_COLUMNS * FONT_SIZE // 2
    drawn, top = [], 0
    for part in parts:
        captions = _lines(_cells(part.title, [0.0] * len(part.title), (0, 0)), IMAGE_COLUMNS)
        lines = _lines(_cells(part.text, part.weights, part.target), IMAGE_COLUMNS)
        height = 2 * MARGIN + LINE_HEIGHT * (len(captions) + len(lines))
        body = "\n".join(_drawn([*captions, *lines]))
        drawn.append(f'<g transform="translate(0 {top})" role="img" aria-label="{_xml(part.title)}">\n{body}\n</g>')
        top += height
    return _image(width, top, title, drawn)


def _image(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """Wrap what was drawn on a sheet of paper."""
    name = _xml(title or "Attention over a text")
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{name}">',
        f"<title>{name}</title><style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _drawn(lines: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for number, line in enumerate(lines):
        top = MARGIN + number * LINE_HEIGHT
        yield from _boxes(line, top)
        yield f'<text y="{top + FONT_SIZE + 3}" xml:space="preserve">{"".join(_spans(line))}</text>'


def _cells(text: str, weights: Sequence[float], target: tuple[int, int]) -> list[Cell]:
    if len(weights) != len(text):
        raise ValueError(f"{len(text)} characters but {len(weights)} weights")
    greatest = max(weights, default=0.0)
    cells = []
    for index, (raw, weight) in enumerate(zip(text, weights, strict=True)):
        shade = max(0.0, float(weight)) / greatest if greatest > 0 else 0.0
        if char := visible(raw):
            cells.append(Cell(char, shade, float(weight), target[0] <= index < target[1], columns(char)))
    return cells


def _lines(cells: Sequence[Cell], width: int | None) -> list[list[Cell]]:
    """Fold at a number of columns; at least one line."""
    lines: list[list[Cell]] = [[]]
    used = 0
    for cell in cells:
        if width is not None and lines[-1] and used + cell.width > width:
            lines.append([])
            used = 0
        lines[-1].append(cell)
        used += cell.width
    return lines


def _style(cell: Cell) -> str:
    shade = SHADES[_level(cell.shade, len(SHADES) - 1)]
    return ";".join([*([shade, DARK_TEXT] if shade else []), *([UNDERLINED] if cell.in_target else [])])


def _painted(style: str, run: Iterator[Cell]) -> str:
    text = "".join(cell.char for cell in run)
    return f"\x1b[{style}m{text}{RESET}" if style else text


def _plain(line: Sequence[Cell]) -> str:
    return "".join(cell.char for cell in line)


def _digits(line: Sequence[Cell]) -> str:
    marks = ((str(_level(cell.shade, N_DIGITS)), cell) for cell in line)
    return "".join((mark if mark != "0" else "^" if cell.in_target else " ") * cell.width for mark, cell in marks)


def _level(shade: float, highest: int) -> int:
    """Return 0 for hardly any weight, ``highest`` for the greatest."""
    return min(highest, int(shade * highest + 0.5))


def _boxes(line: Sequence[Cell], top: int) -> Iterator[str]:
    """Draw one box for each run of equal weight, and a line under the target."""
    left = float(MARGIN)
    for (shade, weight, in_target), run in groupby(line, key=lambda cell: (cell.shade, cell.weight, cell.in_target)):
        width = sum(cell.width for cell in run) * FONT_SIZE / 2
        if shade >= 0.005:
            yield (
                f'<rect class="weight" x="{left:g}" y="{top}" width="{width:g}" height="{LINE_HEIGHT - 3}"'
                f' fill-opacity="{0.85 * shade:.3f}"><title>{weight:.4f}</title></rect>'
            )
        if in_target:
            y = top + LINE_HEIGHT - 3
            yield f'<line class="target" x1="{left:g}" x2="{left + width:g}" y1="{y}" y2="{y}"/>'
        left += width


def _spans(line: Sequence[Cell]) -> Iterator[str]:
    """Place each character by itself: fonts do not agree on widths. Marks stay with the character before them."""
    left = float(MARGIN)
    index = 0
    while index < len(line):
        stop = index + 1
        while stop < len(line) and line[stop].width == 0:
            stop += 1
        cluster = line[index:stop]
        if text := _xml(_plain(cluster)):
            yield f'<tspan x="{left:g}">{text}</tspan>'
        left += sum(cell.width for cell in cluster) * FONT_SIZE / 2
        index = stop


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))

"""Axes and frames of small SVG plots; colours come from the page's style sheet by class, so both themes work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.report.html.markup import Html, join, number, tag

WIDTH = 420
HEIGHT = 250
LEFT, RIGHT, TOP, BOTTOM = 44, 20, 12, 40


@dataclass(frozen=True, slots=True)
class Frame:
    """The field of a plot: from data to the plot's own coordinates.

    Args:
        x_range: lowest and highest x.
        y_range: likewise of y.
    """

    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Return where an x stands."""
        low, high = self.x_range
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return where a y stands; up is more."""
        low, high = self.y_range
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def plot(
    frame: Frame,
    *marks: Html,
    label: str,
    x_ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_label: str,
) -> Html:
    """Draw a plot with grid and axes.

    Args:
        frame: its field.
        marks: what is drawn in it.
        label: what the plot shows, for those who do not see it.
        x_ticks: places and words of the x axis; those of the y axis are found.
        x_label: below the x axis.
        y_label: above the y axis.
    """
    grid = [
        join(
            [
                tag("line", class_="grid", x1=float(LEFT), x2=float(WIDTH - RIGHT), y1=frame.y(tick), y2=frame.y(tick)),
                tag("text", percent(tick), class_="tick", x=float(LEFT - 7), y=frame.y(tick) + 4, text_anchor="end"),
            ]
        )
        for tick in even_ticks(*frame.y_range)
    ]
    bottom = float(HEIGHT - BOTTOM)
    for place, word in x_ticks:
        grid.append(tag("line", class_="axis", x1=frame.x(place), x2=frame.x(place), y1=bottom, y2=bottom + 4))
        grid.append(tag("text", word, class_="tick", x=frame.x(place), y=bottom + 17, text_anchor="middle"))
    axis = tag("line", class_="axis", x1=float(LEFT), x2=float(WIDTH - RIGHT), y1=bottom, y2=bottom)
    below = tag("text", x_label, class_="axis-label", x=float(WIDTH - RIGHT), y=float(HEIGHT - 5), text_anchor="end")
    beside = tag("text", f"{y_label} ↑", class_="axis-label", x=float(LEFT), y=float(HEIGHT - 5))
    return figure(WIDTH, HEIGHT, *grid, axis, below, beside, *marks, label=label)


def figure(width: float, height: float, *marks: Html, label: str) -> Html:
    """Wrap marks as a picture that scales with the page."""
    return tag(
        "svg",
        tag("title", label),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(float(width))} {number(float(height))}",
        role="img",
        class_="plot",
    )


def strip(*marks: Html, label: str, class_: str = "strip") -> Html:
    """Wrap marks as a bar 100 wide and 10 high, stretched to the cell it stands in; so no circles and no text in it."""
    return tag(
        "svg",
        tag("title", label),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        class_=class_,
    )


def rect(x: float, width: float, *, y: float = 0.0, height: float = 10.0, class_: str) -> Html:
    """Draw a filled box."""
    return tag("rect", class_=class_, x=float(x), y=float(y), width=max(0.0, float(width)), height=float(height))


def line(points: Sequence[tuple[float, float]], *, class_: str) -> Html:
    """Draw a line through points of the plot's coordinates."""
    path = "M" + "L".join(f"{number(float(x))} {number(float(y))}" for x, y in points)
    return tag("path", class_=class_, d=path, fill="none")


def dots(points: Sequence[tuple[float, float]], titles: Sequence[str], *, class_: str, radius: float = 3.5) -> Html:
    """Draw points that say what they are under the pointer."""
    return join(
        [
            tag("circle", tag("title", title), class_=class_, cx=float(x), cy=float(y), r=radius)
            for (x, y), title in zip(points, titles, strict=True)
        ]
    )


def percent(value: float | None, digits: int = 0) -> str:
    """Write a share of one as percent; a dash where there is none."""
    if value is None:
        return "–"
    return f"{100 * value:.{digits}f} %".replace("-0 %", "0 %")


def signed(value: float) -> str:
    """Write points won or lost with a proper sign."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def even_ticks(low: float, high: float) -> list[float]:
    """Return about five round places from low to high."""
    for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25):
        if (high - low) / step <= 5.5:
            break
    first = -(-low // step)
    return [round((first + index) * step, 6) for index in range(7) if (first + index) * step <= high + 1e-9]


def around(values: Sequence[float], *, least: float = 0.04) -> tuple[float, float]:
    """Return a range of at least ``least`` that holds the values with some room, within 0 and 1."""
    low, high = min(values), max(values)
    room = max((high - low) * 0.15, (least - (high - low)) / 2, 0.005)
    return max(0.0, low - room), min(1.0, high + room)

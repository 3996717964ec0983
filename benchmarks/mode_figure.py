"""Draws what ``compare modes --json`` found: how far each mode is above the base, with its interval.

python -m benchmarks.mode_figure "e5-zh-6=modes.json" "LSTM=lstm.json" --out docs/modes.svg
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

FIGURES = {"entity_f1": "entity F1", "emotion_f1": "entity+emotion F1", "score": "score"}
WIDTH, LEFT, RIGHT, ROW = 640, 230, 24, 26
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f24}.quiet{fill:#5b6470}.axis{stroke:#8a929c}"
    ".bar{stroke:#1f5f7a;stroke-width:2}.dot{fill:#1f5f7a}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.quiet{fill:#a6adb6}.bar{stroke:#7fc1dd}.dot{fill:#7fc1dd}}"
)


def rows(tagger: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any] | None]]:
    """Yield heading or label, and the gain that belongs to it; None for a heading."""
    for part, n_articles in (("out_of_fold", found["n_train"]), ("test", found["n_test"])):
        for mode, values in found[part].items():
            if not values["gain"]:
                continue
            yield f"{tagger}: {mode}, {part.replace('_', '-')}, {n_articles} articles", "", None
            for key, name in FIGURES.items():
                yield "", name, values["gain"][key]


def draw(comparisons: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the picture as SVG: one comparison below the other, by the name of its tagger, on one scale."""
    lines = [line for tagger, found in comparisons.items() for line in rows(tagger, found)]
    bases = dict.fromkeys(found["base"] for found in comparisons.values())
    bounds = [abs(bound) for _, _, gain in lines if gain for bound in gain["interval_95"]]
    widest = max([*bounds, 0.01]) * 1.05
    scale = (WIDTH - LEFT - RIGHT) / (2 * widest)
    middle, height = LEFT + widest * scale, ROW * (len(lines) + 2)
    marks = [f'<line class="axis" x1="{middle:.1f}" x2="{middle:.1f}" y1="{ROW}" y2="{height - ROW}"/>']
    marks.append(f'<text x="8" y="18">Points above {escape(", ".join(bases))}, with 95 % intervals</text>')
    for index, (heading, label, gain) in enumerate(lines):
        y = ROW * (index + 1.7)
        marks.append(
            f'<text class="{"quiet" if gain is None else ""}" x="8" y="{y:.1f}">{escape(heading or label)}</text>'
        )
        if gain is None:
            continue
        low, high = (middle + bound * scale for bound in gain["interval_95"])
        marks.append(f'<line class="bar" x1="{low:.1f}" x2="{high:.1f}" y1="{y - 4:.1f}" y2="{y - 4:.1f}"/>')
        marks.append(f'<circle class="dot" cx="{middle + gain["delta"] * scale:.1f}" cy="{y - 4:.1f}" r="4"/>')
        marks.append(f'<text x="{LEFT - 12}" y="{y:.1f}" text-anchor="end">{100 * gain["delta"]:+.1f}</text>')
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    title = "<title>Modes against each other</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}<style>{STYLE}</style>'
    return f"{head}{''.join(marks)}</svg>\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparisons", nargs="+", metavar="NAME=FILE", help="what compare modes --json wrote")
    parser.add_argument("--out", type=Path, required=True, help="the picture, SVG")
    options = parser.parse_args(arguments)
    found = {}
    for comparison in options.comparisons:
        name, sign, file = comparison.rpartition("=")
        if not sign:
            parser.error(f"{comparison}: want NAME=FILE")
        found[name] = json.loads(Path(file).read_text(encoding="utf-8"))
    options.out.write_text(draw(found), encoding="utf-8")


if __name__ == "__main__":
    main()

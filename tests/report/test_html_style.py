from __future__ import annotations

import re
from itertools import combinations

import pytest

from tests.support.paths import ASSETS

BASE = (ASSETS / "base.css").read_text(encoding="utf-8")
PAIRS = re.findall(r"--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));", BASE)
COLOURS = {name: (light or both, dark or both) for name, light, dark, both in PAIRS}
# Protanopia and deuteranopia in linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.
BLINDNESS = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    """Return the contrast of WCAG 2: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["ink", "soft", "accent", "pos", "norm", "neg"])
def test_text_stands_out_from_its_ground(text: str, theme: int) -> None:
    for ground in ("paper", "card"):
        assert contrast(COLOURS[text][theme], COLOURS[ground][theme]) >= 4.5, ground


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_emotions_are_told_apart_by_the_colour_blind(kind: str, theme: int) -> None:
    seen = {
        name: [sum(a * b for a, b in zip(row, linear(COLOURS[name][theme]), strict=True)) for row in BLINDNESS[kind]]
        for name in ("pos", "norm", "neg")
    }
    for one, other in combinations(seen.values(), 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.08


def test_every_colour_that_is_used_is_defined() -> None:
    sheets = [path.read_text(encoding="utf-8") for path in sorted(ASSETS.glob("*.css"))]
    own = {"key", "mark", "heat"}  # set by classes, and by detail.js
    used = {name for sheet in sheets for name in re.findall(r"var\(--([\w-]+)", sheet)}
    assert used - own <= set(COLOURS)
    assert set(COLOURS) <= used


def test_the_row_of_the_list_is_as_high_as_its_script_thinks() -> None:
    height = re.search(r"LongList\.ROW = (\d+);", (ASSETS / "list.js").read_text(encoding="utf-8"))
    assert height is not None
    assert f"height: {height[1]}px;" in (ASSETS / "report.css").read_text(encoding="utf-8")

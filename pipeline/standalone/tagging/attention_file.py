"""Attention maps as JSON, or as an SVG image: a row of maps for each layer, a map for each head."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import numpy as np

from pipeline.artifacts import atomic_write_text
from pipeline.entities.taggers.attention import AttentionMaps
from pipeline.errors import ConfigError
from pipeline.text.terminal import visible

SUFFIXES = (".json", ".svg")
CELL, GAP, MARGIN, FONT = 8, 14, 24, 7
"""Pixels: of a weight, between maps, around them and of a token's letters."""
N_SHADES = 10
"""Weights below half a shade are left white."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_attention_path(path: Path) -> None:
    """Refuse a name that is neither .json nor .svg.

    Raises:
        ConfigError: it is.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: want a name that ends in {' or '.join(SUFFIXES)}")


def write_attention(path: Path, text: str, maps: AttentionMaps) -> None:
    """Write ``{"text", "tokens", "attention"}``, attention by layer, head, query and key, or the image."""
    if path.suffix.lower() == ".svg":
        atomic_write_text(path, attention_maps_svg(maps))
        return
    values = [
        [[[round(value, 5) for value in key] for key in query] for query in head] for head in maps.weights.tolist()
    ]
    row = {"text": text, "tokens": list(maps.tokens), "attention": values}
    atomic_write_text(path, json.dumps(row, ensure_ascii=False) + "\n")


def attention_maps_svg(maps: AttentionMaps) -> str:
    """Draw a self-contained image: queries from top to bottom, keys from left to right, the darker the more weight."""
    n_layers, n_heads, n_tokens, _ = maps.weights.shape
    side, left = n_tokens * CELL, MARGIN + 6 * FONT
    width = left + n_heads * (side + GAP) + MARGIN
    height = MARGIN + n_layers * (side + GAP + FONT) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Attention by layer and head"><title>Attention by layer and head</title>',
        f"<style>text{{font:{FONT}px sans-serif;fill:#1f2328}}.map{{fill:#fff;stroke:#8c959f;stroke-width:.5}}"
        "path{fill:#f97316}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for layer in range(n_layers):
        top = MARGIN + layer * (side + GAP + FONT)
        for index, token in enumerate(maps.tokens):
            name = escape(_NOT_XML.sub("", "".join(visible(char) for char in token))[:6])
            parts.append(f'<text x="{left - 4}" y="{top + index * CELL + FONT}" text-anchor="end">{name}</text>')
        for head in range(n_heads):
            x = left + head * (side + GAP)
            parts.append(f'<text x="{x}" y="{top - 2}">layer {layer + 1}, head {head + 1}</text>')
            parts.append(f'<rect class="map" x="{x}" y="{top}" width="{side}" height="{side}"/>')
            parts += _shades(maps.weights[layer, head], x, top)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shades(weights: np.ndarray, left: int, top: int) -> list[str]:
    """Return a path for each shade of a map (n_tokens, n_tokens)."""
    levels = np.rint(weights * N_SHADES).astype(int)
    paths = []
    for level in range(1, N_SHADES + 1):
        cells = [
            f"M{left + key * CELL} {top + query * CELL}h{CELL}v{CELL}h-{CELL}z"
            for query, key in zip(*np.nonzero(levels == level), strict=True)
        ]
        if cells:
            paths.append(f'<path opacity="{level / N_SHADES:.1f}" d="{"".join(cells)}"/>')
    return paths

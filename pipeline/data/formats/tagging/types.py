"""Types of marked spans under other names, as the user says; those to be skipped are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipeline.data.formats.tagging.row import TagRow
from pipeline.data.labels import SKIP
from pipeline.text.spans import OUTSIDE


def with_types(rows: Sequence[TagRow], types: Mapping[str, str], *, plain: bool) -> tuple[list[TagRow], str]:
    """Return rows whose types have other names, and one line that says what was called what, with counts.

    Args:
        rows: with their spans.
        types: the new name by the old one, or ``skip``; others stay as they are.
        plain: a tag is a type, without a prefix: the tags of rows are renamed too.
    """
    counts: Counter[str] = Counter()
    found = []
    for row in rows:
        counts.update(span.label for span in row.spans if span.label in types)
        kept = (span for span in row.spans if types.get(span.label) != SKIP)
        spans = tuple(span._replace(label=types.get(span.label, span.label)) for span in kept)
        tags = [OUTSIDE if types.get(tag) == SKIP else types.get(tag, tag) for tag in row.tags] if plain else row.tags
        found.append(replace(row, spans=spans, tags=tuple(tags)))
    parts = [
        f"{name} left out ({counts[name]})" if to == SKIP else f"{name} -> {to} ({counts[name]})"
        for name, to in types.items()
    ]
    return found, f"types: {', '.join(parts)}"

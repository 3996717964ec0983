"""A part of labelled rows held out: whole groups, and of every class its share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.data.formats.sentiment import SentimentRow
from pipeline.errors import DataError


def cut_by_group(
    rows: Sequence[SentimentRow], *, fraction: float, seed: int
) -> tuple[list[SentimentRow], list[SentimentRow]]:
    """Hold a share of the groups out, at least one, and of every class alike; return the rest and the part held out.

    Systematic sampling of ordered groups: those of one composition of labels stand together, at random among
    themselves, and evenly spaced ones are taken from a random start. Where every group is of one class, the number of
    groups held out of a class is its share rounded down or up. A label that only one group has stays in the rest,
    where it can be learnt.

    Args:
        rows: of any number of groups.
        fraction: of the groups, above 0 and below 1.
        seed: equal seeds give equal parts; the order of the rows does not matter.

    Raises:
        DataError: all rows are of one group.
    """
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        labels[row.example.group][row.label] += 1
    if len(labels) < 2:
        raise DataError(f"{rows[0].where}: all rows are of one text: none can be held out")
    n_owners = Counter(label for found in labels.values() for label in found)
    free = [group for group, found in labels.items() if all(n_owners[label] > 1 for label in found)] or list(labels)
    n_held_out = min(len(labels) - 1, len(free), max(1, round(len(free) * fraction)))
    chosen = _evenly(_ordered(free, labels, seed), n_held_out, seed)
    parts: tuple[list[SentimentRow], list[SentimentRow]] = ([], [])
    for row in rows:
        parts[row.example.group in chosen].append(row)
    return parts


def _ordered(groups: Sequence[str], labels: Mapping[str, Counter[str]], seed: int) -> list[str]:
    """Order groups by the shares of their labels, at random where these are equal."""
    names = sorted({label for group in groups for label in labels[group]})
    in_order = sorted(groups)
    shuffled = [in_order[index] for index in np.random.default_rng(seed).permutation(len(in_order))]
    return sorted(shuffled, key=lambda group: [labels[group][name] / labels[group].total() for name in names])


def _evenly(groups: Sequence[str], n_chosen: int, seed: int) -> set[str]:
    """Take evenly spaced groups, of which none is likelier than another."""
    start = np.random.default_rng([seed, 1]).random()
    steps = np.floor(np.arange(len(groups) + 1) * n_chosen / len(groups) + start)
    return {group for group, is_chosen in zip(groups, np.diff(steps) > 0, strict=True) if is_chosen}

"""Pairs kept back to choose the epoch: whole groups of pairs that share a text, so that none of its texts is learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.data.formats.pair_rows import PairRow
from pipeline.text import match_key


def pair_groups(rows: Sequence[PairRow]) -> np.ndarray:
    """Number the groups: pairs with a text in common, however long the chain of them, have one number.

    Texts are the same where they are the same once normalised; an empty text joins nothing.

    Returns:
        int32 (n_rows,).
    """
    ids: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    for row_number, row in enumerate(rows):
        for text in (row.left, row.right):
            if key := match_key(text):
                edges.append((row_number, len(rows) + ids.setdefault(key, len(ids))))
    first, second = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    size = len(rows) + len(ids)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (first, second)), shape=(size, size))
    labels: np.ndarray = connected_components(graph, directed=False)[1][: len(rows)]
    return labels


def dev_rows(groups: np.ndarray, *, fraction: float, seed: int) -> np.ndarray:
    """Choose groups at random until they hold a share of the pairs; one too large for the rest of it is passed over.

    Args:
        groups: of each pair, (n_rows,).
        fraction: of the pairs that is wanted, at most that much is given.
        seed: of the choice.

    Returns:
        bool (n_rows,): which are kept back; none, where every group is too large.
    """
    names, sizes = np.unique(groups, return_counts=True)
    room = round(len(groups) * fraction)
    chosen = []
    for index in np.random.default_rng(seed).permutation(len(names)):
        if sizes[index] <= room:
            chosen.append(names[index])
            room -= sizes[index]
    return np.isin(groups, chosen)

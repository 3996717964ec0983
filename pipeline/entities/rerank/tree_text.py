"""The text of a LightGBM model, checked before LightGBM reads it: it trusts every index and length in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

MAX_LEAVES = 4096
"""As many as ``rerank.num_leaves`` can ask for."""

FIRST, END = "Tree=0\n", "end of trees\n"

HEADER = {
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "tree_sizes"),
}
OF_SPLITS: dict[str, type[np.int64] | type[np.float64]] = {
    "split_feature": np.int64,
    "split_gain": np.float64,
    "threshold": np.float64,
    "decision_type": np.int64,
    "left_child": np.int64,
    "right_child": np.int64,
    "internal_value": np.float64,
    "internal_weight": np.float64,
    "internal_count": np.int64,
}
"""Arrays with an entry for each inner node."""
OF_LEAVES: dict[str, type[np.int64] | type[np.float64]] = {
    "leaf_value": np.float64,
    "leaf_weight": np.float64,
    "leaf_count": np.int64,
}
"""Arrays with an entry for each leaf."""
SINGLE = {"Tree", "num_leaves", "num_cat", "is_linear", "shrinkage"}
WHOLES = re.compile(r"-?[0-9]{1,15}(?: -?[0-9]{1,15})*", re.ASCII)
REALS = re.compile(r"[-+0-9.e]+(?: [-+0-9.e]+)*", re.ASCII)
"""What LightGBM reads as Python does: it would go on behind a sign that it does not know."""
FINITE = ("threshold", "leaf_value")
DECISIONS = {0, 2, 4, 6, 8, 10}
"""No categorical split (an odd number); a default side, and one of three ways to treat what is missing."""


def checked_tree_text(text: str, n_features: int) -> str:
    """Return the part of a text that predicts; importances and options of the training are left out.

    It is a model of one score whose splits compare numbers, as ``BoostedTrees`` saves it.

    Args:
        text: as from ``Booster.model_to_string``.
        n_features: columns of the matrices that the trees will be given.

    Raises:
        ValueError: the text holds anything that LightGBM would follow out of an array, or never come back from.
    """
    start, end = text.find(FIRST), text.find(END)
    if start < 0 or end < start:
        raise ValueError("no trees")
    head = text[:start].split("\n")
    if head[0] != "tree":
        raise ValueError("does not begin with 'tree'")
    header = _entries(head[1:])
    if set(header) != HEADER:
        raise ValueError(f"header entries {', '.join(sorted(set(header) ^ HEADER))} are missing or unknown")
    fixed = {"num_class": "1", "num_tree_per_iteration": "1", "max_feature_idx": str(n_features - 1)}
    for name, wanted in fixed.items():
        if header[name] != wanted:
            raise ValueError(f"{name} is {header[name]!r}, want {wanted}")
    patterns = {
        "version": r"v[0-9]",
        "label_index": r"[0-9]{1,9}",
        "objective": r"binary sigmoid:1|lambdarank",
        "feature_infos": r"(none|\[[^:\[\] ]+:[^:\[\] ]+\])( (none|\[[^:\[\] ]+:[^:\[\] ]+\]))*",
    }
    for name, pattern in patterns.items():
        if not re.fullmatch(pattern, header[name], re.ASCII):
            raise ValueError(f"{name} is {header[name][:40]!r}")
    for name in ("feature_names", "feature_infos"):
        if len(header[name].split(" ")) != n_features:
            raise ValueError(f"{name}: want {n_features} entries")
    sizes = _numbers(header["tree_sizes"], "tree_sizes", np.int64)
    body = text[start:end].encode()
    if sizes.min(initial=1) < 1 or int(sizes.sum()) != len(body):
        raise ValueError("tree_sizes are not those of the trees")
    edges = [0, *np.cumsum(sizes).tolist()]
    _check_trees([body[first:last].decode().split("\n") for first, last in pairwise(edges)], n_features)
    return text[: end + len(END)]


def feature_names(text: str) -> list[str]:
    """Return the columns that a checked text was trained on, in order."""
    head = text[: text.index(FIRST)].split("\n")
    return next(line for line in head if line.startswith("feature_names=")).partition("=")[2].split(" ")


def _check_trees(trees: Sequence[list[str]], n_features: int) -> None:
    found = []
    for number, lines in enumerate(trees):
        with _told_of(number):
            found.append(_entries(lines))
            _check_names(found[-1], number)
    values = {name: _of_all(found, name, kind) for name, kind in {**OF_SPLITS, **OF_LEAVES}.items()}
    for number, tree in enumerate(found):
        with _told_of(number):
            _check_values({name: of_tree[number] for name, of_tree in values.items()}, tree, n_features)


@contextmanager
def _told_of(number: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"tree {number}: {error}") from error


def _of_all(trees: Sequence[Mapping[str, str]], name: str, kind: Any) -> list[np.ndarray]:
    """Return the numbers that each tree has by a name; read at once, since a call for each takes long."""
    texts = [tree.get(name, "") for tree in trees]
    try:
        numbers = _numbers(" ".join(filter(None, texts)), name, kind)
    except ValueError:
        for number, text in enumerate(texts):
            with _told_of(number):
                _numbers(text, name, kind)
        raise
    counts = [text.count(" ") + 1 if text else 0 for text in texts]
    return np.split(numbers, np.cumsum(counts)[:-1])


def _check_names(tree: Mapping[str, str], number: int) -> None:
    known = {*SINGLE, *OF_SPLITS, *OF_LEAVES}
    if set(tree) - known or SINGLE - set(tree):
        raise ValueError(f"entries {', '.join(sorted((set(tree) - known) | (SINGLE - set(tree))))} unknown or missing")
    if _whole(tree, "Tree") != number:
        raise ValueError(f"is called {tree['Tree']}")
    if not 1 <= _whole(tree, "num_leaves") <= MAX_LEAVES or _whole(tree, "num_cat") or _whole(tree, "is_linear"):
        raise ValueError(f"want 1 to {MAX_LEAVES} leaves with plain values, and splits of numbers")
    _numbers(tree["shrinkage"], "shrinkage", np.float64)


def _check_values(values: Mapping[str, np.ndarray], tree: Mapping[str, str], n_features: int) -> None:
    n_leaves = _whole(tree, "num_leaves")
    for kinds, n_entries in ((OF_SPLITS, n_leaves - 1), (OF_LEAVES, n_leaves)):
        for name in kinds:
            if n_leaves == 1 and name != "leaf_value" and not tree.get(name):
                continue  # a tree without a split says little
            if len(values[name]) != n_entries:
                raise ValueError(f"{name}: {len(values[name])} entries, want {n_entries}")
    if n_leaves == 1:
        return
    features = values["split_feature"]
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(f"split_feature: want 0 to {n_features - 1}")
    if not set(values["decision_type"].tolist()) <= DECISIONS:
        raise ValueError("decision_type: not that of a split of numbers")
    children = np.concatenate([values["left_child"], values["right_child"]])
    parents = np.tile(np.arange(n_leaves - 1), 2)
    # A node is named once, by one that comes before it: so every way ends in a leaf.
    if sorted(children.tolist()) != [*range(-n_leaves, 0), *range(1, n_leaves - 1)] or np.any(
        (children >= 0) & (children <= parents)
    ):
        raise ValueError("left_child and right_child are no tree")


def _entries(lines: list[str]) -> dict[str, str]:
    """Return what lines of the form name=value say; each name may occur once."""
    found: dict[str, str] = {}
    for line in filter(None, lines):
        name, sign, value = line.partition("=")
        if not sign or name in found:
            raise ValueError(f"line {line[:40]!r} is no entry, or a repeated one")
        found[name] = value
    return found


def _whole(entries: Mapping[str, str], name: str) -> int:
    value = entries.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ValueError(f"{name} is {value[:40]!r}, want a whole number")
    return int(value)


def _numbers(value: str, name: str, kind: Any) -> np.ndarray:
    plain = value
    if kind is np.float64 and name not in FINITE:
        plain = re.sub(r"\b(?:inf|nan)\b", "0", value)
    if plain and not (WHOLES if kind is np.int64 else REALS).fullmatch(plain):
        raise ValueError(f"{name}: not a list of numbers")
    try:
        numbers: np.ndarray = np.array(plain.split(" ") if plain else [], dtype=str).astype(kind)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name}: not a list of numbers") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}: too large")
    return numbers

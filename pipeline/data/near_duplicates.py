"""Which articles are one text: reposts, shortened copies, the same title twice.

A text is cut into overlapping six-character shingles; of their hashes a fixed sample (its sketch) is
kept, so that 80,000 articles are held in some 100 MB and compared without comparing every pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

SHINGLE_CHARS = 6
SAMPLE_RATE = 16
"""Of a long text every shingle whose hash lies in the lowest 1/16 of the range is kept."""
MIN_SKETCH = 64
"""A short text keeps its lowest hashes up to this number, so that chance does not decide about it."""
MIN_EVIDENCE = 8
"""With fewer hashes to compare, only texts of about one length can be near-duplicates."""
MIN_TITLE_CHARS = 6
"""Shorter titles are often those of a column ("早报"), so they join nothing."""
NEIGHBOURS = 8
"""Articles paired with each holder of a shingle: chains, unlike all pairs, stay cheap for boilerplate
that thousands of articles share, and still connect every copy of a text."""

_BLANK = re.compile(r"[\W_]+")
_MAX_HASH = np.uint64(2**64 - 1)
_SAMPLED_BELOW = np.uint64(2**64 // SAMPLE_RATE)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A sample of a text's shingles: sorted distinct hashes, complete up to and including ``limit``."""

    hashes: Hashes
    limit: np.uint64

    def up_to(self, limit: np.uint64) -> Hashes:
        """Return the hashes that do not exceed ``limit``."""
        return self.hashes[: np.searchsorted(self.hashes, limit, side="right")]


def comparison_key(text: str) -> str:
    """Return the letters and digits of a text, in one width and case: what a repost keeps."""
    return _BLANK.sub("", unicodedata.normalize("NFKC", text).casefold())


def sketch(text: str) -> Sketch:
    """Return the sketch of a text; equal texts have equal sketches in every process and version."""
    encoded = comparison_key(text).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    width = min(SHINGLE_CHARS, len(codes))
    if width == 0:
        return Sketch(codes, _MAX_HASH)
    rolling = np.zeros(len(codes) - width + 1, dtype=np.uint64)
    for start in range(width):
        rolling = rolling * np.uint64(0x100000001B3) + codes[start : start + len(rolling)]
    hashes = np.unique(_mix(rolling))
    n_kept = max(int(np.searchsorted(hashes, _SAMPLED_BELOW)), MIN_SKETCH)
    if n_kept >= len(hashes):
        return Sketch(hashes, _MAX_HASH)
    return Sketch(hashes[:n_kept].copy(), np.uint64(hashes[n_kept] - np.uint64(1)))


def are_near_duplicates(left: Sketch, right: Sketch) -> bool:
    """Say whether half of the shorter text's shingles occur in the other, judged by their sketches."""
    limit = min(left.limit, right.limit)  # below it both samples are complete
    ours, theirs = left.up_to(limit), right.up_to(limit)
    fewer, more = sorted((len(ours), len(theirs)))
    if fewer == 0 or (fewer < MIN_EVIDENCE and 2 * fewer < more):
        return False
    return 2 * len(np.intersect1d(ours, theirs, assume_unique=True)) >= fewer


class NearDuplicates:
    """Collects articles one by one, keeping sketches instead of texts, and groups them."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._sketches: list[Sketch] = []
        self._titles: list[str] = []

    def add(self, key: str, title: str, content: str) -> None:
        """Take in one article. Articles added under one key always share a group."""
        title_key = comparison_key(title)
        self._keys.append(key)
        self._titles.append(title_key if len(title_key) >= MIN_TITLE_CHARS else "")
        self._sketches.append(sketch(f"{title}\n{content}"))

    def groups(self) -> list[int]:
        """Return each article's group, in the order added: the position of the group's smallest key.

        Which articles share a group does not depend on the order in which they were added.
        """
        order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
        parents = list(range(len(order)))

        def root(rank: int) -> int:
            while parents[rank] != rank:
                parents[rank] = rank = parents[parents[rank]]
            return rank

        def join(left: int, right: int) -> None:
            low, high = sorted((root(left), root(right)))
            parents[high] = low

        for names in (self._keys, self._titles):
            first: dict[str, int] = {}
            for rank, position in enumerate(order):
                if name := names[position]:
                    join(first.setdefault(name, rank), rank)
        sketches = [self._sketches[position] for position in order]
        for left, right in _candidate_pairs(sketches):
            if root(left) != root(right) and are_near_duplicates(sketches[left], sketches[right]):
                join(left, right)
        found = [0] * len(order)
        for rank, position in enumerate(order):
            found[position] = order[root(rank)]
        return found


def _mix(values: Hashes) -> Hashes:
    """Spread hashes over the whole range (the finaliser of splitmix64), so that sampling by size is fair."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidate_pairs(sketches: list[Sketch]) -> Iterator[tuple[int, int]]:
    """Yield pairs that stand close together in the list of holders of some shingle."""
    if not sketches:
        return
    sizes = np.array([len(item.hashes) for item in sketches])
    hashes = np.concatenate([item.hashes for item in sketches])
    holders = np.repeat(np.arange(len(sketches), dtype=np.int64), sizes)
    by_hash = np.argsort(hashes, kind="stable")  # stable: the holders of a shingle stay in order
    hashes, holders = hashes[by_hash], holders[by_hash]
    pairs = []
    for step in range(1, NEIGHBOURS + 1):
        same = hashes[:-step] == hashes[step:]
        pairs.append(holders[:-step][same] * len(sketches) + holders[step:][same])
    codes, n_shared = np.unique(np.concatenate(pairs), return_counts=True)
    lefts, rights = np.divmod(codes, len(sketches))
    # One common phrase proves nothing unless a text is hardly longer than that.
    worth_a_look = (n_shared > 1) | (np.minimum(sizes[lefts], sizes[rights]) <= 2)
    yield from zip(lefts[worth_a_look].tolist(), rights[worth_a_look].tolist(), strict=True)

"""Windows over a long text: cutting it, drawing some for training, and joining what they find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pipeline.text.spans import ScoredSpan

Window = tuple[int, int]
"""A half-open range of tokens."""


def cut_windows(n_tokens: int, *, size: int, overlap: int = 0) -> list[Window]:
    """Cover ``n_tokens`` by the fewest windows of at most ``size`` tokens, all of about one length.

    Neighbours share at least ``overlap`` tokens, so that a span of up to ``overlap`` + 1 tokens lies whole in one.

    Raises:
        ValueError: ``overlap`` is not smaller than ``size``.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"windows of {size} tokens cannot share {overlap}")
    if n_tokens <= size:
        return [(0, n_tokens)] if n_tokens else []
    count = -(-(n_tokens - overlap) // (size - overlap))
    width = -(-(n_tokens + (count - 1) * overlap) // count)
    # Rounded down, two starts are never further apart than width - overlap.
    starts = [index * (n_tokens - width) // (count - 1) for index in range(count)]
    return [(start, start + width) for start in starts]


def most_central(windows: Sequence[Window], first: int, last: int) -> int:
    """Return the index of the window that shows most of what surrounds tokens ``[first, last)``; the earlier at a tie.

    The figure is the distance to the nearer edge of the window; the ends of the text are no edges.

    Raises:
        ValueError: no window holds the tokens.
    """
    end = windows[-1][1]
    room = {
        index: min(first - start if start else end, stop - last if stop < end else end)
        for index, (start, stop) in enumerate(windows)
        if start <= first and last <= stop
    }
    return max(room, key=lambda index: (room[index], -index))


def join_windows(windows: Sequence[Window], found: Sequence[Iterable[ScoredSpan]]) -> list[ScoredSpan]:
    """Keep each span from the window in which it is most central, and only from that one.

    Args:
        windows: of one text, in order.
        found: what each window holds, in steps from its beginning.

    Returns:
        The spans in token positions of the text, in order.
    """
    joined = []
    for index, ((shift, _), spans) in enumerate(zip(windows, found, strict=True)):
        for span in spans:
            moved = span._replace(start=span.start + shift, stop=span.stop + shift)
            if most_central(windows, moved.start, moved.stop) == index:
                joined.append(moved)
    return sorted(joined)


def draw_windows(
    windows: Sequence[Window], weights: Sequence[float], *, budget: int, rng: np.random.Generator
) -> list[int]:
    """Choose windows of a text for one epoch: the first, and others drawn by weight, as many as the budget allows.

    The number depends on the windows and the budget alone, so that epochs have one length.

    Args:
        windows: of one length; at least one.
        weights: chance of each, relative to the others.
        budget: most tokens, though never less than one window; 0 for all windows.
        rng: draws.

    Returns:
        Rising indices.
    """
    width = windows[0][1] - windows[0][0]
    count = min(len(windows), max(1, budget // width)) if budget else len(windows)
    if count == len(windows) or count == 1:
        return list(range(count))
    chances = np.asarray(weights[1:], dtype=np.float64)
    drawn = rng.choice(len(windows) - 1, count - 1, replace=False, p=chances / chances.sum())
    return [0, *sorted(int(index) + 1 for index in drawn)]

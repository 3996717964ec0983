"""Windows of tagged texts -> padded rows: ``[CLS] window [SEP] title [SEP]``, tags for the window alone. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.entities.taggers.data import UNKNOWN_TAG, TaggedTokens, window_tags
from pipeline.entities.taggers.windows import Window, cut_windows, draw_windows
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.lengths import batches_by_length
from pipeline.text.spans import TagScheme

MENTION_WEIGHT = 1.0
"""How much more likely a window is drawn for each entity in it."""


@dataclass(frozen=True)
class WindowBatch:
    """Rows padded to one length. The window's tokens follow the first token; the title, where it is read, follows."""

    tokens: np.ndarray
    """int64 (batch, seq_len)."""
    mask: np.ndarray
    """bool (batch, seq_len): False at padding."""
    segments: np.ndarray
    """int64 (batch, seq_len): 0 up to the first separator, 1 for the title after it."""
    window: np.ndarray
    """bool (batch, window_len): False beyond the window; its step ``i`` is step ``i + 1`` of ``tokens``."""
    rows: np.ndarray
    """int64 (batch,): index of each row's window in ``WindowBatches.windows``."""
    tags: np.ndarray | None = None
    """int64 (batch, window_len): tag ids; negative where unknown and beyond the window."""


class WindowBatches:
    """Batches of windows of similar length.

    Args:
        texts: tokens, with tags for training.
        special: ids of the tokens that frame a window.
        scheme: tells which tags belong together.
        batch_size: most windows of a batch.
        window_tokens: longest window.
        overlap_tokens: shared by neighbouring windows.
        title_tokens: most tokens of the title read beside a window that begins after it.
        budget: most tokens drawn of a text in an epoch, see ``draw_windows``; 0 takes every window.
        seed: draws and shuffles, differently in each epoch; None keeps one order.
    """

    def __init__(
        self,
        texts: Sequence[TaggedTokens],
        special: SpecialIds,
        scheme: TagScheme,
        *,
        batch_size: int,
        window_tokens: int,
        overlap_tokens: int = 0,
        title_tokens: int = 0,
        budget: int = 0,
        seed: int | None = None,
    ) -> None:
        self._texts, self._special, self._scheme = texts, special, scheme
        self._batch_size, self._title_tokens, self._budget, self._seed = batch_size, title_tokens, budget, seed
        self.windows: list[tuple[int, Window]] = []
        """Index of a text, and a range of its tokens."""
        self.rows_of_text: list[range] = []
        """The indices of each text's windows."""
        for index, text in enumerate(texts):
            cut = cut_windows(len(text), size=window_tokens, overlap=overlap_tokens)
            self.rows_of_text.append(range(len(self.windows), len(self.windows) + len(cut)))
            self.windows += [(index, window) for window in cut]
        self._weights = [1 + MENTION_WEIGHT * self._n_entities(*window) for window in self.windows]
        lengths = [stop - start + len(self._title(index, start)) for index, (start, stop) in self.windows]
        self._lengths = np.array(lengths, dtype=np.int64)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return -(-len(self._rows(0)) // self._batch_size)

    def window_batches(self, epoch: int = 0) -> Iterator[WindowBatch]:
        """Yield the windows of an epoch; they depend on the seed and the epoch's number alone."""
        rows = self._rows(epoch)
        rng = None if self._seed is None else np.random.default_rng([self._seed, epoch, 1])
        for batch in batches_by_length(self._lengths[rows], batch_size=self._batch_size, rng=rng):
            yield self._collate(rows[batch])

    def _rows(self, epoch: int) -> np.ndarray:
        if not self._budget:
            return np.arange(len(self.windows))
        rng = np.random.default_rng([self._seed or 0, epoch])
        drawn: list[int] = []
        for rows in self.rows_of_text:
            if rows:
                windows = [self.windows[row][1] for row in rows]
                weights = [self._weights[row] for row in rows]
                drawn += [rows[index] for index in draw_windows(windows, weights, budget=self._budget, rng=rng)]
        return np.array(drawn, dtype=np.int64)

    def _n_entities(self, text: int, window: Window) -> int:
        tags = self._texts[text].tags
        if tags is None:
            return 0
        inside = tags[slice(*window)]
        return int(self._scheme.begins_span[inside[inside >= 0]].sum())

    def _collate(self, rows: np.ndarray) -> WindowBatch:
        bodies, titles, tags = [], [], []
        for row in rows:
            index, (first, last) = self.windows[row]
            text = self._texts[index]
            bodies.append(text.ids[first:last])
            titles.append(self._title(index, first))
            if text.tags is not None:
                tags.append(window_tags(text.tags, self._scheme, first, last))
        ids = [self._framed(body, title) for body, title in zip(bodies, titles, strict=True)]
        window_lengths = np.array([len(body) for body in bodies])[:, None]
        tokens, mask = _padded(ids, self._special.padding)
        return WindowBatch(
            tokens=tokens,
            mask=mask,
            segments=((np.arange(tokens.shape[1]) > window_lengths + 1) & mask).astype(np.int64),
            window=np.arange(int(window_lengths.max())) < window_lengths,
            rows=rows,
            tags=_padded(tags, UNKNOWN_TAG)[0] if tags else None,
        )

    def _title(self, index: int, first: int) -> np.ndarray:
        """Return the title's ids as read beside a window that begins at a token: none beside one that holds it."""
        text = self._texts[index]
        return text.ids[: min(text.n_title, self._title_tokens) if first > text.n_title else 0]

    def _framed(self, window: np.ndarray, title: np.ndarray) -> np.ndarray:
        end = [self._special.separator]
        return np.concatenate([[self._special.first], window, end, *([title, end] if len(title) else [])])


def _padded(rows: Sequence[np.ndarray], value: int) -> tuple[np.ndarray, np.ndarray]:
    """Return int64 (batch, longest row) and its bool mask."""
    lengths = np.array([len(row) for row in rows])[:, None]
    padded = np.full((len(rows), int(lengths.max())), value, dtype=np.int64)
    for padded_row, row in zip(padded, rows, strict=True):
        padded_row[: len(row)] = row
    return padded, np.arange(padded.shape[1]) < lengths

"""Examples -> padded tensors with explicit masks.

The context is laid out once, as ``tokens``; the parts of it that heads look at (target, left, right)
are positions in it. So whatever turns a batch into one vector per token (random embeddings, word vectors,
an encoder's hidden states) serves every head.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from pipeline.nn.lengths import batches_by_length
from pipeline.nn.vocab import TextReader, Vocabulary, window_around
from pipeline.schema import Target
from pipeline.text.normalise import match_key
from pipeline.text.sentences import split_sentences


@dataclass(frozen=True)
class Positions:
    """Some tokens of each row, in reading order: indices into the ``seq_len`` axis of ``Batch.tokens``."""

    index: Tensor
    """int64 (batch, n): 0 where masked."""
    mask: Tensor
    """bool (batch, n): False at padding."""

    def to(self, device: torch.device) -> Positions:
        """Return the positions on a device."""
        return Positions(self.index.to(device), self.mask.to(device))


@dataclass(frozen=True)
class Batch:
    """Rows padded to one length. Models read the masks; none derives a length from an id."""

    tokens: Tensor
    """int64 (batch, seq_len): ids of the context, title and target included; the reader's padding at padding."""
    mask: Tensor
    """bool (batch, seq_len): False at padding."""
    target: Positions
    """The target where it is marked: ``n`` is target_len; a row without target has none."""
    left: Positions
    """The tokens before the marked target."""
    right: Positions
    """The tokens after it."""
    mentions: Tensor
    """bool (batch, seq_len): True on every mention of the target, the marked one included."""
    sentences: Tensor
    """int64 (batch, seq_len): number of the sentence in which each token begins, rising; 0 at padding."""
    rows: Tensor
    """int64 (batch,): index of each row among the examples."""
    labels: Tensor | None = None
    """int64 (batch,): class ids, in training."""
    aspects: Tensor | None = None
    """int64 (batch,): ids of the targets' names, where the loader has a vocabulary of them."""

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        present = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: part.to(device) for name, part in present.items() if part is not None})


@dataclass(frozen=True, slots=True)
class _Encoded:
    ids: Sequence[int]
    target: tuple[int, int]
    mentions: list[tuple[int, int]]
    sentences: list[int]
    starts: Sequence[int]
    stops: Sequence[int]


class BatchLoader:
    """Batches of similar length over examples that are encoded once.

    Args:
        examples: texts with their targets.
        reader: cuts texts into tokens with ids.
        labels: the class id of each example, in training.
        batch_size: most rows of a batch; the rows are spread evenly.
        max_tokens: longer contexts are cut on the side away from the target.
        seed: shuffles, differently in each epoch; None keeps one order.
        aspects: vocabulary of the targets' names, for heads that learn a vector for each.
    """

    def __init__(
        self,
        examples: Sequence[Target],
        reader: TextReader,
        *,
        labels: Sequence[int] | None = None,
        batch_size: int = 64,
        max_tokens: int = 512,
        seed: int | None = None,
        aspects: Vocabulary | None = None,
    ) -> None:
        if labels is not None and len(labels) != len(examples):
            raise ValueError(f"{len(examples)} examples but {len(labels)} labels")
        self._encoded = [_encode(example, reader, max_tokens) for example in examples]
        self._padding = reader.padding
        self._aspects = None if aspects is None else aspects.encode(map(aspect_of, examples))
        self._labels = None if labels is None else list(labels)
        self._lengths = np.array([len(item.ids) for item in self._encoded], dtype=np.int64)
        self._batch_size = batch_size
        self._seed = seed

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return -(-len(self._encoded) // self._batch_size)

    def epoch(self, number: int = 0) -> Iterator[Batch]:
        """Yield every example once; an epoch's order depends on the seed and its number alone."""
        return (self._collate(rows) for rows in self._cut(number))

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the characters ``[start, stop)`` of the text behind each token of an example's row."""
        item = self._encoded[row]
        return list(zip(item.starts, item.stops, strict=True))

    def _cut(self, epoch: int) -> list[np.ndarray]:
        rng = None if self._seed is None else np.random.default_rng([self._seed, epoch])
        return batches_by_length(self._lengths, batch_size=self._batch_size, rng=rng)

    def _collate(self, rows: np.ndarray) -> Batch:
        items = [self._encoded[row] for row in rows]
        tokens, mask = _pad([item.ids for item in items], self._padding)
        mentions = torch.zeros_like(mask)
        for row, item in enumerate(items):
            for first, last in item.mentions:
                mentions[row, first:last] = True
        return Batch(
            tokens=tokens,
            mask=mask,
            target=_positions([range(*item.target) for item in items]),
            left=_positions([range(item.target[0]) for item in items]),
            right=_positions([range(item.target[1], len(item.ids)) for item in items]),
            mentions=mentions,
            sentences=_pad([item.sentences for item in items], 0)[0],
            rows=torch.from_numpy(rows.astype(np.int64)),
            labels=None if self._labels is None else torch.tensor([self._labels[row] for row in rows]),
            aspects=None if self._aspects is None else torch.tensor([self._aspects[row] for row in rows]),
        )


def aspect_of(example: Target) -> str:
    """Return the name under which a target has a vector of its own."""
    return match_key(example.name)


def _encode(example: Target, reader: TextReader, max_tokens: int) -> _Encoded:
    tokens = reader.read(example.text)
    first, last = tokens.covering(example.start, example.stop)
    lower, upper = window_around(len(tokens.ids), first, last, max_tokens)
    spans = [tokens.covering(*span) for span in dict.fromkeys([*example.mentions, (example.start, example.stop)])]
    clipped = [(max(a, lower) - lower, min(b, upper) - lower) for a, b in spans if b > lower and a < upper]
    ends = [stop for _, stop in split_sentences(example.text)]
    return _Encoded(
        ids=tokens.ids[lower:upper],
        target=(first - lower, min(last, upper) - lower),
        mentions=[(a, b) for a, b in clipped if a < b],
        sentences=[bisect_right(ends, start) for start in tokens.starts[lower:upper]],
        starts=tokens.starts[lower:upper],
        stops=tokens.stops[lower:upper],
    )


def _positions(ranges: Sequence[Sequence[int]]) -> Positions:
    return Positions(*_pad(ranges, 0))


def _pad(rows: Sequence[Sequence[int]], value: int) -> tuple[Tensor, Tensor]:
    """Return int64 (batch, longest row, at least 1) and its bool mask."""
    lengths = torch.tensor([len(row) for row in rows])
    width = max(1, int(lengths.max()))
    padded = torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
    return padded, torch.arange(width) < lengths[:, None]

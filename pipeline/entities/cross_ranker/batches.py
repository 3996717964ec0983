"""Passages -> padded tensors. All passages of an article share a batch in training, so that they can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from pipeline.entities.cross_ranker.inputs import Passage
from pipeline.nn.lengths import batches_by_length


@dataclass(frozen=True)
class CrossBatch:
    """Passages padded to one length; each holds one candidate or several."""

    tokens: Tensor
    """int64 (batch, seq_len)."""
    mask: Tensor
    """bool (batch, seq_len): False at padding."""
    segments: Tensor
    """int64 (batch, seq_len): 1 after the first separator."""
    mentions: Tensor
    """bool (batch, n_candidates, seq_len): True on the tokens of a candidate's mentions."""
    candidates: Tensor
    """bool (batch, n_candidates): False where a passage has fewer."""
    articles: Tensor
    """int64 (n_scores,): the article of each candidate; scores are read passage by passage, in order."""
    labels: Tensor | None = None
    """float32 (n_scores,): 1 for gold entities, in training."""

    def to(self, device: torch.device) -> CrossBatch:
        """Return the batch on a device."""
        present = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: part.to(device) for name, part in present.items() if part is not None})


@dataclass(frozen=True)
class LabelledPassages:
    """The passages of one article, and the label of each of their candidates."""

    passages: list[Passage]
    labels: np.ndarray
    """float32 (n_candidates,): over all passages, in order."""


class ArticleBatches:
    """Training batches of whole articles, in another order and with other wrong candidates each epoch.

    Args:
        articles: every article with at least one passage.
        padding: id of padding.
        batch_size: articles of a batch.
        n_negatives: wrong candidates drawn of an article whose candidates have passages of their own; None keeps all.
        seed: of order and draws; both depend on it and on the epoch's number alone.
    """

    def __init__(
        self,
        articles: Sequence[LabelledPassages],
        *,
        padding: int,
        batch_size: int,
        n_negatives: int | None,
        seed: int,
    ) -> None:
        self._articles, self._padding, self._batch_size = articles, padding, batch_size
        self._n_negatives, self._seed = n_negatives, seed
        longest = [max(len(passage.ids) for passage in article.passages) for article in articles]
        self._lengths = np.array(longest, dtype=np.int64)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return -(-len(self._articles) // self._batch_size)

    def epoch(self, number: int) -> Iterator[CrossBatch]:
        """Yield the articles of an epoch."""
        rng = np.random.default_rng([self._seed, number])
        for rows in batches_by_length(self._lengths, batch_size=self._batch_size, rng=rng):
            drawn = [self._draw(self._articles[row], rng) for row in rows]
            passages = [passage for article in drawn for passage in article.passages]
            owners = [place for place, article in enumerate(drawn) for _ in article.passages]
            labels = np.concatenate([article.labels for article in drawn])
            yield collate(passages, owners, padding=self._padding, labels=labels)

    def _draw(self, article: LabelledPassages, rng: np.random.Generator) -> LabelledPassages:
        wrong = np.flatnonzero(article.labels == 0)
        if self._n_negatives is None or len(wrong) <= self._n_negatives:
            return article
        drawn = rng.choice(wrong, self._n_negatives, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(article.labels), drawn]))
        return LabelledPassages([article.passages[row] for row in rows], article.labels[rows])


def collate(
    passages: Sequence[Passage], owners: Sequence[int], *, padding: int, labels: np.ndarray | None = None
) -> CrossBatch:
    """Pad passages to the longest; ``owners`` says which article each belongs to."""
    lengths = torch.tensor([len(passage.ids) for passage in passages])
    counts = torch.tensor([len(passage.mentions) for passage in passages])
    width, n_candidates = int(lengths.max()), int(counts.max())
    tokens = torch.full((len(passages), width), padding, dtype=torch.int64)
    mentions = torch.zeros((len(passages), n_candidates, width), dtype=torch.bool)
    for row, passage in enumerate(passages):
        tokens[row, : len(passage.ids)] = torch.from_numpy(passage.ids.astype(np.int64))
        for candidate, places in enumerate(passage.mentions):
            mentions[row, candidate, torch.from_numpy(places)] = True
    mask = torch.arange(width) < lengths[:, None]
    seconds = torch.tensor([passage.second for passage in passages])
    return CrossBatch(
        tokens=tokens,
        mask=mask,
        segments=(torch.arange(width) >= seconds[:, None]).long() * mask,
        mentions=mentions,
        candidates=torch.arange(n_candidates) < counts[:, None],
        articles=torch.tensor(owners).repeat_interleave(counts),
        labels=None if labels is None else torch.from_numpy(labels.astype(np.float32)),
    )

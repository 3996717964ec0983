"""Pairs as batches of token ids: of candidates drawn anew each epoch in training, of every candidate in prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from pipeline.entities.relevance.matchers.base import PairBatch, Side
from pipeline.entities.relevance.pairs import ArticlePairs
from pipeline.nn.lengths import batches_by_length
from pipeline.nn.vocab import Vocabulary

N_MARKS = 2
"""Token ids after those of the vocabulary: they open and close a name in its context."""


class TokenReader:
    """Tokens to ids, and which of them a matcher reads.

    Args:
        vocabulary: token ids.
        stopwords: tokens that are not read.
    """

    def __init__(self, vocabulary: Vocabulary, stopwords: Iterable[str] = ()) -> None:
        self.vocabulary = vocabulary
        self.stopwords = frozenset(stopwords)

    def __len__(self) -> int:
        """Number of ids, marks included."""
        return len(self.vocabulary) + N_MARKS

    def encode(self, tokens: Sequence[str]) -> np.ndarray:
        """Return the ids of all tokens: int64 (n_tokens,)."""
        return np.array(self.vocabulary.encode(tokens), dtype=np.int64)

    def is_read(self, tokens: Sequence[str]) -> np.ndarray:
        """Tell which tokens are no stopwords: bool (n_tokens,)."""
        return np.array([token not in self.stopwords for token in tokens], dtype=bool)


class EncodedArticle:
    """An article's tokens as ids, and the two texts of each of its pairs, without stopwords outside of names."""

    def __init__(self, article: ArticlePairs, reader: TokenReader) -> None:
        self.article = article
        self._ids = reader.encode(article.tokens)
        self._is_read = reader.is_read(article.tokens)
        self._open = np.array([len(reader.vocabulary)], dtype=np.int64)
        self._close = self._open + 1

    @property
    def title(self) -> np.ndarray:
        """Ids of the left text: int64 (n_tokens,)."""
        return self._read(*self.article.title)

    def context(self, row: int) -> np.ndarray:
        """Ids of a candidate's context, its mentions between marks: int64 (n_tokens,)."""
        parts: list[np.ndarray] = []
        for start, first, last, stop in self.article.context(row):
            parts += [self._read(start, first), self._open, self._ids[first:last], self._close, self._read(last, stop)]
        return np.concatenate(parts) if parts else self._ids[:0]

    def _read(self, start: int, stop: int) -> np.ndarray:
        return self._ids[start:stop][self._is_read[start:stop]]


class TrainingPairs:
    """Batches of every core entity and of some candidates that are not core, drawn anew each epoch.

    Of each article ``n_negatives`` are drawn for each of its core entities, without repetition, in proportion to
    ``ArticlePairs.weights``; as many as there are, if there are fewer.

    Args:
        articles: those with a core entity among their candidates; others have nothing to pair.
        reader: token ids.
        n_negatives: for each core entity.
        batch_size: most pairs of a batch.
        seed: the pairs of an epoch and their order depend on it and on the epoch's number alone.
    """

    def __init__(
        self, articles: Sequence[ArticlePairs], reader: TokenReader, *, n_negatives: int, batch_size: int, seed: int
    ) -> None:
        self._articles = [EncodedArticle(article, reader) for article in articles]
        self._n_negatives = [
            min(n_negatives * int(article.is_core.sum()), int((article.weights > 0).sum())) for article in articles
        ]
        self._n_pairs = sum(self._n_negatives) + sum(int(article.is_core.sum()) for article in articles)
        self._batch_size = batch_size
        self._seed = seed

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-self._n_pairs // self._batch_size)

    def epoch(self, number: int) -> Iterator[PairBatch]:
        """Yield the batches of an epoch, pairs of similar length together."""
        rng = np.random.default_rng([self._seed, number])
        titles, contexts, labels = [], [], []
        for index, row, label in self.sample(rng):
            titles.append(self._articles[index].title)
            contexts.append(self._articles[index].context(row))
            labels.append(float(label))
        lengths = np.array([len(context) for context in contexts], dtype=np.int64)
        for rows in batches_by_length(lengths, batch_size=self._batch_size, rng=rng):
            yield PairBatch(
                Side.of([titles[row] for row in rows]),
                Side.of([contexts[row] for row in rows]),
                torch.tensor([labels[row] for row in rows]),
            )

    def sample(self, rng: np.random.Generator) -> list[tuple[int, int, bool]]:
        """Draw the pairs of an epoch: index of the article, row of its candidate, whether that is core."""
        drawn: list[tuple[int, int, bool]] = []
        for index, (encoded, n_negatives) in enumerate(zip(self._articles, self._n_negatives, strict=True)):
            article = encoded.article
            drawn += [(index, int(row), True) for row in np.flatnonzero(article.is_core)]
            if n_negatives:
                chances = article.weights / article.weights.sum()
                rows = rng.choice(len(article), n_negatives, replace=False, p=chances)
                drawn += [(index, int(row), False) for row in rows]
        return drawn


def article_batches(encoded: EncodedArticle, *, batch_size: int) -> Iterator[tuple[np.ndarray, PairBatch]]:
    """Yield row numbers and pairs of all candidates of one article.

    Batches hold one article alone, so the last bits of its scores do not depend on the articles around it.
    """
    contexts = [encoded.context(row) for row in range(len(encoded.article))]
    lengths = np.array([len(context) for context in contexts], dtype=np.int64)
    for rows in batches_by_length(lengths, batch_size=batch_size):
        yield rows, PairBatch(Side.of([encoded.title] * len(rows)), Side.of([contexts[row] for row in rows]))

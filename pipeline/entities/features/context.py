"""What every feature group reads: one article's candidates and quantities derived once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.entities.candidates import CandidateSet
from pipeline.text import Document, Segmenter

Columns = dict[str, np.ndarray]
"""Named columns, each of shape (n_candidates,)."""


@dataclass(frozen=True)
class FeatureContext:
    """The candidates of one article.

    Arrays over occurrences follow ``candidates.starts``; ``per_candidate_*`` reduces them to one value per candidate.
    """

    candidates: CandidateSet
    segmenter: Segmenter

    @property
    def document(self) -> Document:
        """The article."""
        return self.candidates.document

    @property
    def tf(self) -> np.ndarray:
        """Occurrences: int64 (n_candidates,)."""
        return self.candidates.counts

    @cached_property
    def owner(self) -> np.ndarray:
        """Row of the candidate of each occurrence: int64 (n_occurrences,)."""
        return np.repeat(np.arange(len(self.candidates)), self.tf)

    @property
    def starts(self) -> np.ndarray:
        """First character of each occurrence."""
        return self.candidates.starts

    @cached_property
    def stops(self) -> np.ndarray:
        """One past the last character of each occurrence."""
        return self.starts + self.candidates.lengths[self.owner]

    @cached_property
    def in_title(self) -> np.ndarray:
        """Whether each occurrence lies in the title."""
        return self.starts < self.document.content_start

    @cached_property
    def sentence(self) -> np.ndarray:
        """Sentence index of each occurrence."""
        bounds = np.fromiter((start for start, _ in self.document.sentences), np.int64)
        return np.searchsorted(bounds, self.starts, side="right") - 1

    @cached_property
    def word_starts(self) -> np.ndarray:
        """First character of each word, and the length of the text: int64 (n_words + 1,)."""
        return np.asarray(self.candidates.words.starts, dtype=np.int64)

    @cached_property
    def characters(self) -> np.ndarray:
        """Code points of the text, padded with one line break at either side: int64 (n_chars + 2,)."""
        padded = f"\n{self.document.text}\n"
        return np.frombuffer(padded.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)

    @property
    def left_char(self) -> np.ndarray:
        """Code point before each occurrence."""
        return self.characters[self.starts]

    @property
    def right_char(self) -> np.ndarray:
        """Code point after each occurrence."""
        return self.characters[self.stops + 1]

    def per_candidate_sum(self, values: np.ndarray) -> np.ndarray:
        """Sum a value of each occurrence over the candidate's occurrences."""
        return np.add.reduceat(values.astype(np.float64), self.candidates.offsets[:-1])

    def per_candidate_max(self, values: np.ndarray) -> np.ndarray:
        """Largest value over the candidate's occurrences."""
        return np.maximum.reduceat(values, self.candidates.offsets[:-1])

    def per_candidate_share(self, flags: np.ndarray) -> np.ndarray:
        """Share of the candidate's occurrences for which a flag holds."""
        return self.per_candidate_sum(flags) / self.tf

    @property
    def first(self) -> np.ndarray:
        """First occurrence's position of each candidate."""
        return self.candidates.firsts

    @property
    def last(self) -> np.ndarray:
        """Last occurrence's position of each candidate."""
        return self.starts[self.candidates.offsets[1:] - 1]


def rank_descending(values: np.ndarray) -> np.ndarray:
    """Rank within the article, 0 for the largest; equal values share the best rank."""
    ordered = np.sort(values)
    return len(values) - np.searchsorted(ordered, values, side="right")

"""Mention votes: what the scored spans of an article say, taken together, about each name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.emotions.sentiment.scores import Probs, fit_temperature, one_hot, with_temperature
from pipeline.schema import EMOTIONS, Emotion
from pipeline.text.dictionary import has_word_boundaries
from pipeline.text.spans import ScoredSpan

Votes = NDArray[np.float64]
"""(n_names, n_emotions), columns in the order of ``EMOTIONS``: summed probabilities; a row of zeros: no vote."""

DECIMALS = 9
"""Of sums of probabilities: 0.1 + 0.2 and 0.3 are a tie."""
_COLUMN = {emotion.value: column for column, emotion in enumerate(EMOTIONS)}
CERTAIN = 1 - 1e-6
"""Highest probability of a span in a product, so that its logarithm stays finite."""


@dataclass(frozen=True)
class NameVotes:
    """The names that the scored spans of one article spell, in order of first occurrence."""

    keys: list[str]
    firsts: NDArray[np.int64]
    """(n_names,): first scored position of each."""
    emotions: Votes
    log_misses: NDArray[np.float64]
    """(n_names,): sum over the mentions of log(1 - p), p the probability of an entity of whatever emotion."""

    @classmethod
    def of(cls, text: str, spans: Sequence[ScoredSpan]) -> NameVotes:
        """Add up the spans of a text by what they spell; their labels are emotions.

        Spans that cut a run of Latin letters and digits, or hold neither letter nor digit, are no names.
        """
        mentions: dict[tuple[int, int], Votes] = {}
        for start, stop, prob, label in spans:
            mentions.setdefault((start, stop), np.zeros(len(EMOTIONS)))[_COLUMN[label]] += prob
        firsts: dict[str, int] = {}
        emotions: dict[str, Votes] = {}
        misses: dict[str, float] = {}
        for (start, stop), votes in sorted(mentions.items(), key=lambda mention: mention[0]):
            key = text[start:stop]
            if has_word_boundaries(text, start, stop) and any(char.isalnum() for char in key):
                firsts.setdefault(key, start)
                emotions[key] = emotions.get(key, 0.0) + votes
                misses[key] = misses.get(key, 0.0) + float(np.log1p(-min(float(votes.sum()), CERTAIN)))
        keys = list(firsts)
        return cls(
            keys,
            np.array([firsts[key] for key in keys], dtype=np.int64),
            np.array([emotions[key] for key in keys]).reshape(len(keys), len(EMOTIONS)).round(DECIMALS),
            np.array([misses[key] for key in keys], dtype=np.float64),
        )

    def of_keys(self, keys: Sequence[str]) -> Votes:
        """Return the votes for some names."""
        row_of = {key: row for row, key in enumerate(self.keys)}
        none = np.zeros(len(EMOTIONS))
        rows = [self.emotions[row_of[key]] if key in row_of else none for key in keys]
        return np.array(rows).reshape(len(keys), len(EMOTIONS))


class EmotionVoter:
    """Emotion probabilities of names: the shares of their votes, under one temperature.

    A name without a vote gets the emotions' shares in training.

    Learnt: ``temperature_``, ``shares_``; ``oof_probs_``, those of the training entities, their own fold left out of
    the shares.
    """

    def fit(self, votes: Votes, gold: Sequence[Emotion], folds: Sequence[int]) -> EmotionVoter:
        """Fit on out-of-fold votes.

        Args:
            votes: of the gold entities of the training articles.
            gold: the emotion of each.
            folds: the fold of each.
        """
        truth = one_hot(gold)
        self.shares_: NDArray[np.float64] = truth.mean(0)
        voted = votes.sum(1) > 0
        emotions = [emotion for emotion, has_vote in zip(gold, voted, strict=True) if has_vote]
        self.temperature_ = fit_temperature(_shares(votes[voted]), emotions) if emotions else 1.0
        self.oof_probs_: Probs = self.probs(votes)
        for fold in set(folds):
            of_fold = np.array(folds) == fold
            if not of_fold.all():
                self.oof_probs_[of_fold & ~voted] = truth[~of_fold].mean(0)
        return self

    def probs(self, votes: Votes) -> Probs:
        """Return the probability of each emotion for each name."""
        probs = np.tile(self.shares_, (len(votes), 1))
        voted = votes.sum(1) > 0
        if voted.any():
            probs[voted] = with_temperature(_shares(votes[voted]), self.temperature_)
        return probs


def _shares(votes: Votes) -> Probs:
    shares: Probs = votes / votes.sum(1, keepdims=True)
    return shares

"""Mention votes and the order of names, against brute force over the spans."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emotions.sentiment.scores import likeliest
from pipeline.entities.rerank import OutOfFoldRankings
from pipeline.errors import ArtifactError
from pipeline.joint import EmotionVoter, NameVotes, VoteRanking, fuse_names, fuse_rankings
from pipeline.schema import EMOTIONS, Emotion
from pipeline.text.spans import ScoredSpan

TEXT = "云杉云杉银杏nova银杏。s7"
LABELS = [emotion.value for emotion in EMOTIONS]

spans_of_text = st.lists(
    st.builds(
        lambda start, length, probs: [
            ScoredSpan(start, min(start + length, len(TEXT)), prob, label)
            for label, prob in zip(LABELS, probs, strict=True)
        ],
        st.integers(0, len(TEXT) - 1),
        st.integers(1, 4),
        st.tuples(*[st.floats(0.001, 0.33)] * 3),
    ),
    max_size=8,
    unique_by=lambda spans: spans[0][:2],
).map(lambda groups: [span for group in groups for span in group])


def brute_force(spans: list[ScoredSpan]) -> dict[str, tuple[list[float], float]]:
    """Return sums by emotion and the probability of at least one entity, name by name."""
    answers = {}
    for key in {TEXT[span.start : span.stop] for span in spans}:
        mine = [span for span in spans if TEXT[span.start : span.stop] == key]
        sums = [sum(span.prob for span in mine if span.label == label) for label in LABELS]
        miss = math.prod(
            1 - sum(span.prob for span in mine if span[:2] == place) for place in {span[:2] for span in mine}
        )
        answers[key] = (sums, 1 - miss)
    return answers


def is_name(spans: list[ScoredSpan], key: str) -> bool:
    latin = {"n", "o", "v", "a", "s", "7"}
    for span in spans:
        if TEXT[span.start : span.stop] == key:
            cuts_left = span.start > 0 and {TEXT[span.start], TEXT[span.start - 1]} <= latin
            cuts_right = span.stop < len(TEXT) and {TEXT[span.stop - 1], TEXT[span.stop]} <= latin
            if not cuts_left and not cuts_right:
                return key != "。"
    return False


@given(spans_of_text)
def test_votes_and_scores_are_those_of_brute_force(spans: list[ScoredSpan]) -> None:
    votes = NameVotes.of(TEXT, spans)
    expected = brute_force(spans)
    assert set(votes.keys) == {key for key in expected if is_name(spans, key)}
    assert votes.firsts.tolist() == sorted(votes.firsts.tolist())
    noisy_or = VoteRanking("noisy_or").scores(votes)
    total = VoteRanking("sum").scores(votes)
    for row, key in enumerate(votes.keys):
        sums, at_least_one = expected[key]
        assert votes.emotions[row].tolist() == pytest.approx(sums, abs=1e-8)
        assert 1 / (1 + math.exp(-noisy_or[row])) == pytest.approx(at_least_one, abs=1e-6)
        assert math.exp(total[row]) == pytest.approx(sum(sums), abs=1e-6)
    assert votes.of_keys(["天王星"]).tolist() == [[0, 0, 0]]


class TestVoter:
    VOTES = np.array([[0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.0, 0.9, 0.1], [0.0, 0.0, 0.0], [0.9, 0.0, 0.6]])
    GOLD = (Emotion.POS, Emotion.NEG, Emotion.NORM, Emotion.NEG, Emotion.NEG)
    FOLDS = (0, 0, 0, 1, 1)

    def test_probabilities_are_shares_of_the_votes_under_a_temperature(self) -> None:
        voter = EmotionVoter().fit(self.VOTES, self.GOLD, self.FOLDS)
        probs = voter.probs(self.VOTES)
        assert probs.sum(1) == pytest.approx(1)
        assert probs[[0, 1, 2, 4]].argmax(1).tolist() == self.VOTES[[0, 1, 2, 4]].argmax(1).tolist()
        shares = self.VOTES[0] / self.VOTES[0].sum()
        tempered = shares ** (1 / voter.temperature_)
        assert probs[0] == pytest.approx(tempered / tempered.sum())

    def test_ties_go_to_the_more_frequent_emotion_in_training(self) -> None:
        mentions = [("云杉", "POS", 0.1), ("云杉", "POS", 0.2), ("云杉", "NORM", 0.3), ("云杉", "NEG", 0.3)]
        mentions += [("银杏", "POS", 0.3), ("银杏", "NORM", 0.1), ("银杏", "NORM", 0.2)]
        mentions += [("nova", "NORM", 0.5), ("nova", "NEG", 0.5), ("s7", "NORM", 0.2), ("s7", "NEG", 0.3)]
        text = "。".join(name for name, _, _ in mentions)
        places = [sum(len(name) + 1 for name, _, _ in mentions[:row]) for row in range(len(mentions))]
        votes = NameVotes.of(
            text,
            [
                ScoredSpan(start, start + len(name), prob, label)
                for start, (name, label, prob) in zip(places, mentions, strict=True)
            ],
        )
        voter = EmotionVoter().fit(self.VOTES, self.GOLD, self.FOLDS)
        emotions = dict(zip(votes.keys, likeliest(voter.probs(votes.emotions)), strict=True))
        assert emotions == {"云杉": Emotion.POS, "银杏": Emotion.POS, "nova": Emotion.NORM, "s7": Emotion.NEG}

    def test_a_name_without_votes_gets_the_shares_in_training_without_its_own_fold(self) -> None:
        voter = EmotionVoter().fit(self.VOTES, self.GOLD, self.FOLDS)
        assert voter.probs(np.zeros((1, 3)))[0] == pytest.approx([0.2, 0.2, 0.6])
        assert voter.oof_probs_[3] == pytest.approx([1 / 3] * 3)

    def test_no_vote_at_all_is_legal(self) -> None:
        voter = EmotionVoter().fit(np.zeros((5, 3)), self.GOLD, self.FOLDS)
        assert voter.probs(np.zeros((2, 3))) == pytest.approx(np.array([[0.2, 0.2, 0.6]] * 2))
        assert voter.probs(np.zeros((0, 3))).shape == (0, 3)


def ranked(keys: list[str], probs: list[float], gold: set[str]) -> OutOfFoldRankings:
    labels = np.array([key in gold for key in keys], dtype=np.float32)
    firsts = np.arange(len(keys))
    return OutOfFoldRankings(["a"], [0], [keys], [firsts], [np.array(probs)], [labels], [len(gold)])


class TestOwnRanking:
    VOTES = tuple(
        NameVotes.of("云杉。银杏", [ScoredSpan(0, 2, high, "POS"), ScoredSpan(3, 5, low, "NEG")])
        for high, low in [(0.9, 0.1), (0.8, 0.3), (0.7, 0.2), (0.9, 0.05)]
    )

    def test_a_likelier_name_ranks_higher_and_survives_json(self) -> None:
        options = {"news_ids": list("abcd"), "folds": [0, 1, 0, 1], "max_entities": 3}
        fitted = VoteRanking("noisy_or").fit(self.VOTES, [{"云杉"}] * 4, **options)
        assert fitted.oof_entity_f1_ == 1.0
        assert all(fitted.probs(votes)[0] > fitted.probs(votes)[1] for votes in self.VOTES)
        again = VoteRanking.from_dict(fitted.to_dict())
        assert again.probs(self.VOTES[0]).tolist() == fitted.probs(self.VOTES[0]).tolist()
        assert again.rule_ == fitted.rule_

    def test_nothing_found_anywhere_is_legal(self) -> None:
        nothing = [NameVotes.of("云杉", [])] * 2
        fitted = VoteRanking("sum").fit(nothing, [{"云杉"}] * 2, news_ids=["a", "b"], folds=[0, 1], max_entities=3)
        assert fitted.oof_entity_f1_ == 0.0
        assert fitted.probs(nothing[0]).shape == (0,)

    def test_damaged_parameters_are_named(self) -> None:
        with pytest.raises(ArtifactError, match="want score, calibrator and rule"):
            VoteRanking.from_dict({"score": "sum"})


class TestFusion:
    def test_a_name_that_one_side_lacks_counts_as_zero_there(self) -> None:
        assert fuse_names({"甲": 0.5, "乙": 0.25}, {"乙": 0.75, "丙": 1.0}) == {"甲": 0.25, "乙": 0.5, "丙": 0.5}

    def test_rankings_are_joined_by_name(self) -> None:
        fused = fuse_rankings(ranked(["甲", "乙"], [0.5, 0.25], {"乙"}), ranked(["丙", "乙"], [1.0, 0.75], {"乙"}))
        assert fused.keys == [["甲", "乙", "丙"]]
        assert fused.probs[0].tolist() == [0.25, 0.5, 0.5]
        assert fused.labels[0].tolist() == [0, 1, 0]
        assert fused.n_gold == [1]

    def test_other_articles_are_refused(self) -> None:
        other = OutOfFoldRankings(["b"], [0], [[]], [np.zeros(0)], [np.zeros(0)], [np.zeros(0)], [0])
        with pytest.raises(ValueError, match="different articles"):
            fuse_rankings(ranked(["甲"], [0.5], set()), other)

"""How the predictor puts its parts together; the parts are stand-ins with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.config import Config, load_config
from pipeline.entities.candidates import CandidateSet, Source, locate
from pipeline.entities.features import KeyCounts
from pipeline.entities.rerank import NumberRule
from pipeline.schema import Article, Emotion, Target
from pipeline.text import Document, default_segmenter
from pipeline.text.spans import ScoredSpan
from pipeline.workflow.entity_finder import EntityFinder, Ranking
from pipeline.workflow.predict import Predictor

ARTICLE = Article("a", "云杉汽车", "银杏书店与海棠茶社。")
RULE = NumberRule(floor=0.5, share_of_top=0.0)
BY_FINDER = {"云杉汽车": 0.9, "银杏书店": 0.6, "海棠茶社": 0.2}
BY_TAGGER = {"银杏书店": 0.8, "云杉汽车": 0.4}
SENTIMENT, VOTES = np.array([0.8, 0.1, 0.1]), np.array([0.0, 0.1, 0.9])


class Sentiment:
    """Says one thing of every target."""

    def predict(self, targets: Sequence[Target]) -> np.ndarray:
        return np.tile(SENTIMENT, (len(targets), 1))


class Finder:
    """Offers three names with known probabilities."""

    def offered(self, document: Document, spans: Any) -> CandidateSet:
        words = default_segmenter().cut(document.text)
        return locate(document, words, dict.fromkeys(BY_FINDER, int(Source.WORD)))

    def rank(self, offered: CandidateSet) -> Ranking:
        return Ranking.by(RULE, offered, np.array([BY_FINDER[key] for key in offered.keys]))


class Joint:
    """Finds two of the names, and says one thing of each."""

    ranking_ = SimpleNamespace(probs=lambda votes: np.array([BY_TAGGER[key] for key in votes.keys]))
    voter_ = SimpleNamespace(probs=lambda votes: np.tile(VOTES, (len(votes), 1)))

    def predict(self, documents: Sequence[Document]) -> list[list[ScoredSpan]]:
        return [
            [
                ScoredSpan(start, start + len(name), 0.5, "NEG")
                for name in BY_TAGGER
                for start in [document.text.index(name)]
            ]
            for document in documents
        ]


def predictor(*parts: str, ranking: str = "own") -> Predictor:
    stand_ins: dict[str, Any] = {"finder": Finder(), "joint": Joint(), "sentiment": Sentiment()}
    config = load_config(preset="tiny", overrides=["mode=fused", "tagger.name=lstm", f"joint.ranking={ranking}"])
    return Predictor(config, rule=RULE, **{name: stand_ins[name] for name in parts})


def scores(trained: Predictor) -> dict[str, float]:
    [answer] = trained.predict([ARTICLE])
    return {entity.name: entity.score for entity in answer.entities}


def test_both_rankings_count_and_a_name_that_one_lacks_counts_as_zero_there() -> None:
    fused = predictor("finder", "joint", "sentiment")
    assert scores(fused) == pytest.approx({"银杏书店": (0.6 + 0.8) / 2, "云杉汽车": (0.9 + 0.4) / 2})
    [answer] = fused.predict([ARTICLE])
    assert {name.name: name.score for name in answer.runners_up} == pytest.approx({"海棠茶社": 0.1})


def test_the_reranker_alone_ranks_where_the_joint_tagger_has_no_say() -> None:
    assert scores(predictor("finder", "joint", "sentiment", ranking="reranker")) == {"云杉汽车": 0.9, "银杏书店": 0.6}


def test_the_joint_tagger_alone_ranks_where_there_is_no_reranker() -> None:
    found = predictor("joint")
    assert scores(found) == {"银杏书店": 0.8}  # 云杉汽车 stays below the floor
    [answer] = found.predict([ARTICLE])
    assert [entity.emotion for entity in answer.entities] == [Emotion.NEG]


@pytest.mark.parametrize(
    ("parts", "probs"),
    [
        (("finder", "sentiment"), SENTIMENT),
        (("joint",), VOTES),
        (("finder", "joint", "sentiment"), (SENTIMENT + VOTES) / 2),
    ],
    ids=["two stages", "joint", "fused"],
)
def test_emotions_are_the_average_of_those_who_tell_any(parts: tuple[str, ...], probs: np.ndarray) -> None:
    [answer] = predictor(*parts).predict([ARTICLE])
    assert answer.entities
    for entity in answer.entities:
        assert entity.probs == pytest.approx(tuple(probs))


def test_an_answer_is_not_among_its_runners_up() -> None:
    [answer] = predictor("finder", "sentiment").predict([ARTICLE])
    assert [entity.name for entity in answer.entities] == ["云杉汽车", "银杏书店"]
    assert [other.name for other in answer.runners_up] == ["海棠茶社"]


def test_emotions_stay_with_their_article() -> None:
    """Of three articles the one in the middle has no name."""
    articles = [ARTICLE, Article("b", "", ""), Article("c", "", "海棠茶社和云杉汽车")]
    answers = predictor("finder", "sentiment").predict(articles)
    assert [[entity.name for entity in answer.entities] for answer in answers] == [
        ["云杉汽车", "银杏书店"],
        [],
        ["云杉汽车"],
    ]


# --- the reranker's columns, as in training


class Stage:
    """Keeps the columns that it is given."""

    rule_ = RULE

    def __init__(self) -> None:
        self.model_ = SimpleNamespace(check_features=lambda names: setattr(self, "names", list(names)))

    def probs(self, matrix: np.ndarray) -> np.ndarray:
        self.matrix = matrix
        return np.full(len(matrix), 0.7)


def test_hit_rates_are_smoothed_as_in_training() -> None:
    config: Config = load_config(preset="tiny", overrides=["rerank.hit_rate_smoothing=4.0"])
    stage, counts = Stage(), KeyCounts(10, 20, 5, {"云杉汽车": (6, 3)})
    finder = EntityFinder(config, extractor=Any, counts=counts, stage=stage)  # type: ignore[arg-type]
    finder.extractor = SimpleNamespace(describe=None, segmenter=default_segmenter())  # type: ignore[assignment]
    offered = Finder().offered(Document.of(ARTICLE), None)
    ranked = finder.rank_with(Ranking.by(RULE, offered, np.ones(len(offered))), ["书店"], Source.WORDS)
    rate = dict(zip(ranked.candidates.keys, stage.matrix[:, stage.names.index("hit_rate.hit_rate")], strict=True))
    assert rate["云杉汽车"] == pytest.approx((3 + 4 * 0.25) / (6 + 4))
    assert rate["海棠茶社"] == pytest.approx(0.25)  # the prior

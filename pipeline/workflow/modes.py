"""What a run is made of in each mode, and its out-of-fold answers where they come from more than one stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.artifacts import RunFolder, read_table, write_table
from pipeline.config import Config
from pipeline.emotions.sentiment import Scores
from pipeline.entities.features.extract import gold_keys
from pipeline.entities.rerank import OutOfFoldRankings
from pipeline.joint import fuse_emotions, fuse_rankings, write_rule
from pipeline.registry import HEADS
from pipeline.schema import Article, Emotion
from pipeline.text import Document

if TYPE_CHECKING:
    import pandas as pd

PROBS = ("p_pos", "p_norm", "p_neg")
JOINT_VOTES = "joint votes"
FUSED = "fused"
"""Folder of what is tuned on averages."""


@dataclass(frozen=True)
class StageSet:
    """The stages of a run."""

    tagger: bool
    """The tagger of entities whatever their emotion."""
    joint: bool
    reranker: bool
    cross: bool
    """An encoder that reads the reranker's best candidates again."""
    sentiment: bool

    @classmethod
    def of(cls, config: Config) -> StageSet:
        """Return the stages of a mode."""
        two_stage, joint = config.mode != "joint", config.mode != "two_stage"
        reranker = two_stage or config.joint.ranking == "reranker"
        return cls(
            tagger=two_stage and config.tagger.name != "none" and not (joint and config.joint.shares_tagger),
            joint=joint,
            reranker=reranker,
            cross=reranker and config.cross.name != "none",
            sentiment=two_stage,
        )


def has_networks(config: Config) -> bool:
    """Tell whether a run may have a network in it, so that an article takes tens of milliseconds and more."""
    parts = StageSet.of(config)
    has_heads = parts.sentiment and any(member in HEADS for member in config.sentiment.members)
    return parts.tagger or parts.joint or parts.cross or config.relevance.is_on or has_heads


def join_predictions(
    run: RunFolder, config: Config, articles: Sequence[Article], folds: Mapping[str, int], figures: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the run's out-of-fold tables ``rerank`` and ``sentiment`` in modes joint and fused.

    Args:
        run: its joint stage, and in mode fused its two-stage models, are trained.
        config: options of the run.
        articles: the training articles.
        folds: the fold of each, by newsId.
        figures: of the stages.

    Returns:
        Figures under ``rerank`` and ``sentiment``, of the same form as in mode two_stage.
    """
    own = config.joint.ranking == "own"
    emotions = read_table(run.oof("joint"))
    found: dict[str, Any] = {}
    if config.mode == "joint":
        found["sentiment"] = {"chosen": JOINT_VOTES, "table": figures["joint"]["table"]}
        if own:
            found["rerank"] = figures["joint"]
            write_table(run.oof("rerank"), read_table(run.oof("joint_entities")))
    else:
        emotions, scores = _fused_emotions(read_table(run.oof("two_stage_sentiment")), emotions)
        table = [*figures["sentiment"]["table"], *figures["joint"]["table"], asdict(scores)]
        found["sentiment"] = {"chosen": f"{figures['sentiment']['chosen']}+{JOINT_VOTES}", "table": table}
        if own:
            found["rerank"] = _fuse_entities(run, config, articles, folds)
        else:
            write_table(run.oof("rerank"), read_table(run.oof("two_stage_rerank")))
    write_table(run.oof("sentiment"), emotions)
    return found


def _fused_emotions(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, Scores]:
    """Average two tables of the same gold entities in the same order."""
    keys = ["news_id", "name", "fold", "gold"]
    if not first[keys].equals(second[keys]):
        raise ValueError("the emotion tables hold different entities")
    probs = fuse_emotions(*(table[list(PROBS)].to_numpy().astype(np.float64) for table in (first, second)))
    fused = first.assign(**dict(zip(PROBS, probs.T, strict=True)))
    gold = [Emotion(emotion) for emotion in first["gold"]]
    return fused, Scores.of("fused", probs, gold, seconds=0.0)


def _fuse_entities(
    run: RunFolder, config: Config, articles: Sequence[Article], folds: Mapping[str, int]
) -> dict[str, Any]:
    """Average both rankings as far as their tables hold them, and tune the number rule anew."""
    facts = {
        "news_ids": [article.news_id for article in articles],
        "folds": [folds[article.news_id] for article in articles],
        "texts": [Document.of(article).text for article in articles],
        "n_gold": [len(gold_keys(article)) for article in articles],
    }
    first, second = (
        OutOfFoldRankings.from_table(read_table(run.oof(name)), **facts)  # type: ignore[arg-type]
        for name in ("two_stage_rerank", "joint_entities")
    )
    fused = fuse_rankings(first, second)
    rule, entity_f1 = fused.tune(max_entities=config.rerank.max_entities)
    write_rule(run.stage(FUSED), rule)
    write_table(run.oof("rerank"), fused.table(rule))
    return {
        "candidates_per_article": sum(map(len, fused.keys)) / len(fused.keys),
        "candidate_recall": fused.recall(),
        "rule": asdict(rule),
        "oof_entity_f1": entity_f1,
    }

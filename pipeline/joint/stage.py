"""The joint tagger as a stage: scored spans with emotions out-of-fold, and what is fitted on their votes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import Config
from pipeline.emotions.sentiment.order import ORDER, check_order
from pipeline.emotions.sentiment.scores import Scores
from pipeline.entities.tagging import TaggerStage, article_text
from pipeline.errors import ArtifactError
from pipeline.joint.vote_ranking import VoteRanking
from pipeline.joint.votes import EmotionVoter, NameVotes
from pipeline.runtime.trainings import TrainingMap, train_here
from pipeline.schema import EMOTIONS
from pipeline.text import Document, match_key
from pipeline.text.spans import ScoredSpan

if TYPE_CHECKING:
    import pandas as pd

LABELS = tuple(emotion.value for emotion in EMOTIONS)
TAGGER, VOTES = "tagger", "votes.json"
"""Names in the stage's folder."""


class JointStage:
    """Entities with emotions from one tagger, the network and training of ``config.tagger``.

    A span comes once for each emotion, with the probability of both. An entity's emotion is the one with the largest
    summed probability over its mentions (``likeliest`` says how ties go).

    Learnt: ``tagger_``; ``voter_``, the calibrated votes; ``ranking_``, the order of names by the tagger's own scores;
    ``oof_``, out-of-fold emotion probabilities of the gold entities; ``scores_``, their figures.

    Args:
        config: options of the run.
        log: file that gets a JSON line for each epoch.
    """

    def __init__(self, config: Config, *, log: Path | None = None) -> None:
        self.config = config
        self.log = log

    def fit_tagger(
        self,
        documents: Sequence[Document],
        folds: Sequence[int],
        *,
        folder: Path,
        training_map: TrainingMap = train_here,
    ) -> TaggerStage:
        """Train the tagger out-of-fold and on all; what was trained before is only loaded.

        Args:
            documents: training articles.
            folds: the fold of each.
            folder: of the stage in the run.
            training_map: runs the trainings.

        Raises:
            DataError, ArtifactError: see ``TaggerStage.fit``.
        """
        texts = [
            article_text(document, {entity.name: entity.emotion.value for entity in document.article.entities or ()})
            for document in documents
        ]
        stage = TaggerStage(self.config, labels=LABELS, label_weight=_label_weight(self.config), log=self.log)
        return stage.fit(texts, folds, folder=folder / TAGGER, training_map=training_map)

    def fit(
        self,
        documents: Sequence[Document],
        folds: Sequence[int],
        *,
        folder: Path,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train the tagger, then fit votes and ranking on its out-of-fold spans; see ``fit_tagger``."""
        self.tagger_ = self.fit_tagger(documents, folds, folder=folder, training_map=training_map)
        found = [
            NameVotes.of(document.text, spans) for document, spans in zip(documents, self.tagger_.oof_, strict=True)
        ]
        self._fit_votes(documents, folds, found)
        gold = [{match_key(entity.name) for entity in document.article.entities or ()} - {""} for document in documents]
        self.ranking_ = VoteRanking(self.config.joint.own_score).fit(
            found,
            gold,
            news_ids=[document.article.news_id for document in documents],
            folds=folds,
            max_entities=self.config.rerank.max_entities,
        )
        return self

    def predict(self, documents: Sequence[Document]) -> list[list[ScoredSpan]]:
        """Return the scored spans of each article, one for each emotion."""
        return self.tagger_.predict(documents)

    def save(self, folder: Path) -> None:
        """Write votes and ranking; the tagger wrote itself when it was trained."""
        voter = {"temperature": self.voter_.temperature_, "shares": self.voter_.shares_.tolist()}
        atomic_write_json(folder / VOTES, {"emotions": ORDER, "voter": voter, "ranking": self.ranking_.to_dict()})

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what was saved; ``config`` is that of the run.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        stage = cls(config)
        stage.tagger_ = TaggerStage.load(folder / TAGGER, config, labels=LABELS)
        state = read_json(folder / VOTES)
        try:
            check_order(folder / VOTES, state.get("emotions"))
            stage.voter_ = EmotionVoter()
            stage.voter_.temperature_ = float(state["voter"]["temperature"])
            stage.voter_.shares_ = np.array(state["voter"]["shares"], dtype=np.float64)
            if stage.voter_.shares_.shape != (len(ORDER),):
                raise ValueError(f"want {len(ORDER)} shares")
            stage.ranking_ = VoteRanking.from_dict(state["ranking"])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ArtifactError(f"{folder / VOTES}: want voter and ranking ({error})") from error
        return stage

    def _fit_votes(self, documents: Sequence[Document], folds: Sequence[int], found: Sequence[NameVotes]) -> None:
        entities = [
            (document.article.news_id, entity, fold, votes.of_keys([match_key(entity.name)])[0])
            for document, fold, votes in zip(documents, folds, found, strict=True)
            for entity in document.article.entities or ()
        ]
        news_ids, named, fold_of, votes = zip(*entities, strict=True)
        gold = [entity.emotion for entity in named]
        self.voter_ = EmotionVoter().fit(np.array(votes), gold, fold_of)
        self.scores_ = Scores.of("joint votes", self.voter_.oof_probs_, gold, seconds=0.0)
        self.oof_ = _oof_table(news_ids, [entity.name for entity in named], self.voter_.oof_probs_, fold_of, gold)


def _label_weight(config: Config) -> float | None:
    return config.joint.emotion_weight if config.joint.output == "two_heads" else None


def _oof_table(
    news_ids: Sequence[str], names: Sequence[str], probs: np.ndarray, folds: Sequence[int], gold: Sequence[str]
) -> pd.DataFrame:
    import pandas as pd  # prediction does without

    columns = {f"p_{emotion.lower()}": probs[:, column] for column, emotion in enumerate(EMOTIONS)}
    return pd.DataFrame(
        {"news_id": news_ids, "name": names, **columns, "fold": folds, "gold": [str(emotion) for emotion in gold]}
    )

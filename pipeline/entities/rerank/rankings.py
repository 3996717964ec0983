"""Names of several articles with out-of-fold probabilities: tuning of the number rule, and the table of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.entities.rerank.choose import NumberRule, choose, ranking, tune_rule

if TYPE_CHECKING:
    import pandas as pd

OOF_CANDIDATES_KEPT = 20
"""Best candidates of each article written to the out-of-fold table, beside every gold one."""


@dataclass(frozen=True)
class OutOfFoldRankings:
    """One entry of each list per article."""

    news_ids: Sequence[str]
    folds: Sequence[int]
    keys: Sequence[Sequence[str]]
    firsts: Sequence[np.ndarray]
    """First position of each name in its article."""
    probs: Sequence[np.ndarray]
    labels: Sequence[np.ndarray]
    """1 where the name is a gold entity."""
    n_gold: Sequence[int]
    """Gold entities of each article, found among the names or not."""

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        *,
        news_ids: Sequence[str],
        folds: Sequence[int],
        texts: Sequence[str],
        n_gold: Sequence[int],
    ) -> OutOfFoldRankings:
        """Rebuild from ``table`` as ``read_table`` gives it back: the names that were written.

        Args:
            table: of the articles, in any order.
            news_ids: every article, with names or without; the arguments below have an entry for each.
            folds: as in training.
            texts: the articles' normalised texts.
            n_gold: gold entities.
        """
        rows: dict[str, list[tuple[str, float, float]]] = {news_id: [] for news_id in news_ids}
        for row in table.to_dict("records"):
            rows[row["newsId"]].append((row["entity"], float(row["score"]), float(row["is_gold"])))
        of_article = [rows[news_id] for news_id in news_ids]
        return cls(
            news_ids,
            folds,
            keys=[[key for key, _, _ in names] for names in of_article],
            firsts=[
                np.array([text.find(key) for key, _, _ in names], np.int64)
                for text, names in zip(texts, of_article, strict=True)
            ],
            probs=[np.array([prob for _, prob, _ in names]) for names in of_article],
            labels=[np.array([gold for _, _, gold in names], np.float32) for names in of_article],
            n_gold=n_gold,
        )

    def tune(self, *, max_entities: int) -> tuple[NumberRule, float]:
        """Return the best number rule, and its mean entity F1; see ``tune_rule``."""
        return tune_rule(self.probs, self.labels, self.n_gold, self.keys, self.firsts, max_entities=max_entities)

    def recall(self) -> float:
        """Return the share of the gold entities that are among the names."""
        return sum(int(label.sum()) for label in self.labels) / max(sum(self.n_gold), 1)

    def table(self, rule: NumberRule, *, first: Sequence[np.ndarray] | None = None) -> pd.DataFrame:
        """List each article's best names and its gold ones, and whether the rule chooses them.

        Args:
            rule: for the number of names.
            first: probabilities of an earlier ranking, to be listed beside the final ones.
        """
        import pandas as pd  # prediction does without

        rows = []
        columns = (self.news_ids, self.folds, self.keys, self.firsts, self.probs, self.labels)
        for index, (news_id, fold, keys, firsts, probs, labels) in enumerate(zip(*columns, strict=True)):
            chosen = set(choose(probs, keys, firsts, rule))
            for rank, row in enumerate(ranking(probs, keys, firsts)):
                if rank < OOF_CANDIDATES_KEPT or labels[row]:
                    facts = (f"{probs[row]:.6f}", fold, int(labels[row]), int(row in chosen))
                    before = () if first is None else (f"{first[index][row]:.6f}",)
                    rows.append((news_id, keys[row], rank + 1, *facts, *before))
        names = ["newsId", "entity", "rank", "score", "fold", "is_gold", "is_chosen"]
        return pd.DataFrame(rows, columns=[*names, *(["first_score"] if first is not None else [])])

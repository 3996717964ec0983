"""A matcher as an estimator: vocabulary, network and training in one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.encoding import N_MARKS, EncodedArticle, TrainingPairs, article_batches
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch
from pipeline.entities.relevance.matchers.losses import pair_loss
from pipeline.entities.relevance.pairs import ArticlePairs
from pipeline.errors import ArtifactError
from pipeline.nn.loop import compute_device, one_thread, train
from pipeline.nn.vocab import Vocabulary
from pipeline.nn.weights import load_weights, save_weights
from pipeline.registry import MATCHERS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.runtime.processes import together

PREDICT_BATCH = 256
"""Most pairs scored at a time. Fixed: a batch's size could change the last bits of a score."""


class RelevanceModel:
    """One registered matcher, trained for a fixed number of epochs.

    Args:
        config: options; ``name`` says which matcher.
        seed: of the first weights, of the negatives and of training.
        log: gets a JSON line per epoch.
    """

    def __init__(self, config: RelevanceConfig, *, seed: int = 0, log: JsonLinesLog | None = None) -> None:
        self.config = config
        self.seed = seed
        self.log = log

    @together
    def fit(self, articles: Sequence[ArticlePairs]) -> Self:
        """Train on articles that have a core entity among their candidates; the vocabulary is theirs."""
        config = self.config
        with one_thread():
            set_seed(self.seed)
            self.vocabulary_ = Vocabulary.of_tokens(token for article in articles for token in article.tokens)
            self.network_ = self._build()
            batches = TrainingPairs(
                articles,
                self.vocabulary_,
                n_negatives=config.n_negatives,
                batch_size=config.training.batch_size,
                seed=self.seed,
            )

            def loss(network: nn.Module, batch: PairBatch) -> Tensor:
                if batch.labels is None:
                    raise ValueError("training needs labelled pairs")
                return pair_loss(config.loss, network(batch), batch.labels, margin=config.margin)

            for report in train(
                self.network_, batches, loss=loss, evaluate=None, config=config.training, seed=self.seed
            ):
                if self.log is not None:
                    self.log(report)
        return self

    def predict(self, articles: Sequence[ArticlePairs]) -> list[np.ndarray]:
        """Return the similarity of each article's pairs, float64 (n_candidates,), 0 to 1."""
        device = compute_device()
        self.network_.to(device)
        results = []
        with one_thread(), torch.inference_mode():
            for article in articles:
                scores = np.zeros(len(article))
                encoded = EncodedArticle(article, self.vocabulary_)
                for rows, batch in article_batches(encoded, batch_size=PREDICT_BATCH):
                    scores[rows] = self.network_.similarity(batch.to(device)).double().cpu().numpy()
                results.append(scores)
        return results

    def save(self, folder: Path) -> None:
        """Write the vocabulary and the name as JSON, the weights as safetensors."""
        self.vocabulary_.save(folder / "vocab.json")
        save_weights(self.network_, folder)
        atomic_write_json(folder / "matcher.json", self._identity())

    @classmethod
    def load(cls, folder: Path, config: RelevanceConfig) -> Self:
        """Read what ``save`` wrote; sizes are those of ``config``.

        Raises:
            ArtifactError: a file is missing or damaged, or another matcher, tokens or sizes were trained.
        """
        model = cls(config)
        path = folder / "matcher.json"
        if (found := read_json(path)) != model._identity():
            raise ArtifactError(f"{path}: holds {found}, the configuration wants {model._identity()}")
        model.vocabulary_ = Vocabulary.load(folder / "vocab.json")
        model.network_ = model._build()
        load_weights(model.network_, folder)
        return model

    def _identity(self) -> dict[str, str]:
        return {"name": self.config.name, "tokens": self.config.tokens}

    def _build(self) -> Matcher:
        kind: type[Matcher] = resolve(MATCHERS, self.config.name, kind="matcher")
        return kind(len(self.vocabulary_) + N_MARKS, self.config)

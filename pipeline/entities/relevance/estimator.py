"""A matcher as an estimator, wherever its pairs come from: vocabulary, stopwords, network and training in one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.encoding import TokenReader
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch
from pipeline.entities.relevance.matchers.losses import pair_loss
from pipeline.errors import ArtifactError
from pipeline.nn.loop import Batches, compute_device, one_thread, train
from pipeline.nn.vocab import Vocabulary
from pipeline.nn.weights import load_weights, save_weights
from pipeline.registry import MATCHERS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog

VOCABULARY, IDENTITY = "vocab.json", "matcher.json"
"""Names in a model's folder, beside the weights."""


class MatcherModel:
    """One registered matcher over batches of pairs.

    Args:
        config: options; ``name`` says which matcher.
        seed: of the first weights and of training.
        log: gets a JSON line per epoch.
        stopwords: tokens that are not read, as from ``read_stopwords``.
    """

    def __init__(
        self,
        config: RelevanceConfig,
        *,
        seed: int = 0,
        log: JsonLinesLog | None = None,
        stopwords: Sequence[str] = (),
    ) -> None:
        self.config = config
        self.seed = seed
        self.log = log
        self.stopwords = tuple(stopwords)

    def fit(
        self,
        tokens: Iterable[str],
        batches: Callable[[TokenReader], Batches[PairBatch]],
        *,
        evaluate: Callable[[], float] | None = None,
    ) -> Self:
        """Train.

        Args:
            tokens: of the training texts; the vocabulary is theirs.
            batches: gives the training batches for a reader.
            evaluate: the development figure of the model as it stands, higher is better, by which the epoch is
                chosen; None keeps the last epoch.
        """
        config = self.config
        with one_thread():
            set_seed(self.seed)
            self.reader_ = TokenReader(Vocabulary.of_tokens(tokens), self.stopwords)
            self.network_ = self._build()

            def loss(network: nn.Module, batch: PairBatch) -> Tensor:
                if batch.labels is None:
                    raise ValueError("training needs labelled pairs")
                distance_of = self.network_.distance_of
                return pair_loss(
                    config.loss, network(batch), batch.labels, margin=config.margin, distance_of=distance_of
                )

            def figure(_: nn.Module) -> float:
                assert evaluate is not None
                return evaluate()

            for report in train(
                self.network_,
                batches(self.reader_),
                loss=loss,
                evaluate=figure if evaluate else None,
                config=config.training,
                seed=self.seed,
            ):
                if self.log is not None:
                    self.log(report)
        return self

    def similarities(self, batches: Iterable[tuple[np.ndarray, PairBatch]], n_pairs: int) -> np.ndarray:
        """Return the similarity of pairs, float64 (n_pairs,), 0 to 1.

        Args:
            batches: row numbers and pairs; every row once.
            n_pairs: in all of them.
        """
        device = compute_device()
        self.network_.to(device)
        scores = np.zeros(n_pairs)
        with one_thread(), torch.inference_mode():
            for rows, batch in batches:
                scores[rows] = self.network_.similarity(batch.to(device)).double().cpu().numpy()
        return scores

    def save(self, folder: Path) -> None:
        """Write the vocabulary, the name and the stopwords as JSON, the weights as safetensors."""
        self.reader_.vocabulary.save(folder / VOCABULARY)
        save_weights(self.network_, folder)
        stopwords = {"stopwords": sorted(self.stopwords)} if self.stopwords else {}
        atomic_write_json(folder / IDENTITY, self._identity() | stopwords)

    @classmethod
    def load(cls, folder: Path, config: RelevanceConfig) -> Self:
        """Read what ``save`` wrote; sizes are those of ``config``, stopwords those of the folder.

        Raises:
            ArtifactError: a file is missing or damaged, or another matcher, tokens or sizes were trained.
        """
        path = folder / IDENTITY
        found = read_json(path)
        stopwords = found.pop("stopwords", []) if isinstance(found, dict) else []
        if not (isinstance(stopwords, list) and all(isinstance(word, str) for word in stopwords)):
            raise ArtifactError(f"{path}: its stopwords are no list of words")
        model = cls(config, stopwords=stopwords)
        if found != model._identity():
            raise ArtifactError(f"{path}: holds {found}, the configuration wants {model._identity()}")
        model.reader_ = TokenReader(Vocabulary.load(folder / VOCABULARY), stopwords)
        model.network_ = model._build()
        load_weights(model.network_, folder)
        return model

    def _identity(self) -> dict[str, Any]:
        return {"name": self.config.name, "tokens": self.config.tokens}

    def _build(self) -> Matcher:
        kind: type[Matcher] = resolve(MATCHERS, self.config.name, kind="matcher")
        return kind(len(self.reader_), self.config)

"""A head as a member of stage two: vocabulary, network and training in one estimator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from accelerate.utils import set_seed
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn import functional

from pipeline.artifacts import atomic_write_bytes
from pipeline.batching import Batch, BatchLoader, emotion_ids, token_window
from pipeline.config import Config
from pipeline.heads.base import Head
from pipeline.heads.layers import TokenEmbedding
from pipeline.registry import HEADS, resolve
from pipeline.schema import EMOTIONS, Target
from pipeline.sentiment.contexts import WeightedSpan, gold_emotions
from pipeline.sentiment.scores import (
    Probs,
    class_weights,
    fit_temperature,
    log_loss,
    one_hot,
    softmax,
    with_temperature,
)
from pipeline.training import JsonLinesLog, one_thread, train
from pipeline.vocab import Vocabulary


class HeadModel:
    """One registered head, trained with early stopping on the calibrated log loss of development examples.

    Calibrated, because the loss of a small network rises from overconfidence alone, long before its answers get
    worse, and the stage mends overconfidence by a temperature anyway.

    Args:
        name: key in HEADS.
        config: options of head, training and sentiment.
        seed: of the first weights and of training.
        log: gets a JSON line an epoch.
    """

    stops_early: ClassVar[bool] = True

    def __init__(self, name: str, config: Config, *, seed: int = 0, log: JsonLinesLog | None = None) -> None:
        self.name = name
        self.config = config
        self.seed = seed
        self.log = log

    def fit(self, examples: Sequence[Target], dev: Sequence[Target]) -> Self:
        """Train; the vocabulary is that of ``examples``, and the epoch is chosen by ``dev``."""
        with one_thread():
            self._train(examples, dev)
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion."""
        with one_thread():
            return _predict(self.head_, self._batches(examples), len(examples))

    def attention(self, examples: Sequence[Target]) -> list[list[WeightedSpan]]:
        """Return what the head looked at, for each example: spans of its text with weights that sum to one.

        Every list is empty where the head has no attention.
        """
        found: list[list[WeightedSpan]] = [[] for _ in examples]
        with one_thread(), torch.inference_mode():
            device = next(self.head_.parameters()).device
            for batch in self._batches(examples).epoch():
                weights = self.head_.explain(batch.to(device)).attention
                if weights is None:
                    return found
                for row, values in zip(batch.rows.tolist(), weights.double().cpu().tolist(), strict=True):
                    found[row] = self._spans(examples[row], values)
        return found

    def _spans(self, example: Target, weights: Sequence[float]) -> list[WeightedSpan]:
        tokens, lower, upper = token_window(example, self.config.sentiment.max_context_chars)
        places = zip(tokens.starts[lower:upper], tokens.stops[lower:upper], weights, strict=False)  # then padding
        return [WeightedSpan(start, stop, weight) for start, stop, weight in places]

    def save(self, folder: Path) -> None:
        """Write the vocabulary as JSON and the weights as safetensors."""
        self.vocabulary_.save(folder / "vocab.json")
        atomic_write_bytes(folder / "model.safetensors", save(self.head_.state_dict()))

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote; the options of the head are those of ``config``."""
        self.vocabulary_ = Vocabulary.load(folder / "vocab.json")
        self.head_ = self._build()
        self.head_.load_state_dict(load_file(folder / "model.safetensors"))
        self.head_.eval()
        return self

    def _train(self, examples: Sequence[Target], dev: Sequence[Target]) -> None:
        set_seed(self.seed)
        self.vocabulary_ = Vocabulary.build(example.text for example in examples)
        self.head_ = self._build()
        weights = class_weights(gold_emotions(examples), power=self.config.sentiment.class_weight_power)
        of_class = torch.tensor([weights[emotion] for emotion in EMOTIONS])
        dev_batches, dev_gold = self._batches(dev), gold_emotions(dev)

        def loss(model: nn.Module, batch: Batch) -> Tensor:
            if batch.labels is None:
                raise ValueError("training needs labelled batches")
            return functional.cross_entropy(model(batch), batch.labels, of_class.to(batch.labels.device))

        def figure(model: nn.Module) -> float:
            probs = _predict(model, dev_batches, len(dev))
            return -log_loss(with_temperature(probs, fit_temperature(probs, dev_gold)), one_hot(dev_gold))

        batches = self._batches(examples, labels=emotion_ids(examples), seed=self.seed)
        for report in train(
            self.head_, batches, loss=loss, evaluate=figure, config=self.config.training, seed=self.seed
        ):
            if self.log is not None:
                self.log(report)

    def _build(self) -> Head:
        options = self.config.head
        kind: type[Head] = resolve(HEADS, self.name, kind="head")
        embedder = TokenEmbedding(
            len(self.vocabulary_), options.embedding_dim, dropout=options.dropout, marks_target=kind.uses_target
        )
        return kind(embedder, options, n_classes=len(EMOTIONS))

    def _batches(
        self, examples: Sequence[Target], *, labels: Sequence[int] | None = None, seed: int | None = None
    ) -> BatchLoader:
        return BatchLoader(
            examples,
            self.vocabulary_,
            labels=labels,
            batch_size=self.config.training.batch_size,
            max_tokens=self.config.sentiment.max_context_chars,
            seed=seed,
        )


def _predict(head: nn.Module, batches: BatchLoader, n_examples: int) -> Probs:
    probs = np.empty((n_examples, len(EMOTIONS)))
    device = next(head.parameters()).device
    with torch.inference_mode():
        for batch in batches.epoch():
            probs[batch.rows] = softmax(head(batch.to(device)).double().cpu().numpy())
    return probs

"""A cross-ranker as an estimator: tokeniser, network and training in one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Self

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import CrossConfig, EncoderConfig, TrainingConfig
from pipeline.entities.cross_ranker.batches import ArticleBatches, CrossBatch, LabelledPassages, collate
from pipeline.entities.cross_ranker.inputs import CandidateList, Passage, PassageBuilder
from pipeline.entities.cross_ranker.network import LOSSES, CrossNetwork
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.nn.encoders import encoder_folder, load_encoder, restore_encoder
from pipeline.nn.encoders.fine_tune import keep_lowest
from pipeline.nn.loop import compute_device, in_bf16, n_threads, train
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.nn.weights import load_weights, save_weights
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.runtime.processes import together

logger = logging.getLogger(__name__)

PREDICT_TOKENS = 8192
"""Tokens of a batch in prediction, padding included."""


class CrossModel:
    """Scores the candidates of an article with a fine-tuned encoder.

    Args:
        config: options; ``name`` says how candidates are read.
        seed: of the first weights and of training.
        threads: threads of torch; the last bits of results depend on it.
        log: gets a JSON line per epoch.
    """

    def __init__(
        self, config: CrossConfig, *, seed: int = 0, threads: int = 1, log: JsonLinesLog | None = None
    ) -> None:
        self.config = config
        self.seed, self.threads, self.log = seed, threads, log

    @property
    def is_pooled(self) -> bool:
        """Whether a text is read once for all its candidates."""
        return self.config.name == "pooled"

    @property
    def max_tokens(self) -> int:
        """Longest input."""
        return self.config.pooled_tokens if self.is_pooled else self.config.max_tokens

    @together
    def fit(self, articles: Sequence[CandidateList], labels: Sequence[np.ndarray]) -> Self:
        """Train for a fixed number of epochs.

        Args:
            articles: each with its gold entities and the best wrong candidates.
            labels: float32 (n_candidates,) for each article, 1 where the candidate is a gold entity.

        Raises:
            DataError: no article has a gold entity among its candidates.
            ArtifactError: the encoder cannot be had, or reads shorter texts than the configuration asks for.
        """
        pairs = [(article, label) for article, label in zip(articles, labels, strict=True) if label.any()]
        if not pairs:
            raise DataError("no gold entity is among the candidates of its article: nothing to learn from")
        options = self.config.encoder
        with n_threads(self.threads):
            set_seed(self.seed)
            folder = encoder_folder(options.name)
            self.tokeniser_ = PieceTokeniser.of_encoder(folder)
            encoder = load_encoder(folder, n_tokens=len(self.tokeniser_))
            keep_lowest(encoder, options.n_layers, option="cross.encoder.n_layers")
            longest = getattr(encoder.config, "max_position_embeddings", self.max_tokens)
            if self.max_tokens > longest:
                option = "cross.pooled_tokens" if self.is_pooled else "cross.max_tokens"
                raise ArtifactError(f"encoder {options.name} reads {longest} tokens, {option} is {self.max_tokens}")
            self.network_ = CrossNetwork(encoder, self.config)
            batches = ArticleBatches(
                [LabelledPassages(self._passages(article), label) for article, label in pairs],
                padding=self.tokeniser_.special.padding,
                batch_size=options.training.batch_size,
                n_negatives=None if self.is_pooled else self.config.n_negatives,
                seed=self.seed,
            )
            for epoch in train(
                self.network_,
                batches,
                loss=self._loss,
                evaluate=None,
                config=options.training,
                seed=self.seed,
                parameters=self.network_.parameter_groups(self.config),
            ):
                if self.log is not None:
                    self.log(epoch)
        return self

    def predict(self, articles: Sequence[CandidateList]) -> list[np.ndarray]:
        """Return the log odds of each candidate of each article: float32 (n_candidates,), in their order."""
        passages = [self._passages(article) if article.keys else [] for article in articles]
        flat = [(index, passage) for index, found in enumerate(passages) for passage in found]
        scores: list[list[float]] = [[] for _ in flat]
        device = compute_device()
        self.network_.to(device)
        precision = torch.autocast(device.type, torch.bfloat16, enabled=in_bf16(self.config.encoder.training))
        with n_threads(self.threads), torch.inference_mode(), precision:
            for rows in _batches([len(passage.ids) for _, passage in flat]):
                padding = self.tokeniser_.special.padding
                batch = collate([flat[row][1] for row in rows], rows, padding=padding).to(device)
                for row, score in zip(batch.articles.tolist(), self.network_(batch).tolist(), strict=True):
                    scores[row].append(score)
        by_article: list[list[float]] = [[] for _ in articles]
        for (index, _), found in zip(flat, scores, strict=True):
            by_article[index] += found
        return [np.array(found, dtype=np.float32) for found in by_article]

    def save(self, folder: Path) -> None:
        """Write options, tokeniser and weights; the folder needs no other file to be loaded."""
        self.tokeniser_.save(folder)
        self.network_.encoder.config.save_pretrained(folder)
        save_weights(self.network_, folder)
        atomic_write_json(folder / "cross.json", asdict(self.config))

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        path = folder / "cross.json"
        options = read_json(path)
        try:
            encoder = dict(options["encoder"])
            encoder["training"] = TrainingConfig(**encoder["training"])
            config = CrossConfig(**{**options, "encoder": EncoderConfig(**encoder)})
        except (KeyError, TypeError, ConfigError) as error:
            raise ArtifactError(f"{path}: not the options of this version ({error})") from error
        model = cls(config, threads=threads)
        model.tokeniser_ = PieceTokeniser.load(folder)
        model.network_ = CrossNetwork(restore_encoder(folder), config)
        load_weights(model.network_, folder)
        return model

    def _passages(self, article: CandidateList) -> list[Passage]:
        builder = PassageBuilder(self.tokeniser_, max_tokens=self.max_tokens)
        return [builder.joint(article)] if self.is_pooled else builder.marked(article)

    def _loss(self, network: nn.Module, batch: CrossBatch) -> Tensor:
        if batch.labels is None:
            raise ValueError("a batch without labels teaches nothing")
        return LOSSES[self.config.loss](network(batch), batch.labels, batch.articles)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Cut row numbers, longest row first, into batches of at most ``PREDICT_TOKENS`` tokens with their padding."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: (-lengths[row], row)):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= PREDICT_TOKENS:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches

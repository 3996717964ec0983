"""A tagger as an estimator: tokeniser, network and training in one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch, TagBatches
from pipeline.entities.taggers.data import LabelReport, tag_counts, tag_text
from pipeline.entities.taggers.decode import TagScores
from pipeline.entities.taggers.reader import TaggerReader
from pipeline.entities.taggers.settings import FILE, TaggerSettings
from pipeline.entities.taggers.window_batches import WindowBatch
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.metric import span_f1
from pipeline.nn.loop import compute_device, in_bf16, n_threads, train
from pipeline.nn.openvino_engine import convert, discard
from pipeline.nn.tokenisers import Tokeniser, WordTokeniser
from pipeline.nn.weights import load_weights, save_weights
from pipeline.registry import TAGGERS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.runtime.processes import together
from pipeline.text.spans import LabelledText, ScoredSpan, Span, TagScheme

logger = logging.getLogger(__name__)

OUTPUT_LAYER = ("classify.", "crf.", "label_layer.")
"""Beginnings of the names of the weights that belong to a set of tags."""


class TaggerModel:
    """One registered tagger for one set of entity types.

    Args:
        config: options; ``name`` says which tagger.
        labels, label_weight, words: see ``TaggerSettings``.
        seed: of the first weights and of training.
        threads: threads of torch; the last bits of results depend on it.
        log: gets a JSON line per epoch.
        converts: whether ``save`` also writes the network for OpenVINO, where that can be.
    """

    def __init__(
        self,
        config: TaggerConfig,
        *,
        labels: Sequence[str] = ("",),
        label_weight: float | None = None,
        words: bool = False,
        seed: int = 0,
        threads: int = 1,
        log: JsonLinesLog | None = None,
        converts: bool = False,
    ) -> None:
        self.settings = TaggerSettings(config, tuple(labels), label_weight, words)
        self.words, self.label_weight = words, label_weight
        self.scheme, self._network_scheme = self.settings.scheme, self.settings.network_scheme
        self.seed, self.threads, self.log, self.converts = seed, threads, log, converts
        self._class: type[Tagger] = resolve(TAGGERS, config.name, kind="tagger")
        if words and not self._class.reads_words:
            able = ", ".join(name for name in TAGGERS if reads_words(name))
            raise ConfigError(f"tagger {config.name} reads pieces, not given words", hint=f"--tagger, one of {able}")

    @property
    def config(self) -> TaggerConfig:
        """The options."""
        return self.settings.config

    @together
    def fit(
        self,
        texts: Sequence[LabelledText],
        dev: Sequence[LabelledText] = (),
        *,
        start: TaggerModel | None = None,
        states: Path | None = None,
    ) -> Self:
        """Train.

        Args:
            texts: labelled texts.
            dev: texts whose strict F1 chooses the epoch; without any, the last epoch is kept.
            start: a tagger of the same kind and sizes to go on from. Its vocabulary is kept; of its output layer, what
                belongs to tags that both have.
            states: folder that keeps the states of frozen layers while taggers learn from the same texts.

        Raises:
            DataError: the texts hold no token.
        """
        with n_threads(self.threads):
            set_seed(self.seed)
            if start is None:
                self.tokeniser_ = self._fit_tokeniser(texts)
                self.network_ = self._create()
            else:
                self._go_on_from(start)
            if states is not None:
                self.network_.keep_states(states, variant="bf16" if in_bf16(self.config.training) else "")
            self._train(texts, dev)
        return self

    @property
    def reader(self) -> TaggerReader:
        """The tagger as it is now, at work on texts."""
        return TaggerReader(self.settings, self.network_.crf.chain(), self.tokeniser_, self._score_windows)

    def predict(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """See ``TaggerReader.predict``."""
        return self.reader.predict(texts)

    def tag(self, texts: Sequence[LabelledText]) -> list[list[Span]]:
        """See ``TaggerReader.tag``."""
        return self.reader.tag(texts)

    def tag_scored(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """See ``TaggerReader.tag_scored``."""
        return self.reader.tag_scored(texts)

    def save(self, folder: Path) -> None:
        """Write options, tokeniser and weights; the folder needs no other file to be loaded."""
        discard(folder)
        self.tokeniser_.save(folder)
        self.network_.save_shape(folder)
        save_weights(self.network_, folder)
        self.settings.save(folder)
        if self.converts and (parts := self.network_.for_conversion()):
            convert(*parts, folder)

    @classmethod
    def load(cls, folder: Path, *, labels: Sequence[str] | None = None, threads: int = 1) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged, or its labels are not those that are wanted.
        """
        settings = TaggerSettings.load(folder, labels=labels)
        config, words = settings.config, settings.words
        try:
            model = cls(
                config, labels=settings.labels, label_weight=settings.label_weight, words=words, threads=threads
            )
        except ConfigError as error:
            raise ArtifactError(f"{folder / FILE}: not the options of this version ({error})") from error
        model.tokeniser_ = WordTokeniser.load(folder) if words else model._class.load_tokeniser(folder, config)
        model.network_ = model._with_labels(
            model._class.restore(folder, model.tokeniser_, model._network_scheme, config)
        )
        load_weights(model.network_, folder)
        return model

    def _fit_tokeniser(self, texts: Sequence[LabelledText]) -> Tokeniser:
        if self.words:
            sentences = (text.words for text in texts)
            return WordTokeniser.of_sentences(sentences, min_count=self.config.min_word_count)
        return self._class.fit_tokeniser((text.text for text in texts), self.config)

    def _create(self) -> Tagger:
        return self._with_labels(self._class.create(self.tokeniser_, self._network_scheme, self.config))

    def _with_labels(self, network: Tagger) -> Tagger:
        if self.label_weight is not None:
            network.add_label_layer(self.scheme, weight=self.label_weight)
        return network

    def _go_on_from(self, start: TaggerModel) -> None:
        if start.config.name != self.config.name:
            raise ConfigError(f"a {self.config.name} tagger cannot go on from a {start.config.name} tagger")
        if start.words != self.words:
            raise ConfigError("a tagger of words and one of spans cannot go on from each other")
        self.tokeniser_ = start.tokeniser_
        self.network_ = self._create()
        weights = start.network_.state_dict()
        same_output = (start.scheme, start._network_scheme) == (self.scheme, self._network_scheme)
        if not same_output:
            weights = {name: value for name, value in weights.items() if not name.startswith(OUTPUT_LAYER)}
        self.network_.load_state_dict(weights, strict=same_output)
        if not same_output and self.label_weight is None and start.label_weight is None:
            take_over_tags(self.network_, self.scheme, start.network_, start.scheme)

    def _train(self, texts: Sequence[LabelledText], dev: Sequence[LabelledText]) -> None:
        config, report = self.config, LabelReport()
        tagged = [tag_text(text, self.tokeniser_, self.scheme, report) for text in texts]
        logger.info("tagger %s: trained on %d texts with %s", config.name, len(texts), report)
        if not any(len(text) for text in tagged):
            raise DataError("the texts to train a tagger on hold no token")
        batches = TagBatches(
            *(tagged, self.tokeniser_.special, self.scheme),
            title_tokens=config.title_tokens,
            batch_size=config.training.batch_size,
            window_tokens=config.train_window_tokens,
            budget=config.train_tokens,
            seed=self.seed,
        )
        if config.class_weight_power:
            counts = tag_counts(tagged, len(self.scheme.tags))
            if self.label_weight is not None:
                counts = np.bincount(self.scheme.bare_of, weights=counts)
            self.network_.tag_weights = _balanced(counts, config.class_weight_power)

        def loss(network: nn.Module, batch: TagBatch) -> Tensor:
            value: Tensor = network(batch).loss
            return value

        def figure(_: nn.Module) -> float:
            f1 = span_f1([text.spans for text in dev], self.tag(dev))
            return 1.0 if f1 is None else f1  # nothing to find, nothing found: no epoch does better

        for epoch in train(
            self.network_,
            batches,
            loss=loss,
            evaluate=figure if dev else None,
            config=config.training,
            seed=self.seed,
            parameters=self.network_.parameter_groups(config),
        ):
            if self.log is not None:
                self.log(epoch)

    def _score_windows(self, batches: Iterator[WindowBatch]) -> Iterator[tuple[WindowBatch, TagScores]]:
        """Run the network over windows."""
        device = compute_device()
        self.network_.to(device)
        precision = torch.autocast(device.type, torch.bfloat16, enabled=in_bf16(self.config.training))
        with n_threads(self.threads), torch.inference_mode(), precision:
            for batch in batches:
                yield batch, self.network_(TagBatch.of(batch).to(device)).scores


def take_over_tags(network: Tagger, scheme: TagScheme, source: Tagger, known: TagScheme) -> None:
    """Copy what an output layer knows of the tags that both schemes have; other tags keep their first weights."""
    here = [index for index, tag in enumerate(scheme.tags) if tag in known.ids]
    there = [known.ids[scheme.tags[index]] for index in here]
    with torch.no_grad():
        network.classify.weight[here] = source.classify.weight[there]
        network.classify.bias[here] = source.classify.bias[there]
        for name in ("first", "last"):
            getattr(network.crf, name)[here] = getattr(source.crf, name)[there]
        rows, columns = torch.meshgrid(torch.tensor(here), torch.tensor(here), indexing="ij")
        old_rows, old_columns = torch.meshgrid(torch.tensor(there), torch.tensor(there), indexing="ij")
        network.crf.transitions[rows, columns] = source.crf.transitions[old_rows, old_columns]


def reads_words(name: str) -> bool:
    """Tell whether a registered tagger can read given words.

    Raises:
        ConfigError: there is no such tagger.
    """
    network: type[Tagger] = resolve(TAGGERS, name, kind="tagger")
    return network.reads_words


def _balanced(counts: np.ndarray, power: float) -> Tensor:
    """Return weights (1 / frequency) ** power whose mean over the tags as they occur is 1."""
    weights = np.maximum(counts, 1.0) ** -power
    return torch.tensor(weights * counts.sum() / (weights * counts).sum(), dtype=torch.float32)

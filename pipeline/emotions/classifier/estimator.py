"""A head as an estimator for any set of classes: tokens, network and training in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate.utils import set_seed
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import Config
from pipeline.emotions.classifier.inputs import check_inputs, fit_inputs, is_frozen, load_inputs, reads_encoder
from pipeline.emotions.heads.base import Head
from pipeline.errors import ArtifactError, DataError
from pipeline.nn.batching import Batch, BatchLoader, aspect_of
from pipeline.nn.encoders.state_cache import StateMemory
from pipeline.nn.loop import compute_device, in_bf16, one_thread, train
from pipeline.nn.probabilities import (
    Probs,
    balanced_weights,
    best_temperature,
    log_loss,
    one_hot_ids,
    softmax,
    with_temperature,
)
from pipeline.nn.vocab import Vocabulary
from pipeline.nn.weights import WEIGHTS, load_weights, one_line, save_weights
from pipeline.registry import HEADS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.runtime.processes import together
from pipeline.schema import Target

ASPECTS = "aspects.json"
"""File of the names for which a head has learnt a vector."""


class HeadClassifier:
    """One registered head that tells the class of a target, or of a text where the head is a document baseline.

    With development examples, training stops early on their calibrated log loss. Calibrated, because the loss of a
    small network rises from overconfidence alone, long before its answers get worse, and a temperature mends that.
    Without, it takes its fixed number of epochs, and the last one is kept.

    Args:
        name: key in HEADS.
        config: options of head, training and sentiment (length of contexts, weights of classes).
        classes: every class, in the order of the probabilities.
        seed: of the first weights and of training.
        log: gets a JSON line per epoch.
        start: folder of the same head, saved: training begins with its vocabulary, vectors and weights.
        shared: folder in which a frozen encoder is kept once for several heads; None keeps it with the head.
        states: folder in which the states of a frozen encoder are kept while heads learn; ``head.states_cache`` goes
            before it.

    Raises:
        ConfigError: no such head, or options that do not go together.
    """

    def __init__(
        self,
        name: str,
        config: Config,
        *,
        classes: Sequence[str],
        seed: int = 0,
        log: JsonLinesLog | None = None,
        start: Path | None = None,
        shared: Path | None = None,
        states: Path | None = None,
    ) -> None:
        self.name, self.config, self.seed, self.log, self.start = name, config, seed, log, start
        self.shared, self.states = shared, states
        self.classes = tuple(classes)
        self._kind: type[Head] = resolve(HEADS, name, kind="head")
        check_inputs(name, self._kind, config)

    @property
    def reads_encoder(self) -> bool:
        """Whether the head runs on a pre-trained encoder."""
        return reads_encoder(self._kind, self.config)

    @property
    def stops_early(self) -> bool:
        """Whether development examples are to choose the epoch.

        Not where an encoder is fine-tuned: it takes its fixed number of epochs, for to predict with one of every fold
        is too slow.
        """
        return not self.reads_encoder or is_frozen(self._kind, self.config)

    @property
    def n_parameters(self) -> int:
        """Weights of the fitted network, those of a frozen encoder included, static vectors not."""
        return sum(parameter.numel() for parameter in self.head_.parameters())

    def check(self) -> None:
        """Read what training will read besides its examples, so that nothing is amiss with it later.

        Raises:
            ConfigError: no such packaged encoder, or it has fewer layers than are to be frozen.
            DataError: the file of vectors is missing or damaged.
            ArtifactError: the encoder cannot be loaded.
        """
        fit_inputs(self._kind, self.config, []).embedder()

    @together
    def fit(
        self,
        examples: Sequence[Target],
        labels: Sequence[str],
        dev: Sequence[Target] = (),
        dev_labels: Sequence[str] = (),
    ) -> Self:
        """Train.

        Args:
            examples: what is learnt from, the vocabulary included.
            labels: the class of each example.
            dev: examples that choose the epoch; without any, the last one is kept.
            dev_labels: the class of each of them.

        Raises:
            DataError: there is no example, a label is none of the classes, or the file of vectors is damaged.
            ArtifactError: the encoder, or what training begins with, cannot be loaded.
        """
        if not examples:
            raise DataError(f"head {self.name}: no example to train on")
        ids, dev_ids = self._ids(labels), self._ids(dev_labels)
        with one_thread():
            set_seed(self.seed)
            if self.start is None:
                texts = [example.text for example in examples]
                self.inputs_ = fit_inputs(self._kind, self.config, texts, shared=self.shared, states=self.states)
                self.aspects_ = self._fit_aspects(examples)
                self.head_ = self._build()
            else:
                self.load(self.start)
                set_seed(self.seed)  # what comes depends on the weights, not on how they were built
            self._train(self._batches(examples, labels=ids, seed=self.seed), ids, self._batches(dev), dev_ids)
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each class, (n_examples, n_classes), rows in the examples' order."""
        with one_thread(), self._at_work():
            return self._predict(self.head_, self._batches(examples), len(examples))

    def leave_states(self) -> None:
        """Keep the states of a frozen encoder in memory from now on: the folder of its training goes away."""
        embedder: Any = self.head_.embedder
        if self.reads_encoder and embedder.cache is not None:
            embedder.cache = StateMemory()

    def attention(self, examples: Sequence[Target]) -> list[NDArray[np.float64]] | None:
        """Return how much the head looked at each character of each text; None for heads without attention.

        A token's weight is shared by its characters, so a text's weights (len(text),) sum to one; they are zero where
        no token is, and where a long text was cut.
        """
        batches = self._batches(examples)
        found = [np.zeros(len(example.text)) for example in examples]
        with one_thread(), self._at_work() as device, torch.inference_mode(), self._precision(device):
            for batch in batches.epoch():
                attention = self.head_.explain(batch.to(device)).attention
                if attention is None:
                    return None
                for row, weights in zip(batch.rows.tolist(), attention.double().cpu().numpy(), strict=True):
                    for weight, (start, stop) in zip(weights, batches.spans(row), strict=False):  # padding follows
                        found[row][start:stop] += weight / (stop - start)
        return found

    def save(self, folder: Path) -> None:
        """Write everything ``load`` needs, an encoder's weights and tokeniser included: JSON and safetensors."""
        self.inputs_.save(folder)
        if self.aspects_ is not None:
            self.aspects_.save(folder / ASPECTS)
        save_weights(self.head_, folder, select=self.inputs_.own_weights)
        atomic_write_json(folder / "head.json", self._description())

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote; the options of the head are those of ``config``.

        Raises:
            ArtifactError: a file is missing, damaged, or of another head, other classes or other options.
        """
        path = folder / "head.json"
        saved = read_json(path)
        for key, wanted in self._description().items():
            found = saved.get(key) if isinstance(saved, dict) else None
            if found != wanted:
                raise ArtifactError(f"{path}: {key} {_listing(found)}, want {_listing(wanted)}")
        path = folder / WEIGHTS
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as error:
            raise ArtifactError(f"{path}: cannot be read ({one_line(error)})") from error
        self.inputs_ = load_inputs(self._kind, self.config, folder, weights, shared=self.shared)
        self.aspects_ = Vocabulary.load(folder / ASPECTS) if self._learns_aspects else None
        self.head_ = self._build()
        load_weights(self.head_, folder, weights=self.inputs_.all_weights(weights), kind=f"head {self.name}")
        return self

    def _description(self) -> dict[str, Any]:
        options = self.config.head
        embedding, tokens = ("encoder", "pieces") if self.reads_encoder else (options.embedding, options.tokens)
        embedding = "random" if embedding == "auto" else embedding
        return {"name": self.name, "classes": list(self.classes), "embedding": embedding, "tokens": tokens}

    @contextmanager
    def _at_work(self) -> Iterator[torch.device]:
        """Lend the network to the device where it runs best."""
        device = compute_device()
        self.head_.to(device).eval()
        try:
            yield device
        finally:
            self.head_.cpu()

    def _precision(self, device: torch.device) -> torch.autocast:
        """Return the number format of training, which prediction shares."""
        return torch.autocast(device.type, torch.bfloat16, enabled=in_bf16(self.inputs_.training))

    def _train(self, batches: BatchLoader, ids: list[int], dev: BatchLoader, dev_ids: list[int]) -> None:
        truth, dev_truth = (one_hot_ids(part, len(self.classes)) for part in (ids, dev_ids))
        weights = balanced_weights(truth, power=self.config.head.class_weight_power)
        of_class = torch.tensor(weights, dtype=torch.float32)

        def loss(model: nn.Module, batch: Batch) -> Tensor:
            if batch.labels is None:
                raise ValueError("training needs labelled batches")
            return functional.cross_entropy(model(batch), batch.labels, of_class.to(batch.labels.device))

        def figure(model: nn.Module) -> float:
            probs = self._predict(model, dev, len(dev_ids))
            return -log_loss(with_temperature(probs, best_temperature(probs, dev_truth)), dev_truth)

        for report in train(
            self.head_,
            batches,
            loss=loss,
            evaluate=figure if dev_ids else None,
            config=self.inputs_.training,
            seed=self.seed,
            parameters=self.inputs_.parameter_groups(self.head_),
        ):
            if self.log is not None:
                self.log(report)

    def _predict(self, head: nn.Module, batches: BatchLoader, n_examples: int) -> Probs:
        probs = np.empty((n_examples, len(self.classes)))
        device = next(head.parameters()).device
        with torch.inference_mode(), self._precision(device):
            for batch in batches.epoch():
                probs[batch.rows] = softmax(head(batch.to(device)).double().cpu().numpy())
        return probs

    def _ids(self, labels: Sequence[str]) -> list[int]:
        known = {name: index for index, name in enumerate(self.classes)}
        if unknown := sorted(set(labels) - set(known)):
            raise DataError(f"head {self.name}: label {unknown[0]!r} is not one of {', '.join(self.classes)}")
        return [known[label] for label in labels]

    @property
    def _learns_aspects(self) -> bool:
        return self._kind.takes_aspects and self.config.head.aspect == "table"

    def _fit_aspects(self, examples: Sequence[Target]) -> Vocabulary | None:
        """Take the names that occur twice; what they share is learnt from the others."""
        return Vocabulary.of_tokens(map(aspect_of, examples)) if self._learns_aspects else None

    def _build(self) -> Head:
        sizes = {"n_classes": len(self.classes)}
        if self.aspects_ is not None:
            sizes["n_aspects"] = len(self.aspects_)
        return self._kind(self.inputs_.embedder(), self.config.head, **sizes)

    def _batches(
        self, examples: Sequence[Target], *, labels: Sequence[int] | None = None, seed: int | None = None
    ) -> BatchLoader:
        return BatchLoader(
            examples,
            self.inputs_.reader,
            labels=labels,
            batch_size=self.inputs_.training.batch_size,
            max_tokens=self.inputs_.max_tokens,
            seed=seed,
            aspects=self.aspects_,
        )


def _listing(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

"""A tagger as an estimator: tokeniser, network and training in one; also its decoding."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import TaggerConfig, TrainingConfig
from pipeline.entities.taggers.base import Tagger, TagOutput
from pipeline.entities.taggers.batches import TagBatch, TagBatches
from pipeline.entities.taggers.data import LabelReport, TaggedTokens, tag_counts, tag_text, tokenise_text
from pipeline.entities.taggers.windows import join_windows
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.metric import span_f1
from pipeline.nn.loop import compute_device, in_bf16, n_threads, train
from pipeline.nn.tokenisers import Tokeniser, WordTokeniser
from pipeline.nn.weights import load_weights, save_weights
from pipeline.registry import TAGGERS, resolve
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.runtime.processes import together
from pipeline.text.normalise import BREAK
from pipeline.text.spans import LabelledText, ScoredSpan, Span, TagScheme, choose_spans

logger = logging.getLogger(__name__)

OUTPUT_LAYER = ("classify.", "crf.", "label_layer.")
"""Beginnings of the names of the weights that belong to a set of tags."""

PREDICTED_TOGETHER = 16
"""Windows of a batch in prediction: without gradients larger batches than those of training fit the cache."""

LEAST_PROB = 1e-3
"""Probability from which on a span that is chosen gets it said: below, looking for it would cost more than it tells."""

Found = tuple[int, ScoredSpan]
"""Row of a batch, and a span in steps of its window."""


class TaggerModel:
    """One registered tagger for one set of entity types.

    Args:
        config: options; ``name`` says which tagger.
        labels: entity types; the single "" is one nameless type.
        label_weight: None joins labels and boundaries in one tag (B-POS). A number gives labels a layer of their own
            beside bare tags, with this weight in the loss; a span's label is then read from its tokens: the mean of
            their distributions.
        words: whether given words are tagged, one label each: the labels are the tags, without any scheme.
        seed: of the first weights and of training.
        threads: threads of torch; the last bits of results depend on it.
        log: gets a JSON line per epoch.
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
    ) -> None:
        self.config = config
        self.words = words
        self.scheme = TagScheme("WORD" if words else config.scheme, tuple(labels))
        self.label_weight = label_weight
        self.seed, self.threads, self.log = seed, threads, log
        self._class: type[Tagger] = resolve(TAGGERS, config.name, kind="tagger")
        if words and not self._class.reads_words:
            able = ", ".join(name for name in TAGGERS if reads_words(name))
            raise ConfigError(f"tagger {config.name} reads pieces, not given words", hint=f"--tagger, one of {able}")
        self._said_what_is_cut = False

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

    def predict(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """Return every span whose marginal probability reaches ``min_prob``, in characters and in order.

        Spans of one text may overlap: each is a hypothesis of its own. None crosses a line break. With several labels
        a span comes once for each, with the probability of both; it is their sum that reaches ``min_prob``.
        """
        return self._decode(texts, self._scored_spans)

    def tag(self, texts: Sequence[LabelledText]) -> list[list[Span]]:
        """Return the entities of the most probable tags, in characters, in order and without overlap."""
        found = self._decode(texts, self._best_spans)
        return [choose_spans(Span(start, stop, label) for start, stop, _, label in spans)[0] for spans in found]

    def tag_scored(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """Return what ``tag`` returns, each span with its marginal probability over all well-formed tags.

        A probability below ``LEAST_PROB`` is given as 0.
        """
        found = self._decode(texts, self._best_scored_spans)
        scores = [{Span(span.start, span.stop, span.label): span for span in spans} for spans in found]
        return [[of_span[span] for span in choose_spans(of_span)[0]] for of_span in scores]

    def save(self, folder: Path) -> None:
        """Write options, tokeniser and weights; the folder needs no other file to be loaded."""
        settings = {
            "config": asdict(self.config),
            "labels": list(self.scheme.labels),
            "label_weight": self.label_weight,
            **({"words": True} if self.words else {}),
        }
        self.tokeniser_.save(folder)
        self.network_.save_shape(folder)
        save_weights(self.network_, folder)
        atomic_write_json(folder / "tagger.json", settings)

    @classmethod
    def load(cls, folder: Path, *, labels: Sequence[str] | None = None, threads: int = 1) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged, or its labels are not those that are wanted.
        """
        path = folder / "tagger.json"
        settings = read_json(path)
        if labels is not None and list(labels) != settings["labels"]:
            raise ArtifactError(f"{path}: tags {_listing(settings['labels'])}, want {_listing(labels)}")
        try:
            options = dict(settings["config"])
            config = TaggerConfig(**{**options, "training": TrainingConfig(**options["training"])})
            model = cls(
                config,
                labels=settings["labels"],
                label_weight=settings.get("label_weight"),
                words=settings.get("words", False),
                threads=threads,
            )
        except (KeyError, TypeError, ConfigError) as error:
            raise ArtifactError(f"{path}: not the options of this version ({error})") from error
        model.tokeniser_ = WordTokeniser.load(folder) if model.words else model._class.load_tokeniser(folder, config)
        model.network_ = model._with_labels(
            model._class.restore(folder, model.tokeniser_, model._network_scheme, config)
        )
        load_weights(model.network_, folder)
        return model

    @property
    def _network_scheme(self) -> TagScheme:
        """The tags that the network scores."""
        return self.scheme if self.label_weight is None else self.scheme.bare

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
        batches = self._batches(
            tagged,
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

    def _decode(
        self, texts: Sequence[LabelledText], read: Callable[[TagOutput, Tensor], Iterator[Found]]
    ) -> list[list[ScoredSpan]]:
        """Run the network over windows of the texts, and join what ``read`` finds in them."""
        config = self.config
        tokens = [tokenise_text(text, self.tokeniser_, max_chars=config.predict_chars) for text in texts]
        if not self._said_what_is_cut and any(len(text.text) > config.predict_chars > 0 for text in texts):
            self._said_what_is_cut = True  # once per model, not once per chunk of articles
            logger.info("tagger: reads the first %d characters of a text (tagger.predict_chars)", config.predict_chars)
        options = {"window_tokens": config.window_tokens, "overlap_tokens": config.overlap_tokens}
        batches = self._batches(tokens, batch_size=PREDICTED_TOGETHER, **options)
        found: dict[int, list[ScoredSpan]] = {}
        device = compute_device()
        self.network_.to(device)
        precision = torch.autocast(device.type, torch.bfloat16, enabled=in_bf16(config.training))
        with n_threads(self.threads), torch.inference_mode(), precision:
            for batch in batches.epoch():
                moved = batch.to(device)
                for index, span in read(self.network_(moved), moved.window):
                    found.setdefault(int(batch.rows[index]), []).append(span)
        results = []
        for text, tagged, rows in zip(texts, tokens, batches.rows_of_text, strict=True):
            windows = [batches.windows[row][1] for row in rows]
            joined = join_windows(windows, [found.get(row, []) for row in rows])
            spans = [tagged.characters(span) for span in joined]
            results.append([span for span in spans if BREAK not in text.text[span.start : span.stop]])
        return results

    def _scored_spans(self, output: TagOutput, window: Tensor) -> Iterator[Found]:
        config = self.config
        found = self.network_.crf.spans(
            output.emissions, window, max_length=config.max_span_tokens, min_prob=config.min_prob
        )
        labels, of_token = self.scheme.labels, _distributions(output)
        for row, start, length, of_label in zip(*(part.cpu().numpy() for part in found), strict=True):
            stop = start + length
            if of_token is not None:
                of_label = of_label * span_labels(of_token[row], start, stop)
            for label, prob in zip(labels, of_label.tolist(), strict=True):
                if (rounded := round(prob, 6)) > 0:
                    yield int(row), ScoredSpan(int(start), int(stop), rounded, label)

    def _best_scored_spans(self, output: TagOutput, window: Tensor) -> Iterator[Found]:
        best = list(self._best_spans(output, window))
        longest = max((span.stop - span.start for _, span in best), default=1)
        found = self.network_.crf.spans(output.emissions, window, max_length=longest, min_prob=LEAST_PROB)
        places = zip(*(part.tolist() for part in found[:3]), strict=True)
        of_place = dict(zip(places, found.probs.cpu().numpy(), strict=True))
        of_token = _distributions(output)
        for row, span in best:
            probs = of_place.get((row, span.start, span.stop - span.start))
            label = self.scheme.labels.index(span.label)
            if probs is None:
                prob = 0.0
            elif of_token is None:
                prob = float(probs[label])
            else:
                prob = float(probs[0] * span_labels(of_token[row], span.start, span.stop)[label])
            yield row, span._replace(prob=round(prob, 6))

    def _best_spans(self, output: TagOutput, window: Tensor) -> Iterator[Found]:
        names, of_token = self._network_scheme.tags, _distributions(output)
        best, lengths = self.network_.crf.best_tags(output.emissions, window), window.sum(1)
        for row, (tags, length) in enumerate(zip(best.tolist(), lengths.tolist(), strict=True)):
            for start, stop, label in self._network_scheme.decode([names[tag] for tag in tags[:length]]):
                if of_token is not None:
                    label = self.scheme.labels[int(span_labels(of_token[row], start, stop).argmax())]
                yield row, ScoredSpan(start, stop, 1.0, label)

    def _batches(self, texts: Sequence[TaggedTokens], **options: Any) -> TagBatches:
        return TagBatches(
            texts,
            self.tokeniser_.special,
            self.scheme,
            title_tokens=self.config.title_tokens,
            **options,
        )


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


def span_labels(of_token: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return a span's distribution over labels, (n_labels,): the mean of those of its tokens, (n_tokens, n_labels)."""
    mean: np.ndarray = of_token[start:stop].mean(0)
    return mean


def _distributions(output: TagOutput) -> np.ndarray | None:
    """Return each token's distribution over labels, (batch, window_len, n_labels), where labels have a layer."""
    return None if output.labels is None else output.labels.exp().cpu().numpy()


def _balanced(counts: np.ndarray, power: float) -> Tensor:
    """Return weights (1 / frequency) ** power whose mean over the tags as they occur is 1."""
    weights = np.maximum(counts, 1.0) ** -power
    return torch.tensor(weights * counts.sum() / (weights * counts).sum(), dtype=torch.float32)


def _listing(labels: Sequence[str]) -> str:
    return ", ".join(label or "entity" for label in labels)

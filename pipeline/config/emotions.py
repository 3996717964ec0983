"""Options of stage two: heads, and the choice among its models."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import check_ranges, option, require
from pipeline.config.training import EncoderConfig
from pipeline.errors import ConfigError

BASELINE = "majority"
"""The member that answers with the most frequent emotion."""
AUTO = "auto"
"""In ``sentiment.choose``: what is best out-of-fold."""
AND = "+"
"""Joins the names of members whose probabilities are averaged."""


@dataclass
class HeadConfig:
    """What a sentiment head reads, and the sizes of its network."""

    embedding: Literal["auto", "random", "vectors", "encoder"] = "auto"
    """Vectors of the tokens: learnt from random starts, of a file, or the states of ``encoder``. ``auto`` gives target
    heads the encoder, and document baselines random starts. ``pair`` always reads the encoder."""
    tokens: Literal["char", "word"] = "char"
    """Characters and Latin runs, or words; an encoder has pieces of its own."""
    vectors: str = ""
    """File of word vectors: GloVe or word2vec, text or binary, plain or .gz; for embedding ``vectors``."""
    vectors_mode: Literal["static", "fine_tuned", "two_channel"] = "fine_tuned"
    """Vectors of a file stay as they are, learn, or both side by side (text_cnn alone)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    encoder_mode: Literal["auto", "fine_tuned", "frozen"] = "auto"
    """``fine_tuned`` trains the encoder with the head, as ``head.encoder.training`` says; ``frozen`` trains the head
    alone, as ``training`` says. ``auto`` fine-tunes it for ``pair`` alone."""
    marks_target: bool = True
    """Add a learnt vector to every mention of the target. The papers of the target heads do without; on a frozen
    encoder that halves the time of training, since nothing below the recurrent layers learns."""
    states_cache: str = ""
    """Folder that keeps the states of a frozen encoder, such as models/states; "" computes them anew each time."""
    embedding_dim: int = option(64, low=2, high=4096)
    """Of random vectors."""
    hidden_dim: int = option(128, low=2, high=4096)
    """Hidden size of the recurrent layers, of every layer of CharCNN, and of an attention head of Transformer. Chosen
    for IAN and AF-LSTM on the encoder's states, by cross-validation (docs/RESULTS.md)."""
    cell: Literal["lstm", "gru", "plain"] = "lstm"
    """Recurrent cell of HAN (``gru`` in its paper), TextRNN, and TextRCNN (``plain`` in its paper)."""
    recurrent_layers: int = option(1, low=1, high=8)
    """Recurrent layers, one above the other, of every recurrent head but TextRCNN."""
    directions: Literal["auto", "one", "both"] = "auto"
    """Of recurrent layers: forwards, or both ways. ``auto`` is both for HAN and TextRNN, else forwards. TD-LSTM,
    TC-LSTM and TextRCNN have their own two."""
    td_states: Literal["concatenation", "sum", "average"] = "concatenation"
    """What TD-LSTM and TC-LSTM make of their two final states."""
    aspect: Literal["mean", "table"] = "mean"
    """The target's vector in AT-LSTM and ATAE-LSTM: mean of its tokens' vectors, or a vector learnt for each name that
    occurs twice in training, with one for all other names."""
    at_attention: Literal["added", "concatenated"] = "added"
    """How AT-LSTM and ATAE-LSTM bring a state and the target together; ``concatenated`` is their paper's equation, in
    which the target cannot move the attention."""
    dropout: float = option(0.4, low=0.0, high=0.95)
    af_operator: Literal["convolution", "correlation"] = "correlation"
    """Fusion of word and target in AF-LSTM: circular convolution or circular correlation."""
    af_normalise: Literal["layer", "batch", "none"] = "layer"
    """Normalisation of what AF-LSTM fuses: the states of the words, and the target. ``true`` is layer, ``false``
    none."""
    filter_sizes: list[int] = option([3, 4, 5], low=1, high=64)  # noqa: RUF009 (a field)
    """Tokens that a filter of TextCNN spans; each size has ``n_filters`` of its own."""
    n_filters: int = option(100, low=1, high=4096)
    """Filters of TextCNN for each size."""
    bigram_buckets: int = option(20_000, low=0, high=100_000_000)
    """Vectors that FastText's bigrams share by hashing; 0 for no bigrams."""
    sentences: Literal["fixed", "marks"] = "fixed"
    """What HAN takes for a sentence: ``sentence_tokens`` tokens, or what ends at a full stop or line break."""
    sentence_tokens: int = option(8, low=1, high=1024)
    """Tokens of a ``fixed`` sentence."""
    n_layers: int = option(2, low=1, high=96)
    """Layers of Transformer."""
    n_heads: int = option(2, low=1, high=128)
    """Attention heads of Transformer, of ``hidden_dim`` each."""
    class_weight_power: float = option(0.5, low=0.0, high=2.0)
    """Emotions weigh (1 / frequency) ** power in a head's loss: 0 none, 1 fully balanced."""

    def __post_init__(self) -> None:
        check_ranges("head", self)
        require(self.embedding != "vectors" or bool(self.vectors), "head.embedding=vectors needs head.vectors, a file")
        require(bool(self.filter_sizes), "head.filter_sizes must name at least one size")


@dataclass
class SentimentConfig:
    """Stage two: the emotion toward a chosen entity."""

    members: list[str] = field(default_factory=lambda: ["tfidf", "tfidf_words", "tfidf_nb"])
    """Models that are trained and measured out-of-fold: ``tfidf``, ``tfidf_words``, ``tfidf_nb`` (linear, on n-grams of
    characters, of words, and on those of characters scaled by naive Bayes), any head of ``pipeline.registry.HEADS``
    (``ian``, ``af_lstm``, ``pair`` ...), or ``majority``, the baseline, which is measured in any case."""
    choose: str = AUTO
    """What answers: a member, several joined by ``+`` (their average, weighted by likelihood), or ``auto``: whichever
    has the best out-of-fold accuracy, a member alone or the average of all. ``majority`` answers only if it is named
    here, or is the only member."""
    transfer: list[str] = field(default_factory=list)
    """Files of other labelled rows, JSON lines of text, target and polarity, or articles. Every head learns from them
    first, and goes on from there with the articles. Texts that are training articles themselves are left out."""
    max_context_chars: int = option(200, low=16, high=2000)
    """Characters of a target's context: title, and sentences that name it."""
    class_weight_power: float = option(1.0, low=0.0, high=2.0)
    """Emotions weigh (1 / frequency) ** power in the loss of members on TF-IDF; heads: ``head.class_weight_power``."""
    dev_fraction: float = option(0.12, low=0.01, high=0.5)
    """Share of the training articles by which a head's best epoch is chosen."""

    def __post_init__(self) -> None:
        check_ranges("sentiment", self)
        require(bool(self.members), "sentiment.members must name at least one model")
        repeated = {name for name in self.members if self.members.count(name) > 1}
        require(not repeated, f"sentiment.members repeats {', '.join(sorted(repeated))}")
        self._check_choose()

    def _check_choose(self) -> None:
        if self.choose == AUTO:
            return
        names, known = self.choose.split(AND), list(dict.fromkeys([*self.members, BASELINE]))
        where = f"sentiment.choose={self.choose}"
        require(all(names), f"{where}: want {AUTO}, a member, or members joined by {AND}, as in {AND.join(known[:2])}")
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, [*known, AUTO], n=1)
                hint = f"did you mean {near[0]!r}?" if near else "add it to sentiment.members, or choose one of them"
                raise ConfigError(f"{where}: {name!r} is none of sentiment.members ({', '.join(known)})", hint=hint)
        repeated = {name for name in names if names.count(name) > 1}
        require(not repeated, f"{where}: repeats {', '.join(sorted(repeated))}")

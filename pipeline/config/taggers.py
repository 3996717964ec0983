"""Options of the sequence labellers: stage one's tagger, and the joint one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import between, check_ranges, option, require
from pipeline.config.training import MAX_POSITIONS, TrainingConfig

MAX_WINDOW = MAX_POSITIONS - 3
"""Most tokens of a window and the title beside it: [CLS] window [SEP] title [SEP]."""

SIZES = {"small": (256, 4, 8, 1024), "base": (512, 6, 8, 2048)}
"""d_model, n_layers, n_heads and feed_forward_dim of ``encoder``; base: Vaswani et al., NeurIPS 2017, table 3."""


def _tagger_training() -> TrainingConfig:
    return TrainingConfig(max_epochs=2, batch_size=4, learning_rate=1e-3, mixed_precision="auto")


@dataclass
class TaggerConfig:
    """Stage one: the sequence labeller that finds candidates and scores them."""

    name: str = "bert"
    """``none``, or a registered tagger: ``lstm``, ``encoder`` (Transformer from random weights), ``bert``."""
    encoder: str = "builtin:e5-zh-6"
    """Pre-trained encoder of ``bert``: a folder, ``builtin:e5-zh-3``, ``-6`` or ``-12``, or a name on the model hub."""
    scheme: Literal["BIO", "BIESO"] = "BIESO"
    crf: bool = False
    """Learn the transitions between tags; otherwise each tag is classified alone, and only well-formed ones count."""
    tokeniser: str = ""
    """What ``encoder`` reads: characters where empty; else pieces of a tokeniser: a folder, ``builtin:e5-zh-6``, or
    a name on the model hub."""
    bidirectional: bool = True
    """``lstm`` reads in both directions; false: forward alone."""
    min_word_count: int = option(2, low=1, high=1_000_000)
    """How often a word must occur to be known, where given words are tagged (``tag train`` on one label a word)."""
    embedding_dim: int = option(128, low=2, high=4096)
    """Size of the token vectors of ``lstm``."""
    hidden_dim: int = option(128, low=2, high=4096)
    """Hidden size of ``lstm``, of each direction."""
    size: Literal["", "small", "base"] = ""
    """Of ``encoder``: ``base`` is the source's, 6 layers of 8 heads, 512 wide, 2048 inside; ``small``: 4 layers of 8
    heads, 256 wide, 1024 inside. A size sets the four options below; empty: they count as given."""
    d_model: int = option(512, low=2, high=8192)
    """Size of the states of ``encoder``."""
    n_layers: int = option(6, low=1, high=96)
    n_heads: int = option(8, low=1, high=128)
    feed_forward_dim: int = option(2048, low=2, high=32_768)
    dropout: float = option(0.1, low=0.0, high=0.95)
    freeze_layers: int = option(2, low=0, high=96)
    """Lowest layers of the pre-trained encoder, embeddings with them, that stay as they are: less to compute."""
    frozen_dropout: bool = True
    """Frozen layers drop units while the others learn. False runs them once a window and keeps what they say on disk:
    with four of six layers frozen, less than half the time."""
    encoder_learning_rate: float = option(3e-4, low=1e-8, high=1.0)
    """Of the pre-trained encoder's highest layer; ``training.learning_rate`` is that of everything else. The small
    packaged encoder needs a high one; encoders of 100 million parameters and more want 2e-5 to 5e-5."""
    layer_decay: float = option(0.9, low=0.1, high=1.0)
    """Each layer of the pre-trained encoder learns at this multiple of the rate of the one above it."""
    class_weight_power: float = option(0.0, low=0.0, high=2.0)
    """Tags weigh (1 / frequency) ** power in the loss: 0 none, 1 fully balanced."""
    focal_gamma: float = option(0.0, low=0.0, high=10.0)
    """Tags that are right with probability p weigh (1 - p) ** gamma in the loss: 0 is plain cross-entropy."""
    window_tokens: int = option(256, low=8, high=MAX_WINDOW)
    """Tokens of the text that are read at a time, in prediction."""
    overlap_tokens: int = option(32, low=0, high=MAX_WINDOW // 2)
    """Tokens shared by neighbouring windows, in prediction: every span up to that length lies whole in one of them."""
    title_tokens: int = option(48, low=0, high=MAX_POSITIONS // 2)
    """Most tokens of the title read beside a window that does not hold it."""
    train_window_tokens: int = option(128, low=8, high=MAX_WINDOW)
    train_tokens: int = option(256, low=0, high=1_000_000)
    """Tokens read of an article in an epoch: its first window, and others drawn, rather those with mentions; 0 all."""
    train_articles: int = option(0, low=0, high=100_000_000, later=True)
    """Most articles that one training learns from, drawn by ``seed`` from those it may see; 0: all of them."""
    predict_chars: int = option(600, low=0, high=100_000_000)
    """Characters of an article that are read in prediction; 0 all."""
    max_span_tokens: int = option(30, low=1, high=200)
    """Longest entity."""
    min_prob: float = option(0.02, low=1e-6, high=1.0)
    """Spans of a lower probability are dropped."""
    dev_fraction: float = option(0.0, low=0.0, high=0.5)
    """Share of the training articles by which the best epoch is chosen; 0 keeps the last epoch."""
    ner_files: list[str] = field(default_factory=list)
    """Rows with marked entities on which the tagger is trained first, whatever their types."""
    ner_epochs: int = option(3, low=1, high=1000)
    training: TrainingConfig = field(default_factory=_tagger_training)

    def __post_init__(self) -> None:
        check_ranges("tagger", self)
        if self.size:
            self.d_model, self.n_layers, self.n_heads, self.feed_forward_dim = SIZES[self.size]
        between("tagger.overlap_tokens", self.overlap_tokens, 0, self.window_tokens // 2)
        require(bool(self.encoder), "tagger.encoder must name an encoder")
        require(self.d_model % self.n_heads == 0, f"tagger.n_heads {self.n_heads} must divide d_model {self.d_model}")
        require(self.d_model % 2 == 0, f"tagger.d_model must be even, got {self.d_model}")
        weighted = self.class_weight_power > 0 or self.focal_gamma > 0
        require(not (self.crf and weighted), "tagger.class_weight_power and tagger.focal_gamma need tagger.crf=false")
        widest = max(self.window_tokens, self.train_window_tokens) + self.title_tokens
        require(
            widest <= MAX_WINDOW,
            f"tagger.window_tokens and title_tokens are {widest} together, at most {MAX_WINDOW}",
        )


@dataclass
class JointConfig:
    """Entity and emotion in one tagging pass (``mode`` joint and fused); network and training are ``tagger``'s."""

    output: Literal["joined", "two_heads"] = "joined"
    """``joined``: tags of boundary and emotion (B-POS); ``two_heads``: bare tags, and another layer for emotions."""
    emotion_weight: float = option(1.0, low=0.0, high=100.0)
    """Weight of the emotions' loss beside that of the boundaries, with ``two_heads``."""
    ranking: Literal["reranker", "own"] = "reranker"
    """What orders entities: the reranker over all candidates, or the joint tagger's own scores."""
    shares_tagger: bool = False
    """In mode fused the reranker reads the joint tagger's spans, and no second tagger is trained: half the time."""
    own_score: Literal["noisy_or", "sum"] = "noisy_or"
    """A name's own score: 1 - prod(1 - p) over its mentions, or the sum of their probabilities."""

    def __post_init__(self) -> None:
        check_ranges("joint", self)

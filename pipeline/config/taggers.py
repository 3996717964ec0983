"""Options of the sequence labellers: stage one's tagger, and the joint one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import between, require
from pipeline.config.training import MAX_POSITIONS, TrainingConfig


def _tagger_training() -> TrainingConfig:
    return TrainingConfig(max_epochs=3, batch_size=8, learning_rate=1e-3)


@dataclass
class TaggerConfig:
    """Stage one: the sequence labeller that finds candidates and scores them."""

    name: str = "none"
    """``none``, or a registered tagger: ``lstm``, ``encoder`` (Transformer from random weights), ``bert``."""
    encoder: str = "builtin:e5-zh-6"
    """Pre-trained encoder of ``bert``: a folder, ``builtin:e5-zh-3``, ``-6`` or ``-12``, or a name on the model hub."""
    scheme: Literal["BIO", "BIESO"] = "BIESO"
    crf: bool = False
    """Learn the transitions between tags; otherwise each tag is classified alone, and only well-formed ones count."""
    embedding_dim: int = 128
    """Size of the token vectors of ``lstm``."""
    hidden_dim: int = 128
    """Hidden size of ``lstm``, of each direction."""
    d_model: int = 512
    """Size of the states of ``encoder``."""
    n_layers: int = 6
    n_heads: int = 8
    feed_forward_dim: int = 2048
    dropout: float = 0.1
    freeze_layers: int = 0
    """Lowest layers of the pre-trained encoder, embeddings with them, that stay as they are: less to compute."""
    encoder_learning_rate: float = 3e-4
    """Of the pre-trained encoder's highest layer; ``training.learning_rate`` is that of everything else. The small
    packaged encoder needs a high one; encoders of 100 million parameters and more want 2e-5 to 5e-5."""
    layer_decay: float = 0.9
    """Each layer of the pre-trained encoder learns at this multiple of the rate of the one above it."""
    class_weight_power: float = 0.0
    """Tags weigh (1 / frequency) ** power in the loss: 0 none, 1 fully balanced."""
    focal_gamma: float = 0.0
    """Tags that are right with probability p weigh (1 - p) ** gamma in the loss: 0 is plain cross-entropy."""
    window_tokens: int = 256
    """Tokens of the text that are read at a time, in prediction."""
    overlap_tokens: int = 32
    """Tokens shared by neighbouring windows, in prediction: every span up to that length lies whole in one of them."""
    title_tokens: int = 48
    """Most tokens of the title read beside a window that does not hold it."""
    train_window_tokens: int = 128
    train_tokens: int = 256
    """Tokens read of an article in an epoch: its first window, and others drawn, rather those with mentions; 0 all."""
    predict_chars: int = 0
    """Characters of an article that are read in prediction; 0 all."""
    max_span_tokens: int = 30
    """Longest entity."""
    min_prob: float = 0.02
    """Spans of a lower probability are dropped."""
    dev_fraction: float = 0.0
    """Share of the training articles by which the best epoch is chosen; 0 keeps the last epoch."""
    ner_files: list[str] = field(default_factory=list)
    """Rows with marked entities on which the tagger is trained first, whatever their types."""
    ner_epochs: int = 3
    training: TrainingConfig = field(default_factory=_tagger_training)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("embedding_dim", 2, 4096),
            ("hidden_dim", 2, 4096),
            ("d_model", 2, 8192),
            ("n_layers", 1, 96),
            ("n_heads", 1, 128),
            ("feed_forward_dim", 2, 32_768),
            ("dropout", 0.0, 0.95),
            ("freeze_layers", 0, 96),
            ("encoder_learning_rate", 1e-8, 1.0),
            ("layer_decay", 0.1, 1.0),
            ("class_weight_power", 0.0, 2.0),
            ("focal_gamma", 0.0, 10.0),
            ("window_tokens", 8, MAX_POSITIONS),
            ("train_window_tokens", 8, MAX_POSITIONS),
            ("overlap_tokens", 0, self.window_tokens // 2),
            ("title_tokens", 0, MAX_POSITIONS // 2),
            ("train_tokens", 0, 1_000_000),
            ("predict_chars", 0, 100_000_000),
            ("max_span_tokens", 1, 200),
            ("min_prob", 1e-6, 1.0),
            ("dev_fraction", 0.0, 0.5),
            ("ner_epochs", 1, 1000),
        ):
            between(f"tagger.{name}", getattr(self, name), low, high)
        require(bool(self.encoder), "tagger.encoder must name an encoder")
        require(self.d_model % self.n_heads == 0, f"tagger.n_heads {self.n_heads} must divide d_model {self.d_model}")
        require(self.d_model % 2 == 0, f"tagger.d_model must be even, got {self.d_model}")
        weighted = self.class_weight_power > 0 or self.focal_gamma > 0
        require(not (self.crf and weighted), "tagger.class_weight_power and tagger.focal_gamma need tagger.crf=false")
        widest = max(self.window_tokens, self.train_window_tokens) + self.title_tokens
        # [CLS] window [SEP] title [SEP]
        require(
            widest + 3 <= MAX_POSITIONS,
            f"tagger.window_tokens and title_tokens are {widest} together, at most {MAX_POSITIONS - 3}",
        )


@dataclass
class JointConfig:
    """Entity and emotion in one tagging pass (``mode`` joint and fused); network and training are ``tagger``'s."""

    output: Literal["joined", "two_heads"] = "joined"
    """``joined``: tags of boundary and emotion (B-POS); ``two_heads``: bare tags, and another layer for emotions."""
    emotion_weight: float = 1.0
    """Weight of the emotions' loss beside that of the boundaries, with ``two_heads``."""
    ranking: Literal["reranker", "own"] = "reranker"
    """What orders entities: the reranker over all candidates, or the joint tagger's own scores."""
    shares_tagger: bool = False
    """In mode fused the reranker reads the joint tagger's spans, and no second tagger is trained: half the time."""
    own_score: Literal["noisy_or", "sum"] = "noisy_or"
    """A name's own score: 1 - prod(1 - p) over its mentions, or the sum of their probabilities."""

    def __post_init__(self) -> None:
        between("joint.emotion_weight", self.emotion_weight, 0.0, 100.0)

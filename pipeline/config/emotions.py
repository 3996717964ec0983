"""Options of stage two: heads, and the choice among its models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import between, require
from pipeline.config.training import EncoderConfig


@dataclass
class HeadConfig:
    """What a sentiment head reads, and the sizes of its network."""

    embedding: Literal["random", "vectors", "encoder"] = "random"
    """Vectors of the tokens: learnt from random starts, of a file, or the states of ``encoder``. ``pair`` always reads
    the encoder."""
    tokens: Literal["char", "word"] = "char"
    """Characters and Latin runs, or words; an encoder has pieces of its own."""
    vectors: str = ""
    """File of word vectors: GloVe or word2vec, text or binary, plain or .gz; for embedding ``vectors``."""
    vectors_mode: Literal["static", "fine_tuned", "two_channel"] = "fine_tuned"
    """Vectors of a file stay as they are, learn, or both side by side (text_cnn alone)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    encoder_mode: Literal["fine_tuned", "frozen"] = "fine_tuned"
    """``fine_tuned`` trains the encoder with the head, as ``head.encoder.training`` says; ``frozen`` trains the head
    alone, as ``training`` says."""
    states_cache: str = ""
    """Folder that keeps the states of a frozen encoder, such as models/states; "" computes them anew each time."""
    embedding_dim: int = 64
    """Of random vectors."""
    hidden_dim: int = 48
    """Hidden size of the recurrent layers, of every layer of CharCNN, and of an attention head of Transformer."""
    dropout: float = 0.4
    af_operator: Literal["convolution", "correlation"] = "correlation"
    """Fusion of word and target in AF-LSTM: circular convolution or circular correlation."""
    af_normalise: bool = True
    """Layer-normalise what AF-LSTM fuses: the states of the words, and the target."""
    filter_sizes: list[int] = field(default_factory=lambda: [3, 4, 5])
    """Tokens that a filter of TextCNN spans; each size has ``n_filters`` of its own."""
    n_filters: int = 100
    """Filters of TextCNN for each size."""
    bigram_buckets: int = 20_000
    """Vectors that FastText's bigrams share by hashing; 0 for no bigrams."""
    sentence_tokens: int = 8
    """Tokens of what HAN takes for a sentence."""
    n_layers: int = 2
    """Layers of Transformer."""
    n_heads: int = 2
    """Attention heads of Transformer, of ``hidden_dim`` each."""
    class_weight_power: float = 1.0
    """Emotions weigh (1 / frequency) ** power in a head's loss: 0 none, 1 fully balanced."""

    def __post_init__(self) -> None:
        require(self.embedding != "vectors" or bool(self.vectors), "head.embedding=vectors needs head.vectors, a file")
        between("head.embedding_dim", self.embedding_dim, 2, 4096)
        between("head.hidden_dim", self.hidden_dim, 2, 4096)
        between("head.dropout", self.dropout, 0.0, 0.95)
        require(bool(self.filter_sizes), "head.filter_sizes must name at least one size")
        for size in self.filter_sizes:
            between("head.filter_sizes", size, 1, 64)
        between("head.n_filters", self.n_filters, 1, 4096)
        between("head.bigram_buckets", self.bigram_buckets, 0, 100_000_000)
        between("head.sentence_tokens", self.sentence_tokens, 1, 1024)
        between("head.n_layers", self.n_layers, 1, 96)
        between("head.n_heads", self.n_heads, 1, 128)
        between("head.class_weight_power", self.class_weight_power, 0.0, 2.0)


@dataclass
class SentimentConfig:
    """Stage two: the emotion toward a chosen entity."""

    members: list[str] = field(default_factory=lambda: ["tfidf", "ian", "af_lstm"])
    """Models trained and measured out-of-fold: ``majority``, ``tfidf``, ``tfidf_words``, ``tfidf_nb`` or any registered
    head."""
    choose: str = "auto"
    """``auto`` predicts with the members (alone or averaged) of the best out-of-fold accuracy;
    otherwise one member, or several joined by ``+``."""
    transfer: list[str] = field(default_factory=list)
    """Files of other labelled rows, JSON lines of text, target and polarity, or articles. Every head learns from them
    first, and goes on from there with the articles. Texts that are training articles themselves are left out."""
    max_context_chars: int = 200
    """Characters of a target's context: title, and sentences that name it."""
    class_weight_power: float = 1.0
    """Emotions weigh (1 / frequency) ** power in the loss of members on TF-IDF; heads: ``head.class_weight_power``."""
    dev_fraction: float = 0.12
    """Share of the training articles by which a head's best epoch is chosen."""

    def __post_init__(self) -> None:
        require(bool(self.members), "sentiment.members must name at least one model")
        repeated = {name for name in self.members if self.members.count(name) > 1}
        require(not repeated, f"sentiment.members repeats {', '.join(sorted(repeated))}")
        if self.choose != "auto":
            unknown = [name for name in self.choose.split("+") if name not in self.members]
            require(not unknown, f"sentiment.choose names {', '.join(unknown)}, not in members {self.members}")
        between("sentiment.max_context_chars", self.max_context_chars, 16, 2000)
        between("sentiment.class_weight_power", self.class_weight_power, 0.0, 2.0)
        between("sentiment.dev_fraction", self.dev_fraction, 0.01, 0.5)

"""Options of stage one: candidates, relevance, the reranker, and the encoder that ranks again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import between
from pipeline.config.training import MAX_POSITIONS, EncoderConfig, TrainingConfig


@dataclass
class CandidateConfig:
    """Which strings of an article may become its core entities."""

    dictionary: str = "data/nerDict.txt"
    """Entity dictionary, one name a line, plain or .gz; the default is used only where it exists, "" for none."""
    use_gold_names: bool = True
    """Add the gold entities of the training articles to the dictionary (of the other folds, in training)."""
    max_words: int = 6
    """Longest run of adjacent words joined into one candidate."""
    max_chars: int = 20
    """Longest word, word run, dictionary or Latin name, in normalised characters; titles in 《》 may have 40."""
    max_candidates: int = 150
    """Candidates kept in an article after pruning."""

    def __post_init__(self) -> None:
        between("candidates.max_words", self.max_words, 1, 8)
        between("candidates.max_chars", self.max_chars, 2, 60)
        between("candidates.max_candidates", self.max_candidates, 3, 5000)


@dataclass
class RerankConfig:
    """LightGBM over the candidates of an article."""

    objective: Literal["binary", "lambdarank"] = "binary"
    n_estimators: int = 800
    learning_rate: float = 0.03
    num_leaves: int = 15
    min_child_samples: int = 40
    feature_fraction: float = 0.3
    bagging_fraction: float = 0.8
    reg_lambda: float = 5.0
    extra_trees: bool = True
    """Draw the threshold of each split at random instead of searching for the best."""
    n_hard_negatives: int = 20
    """Wrong candidates of an article that the trees learn from: those that a first, small model ranks best; 0: all."""
    other_negatives: float = 0.1
    """Share of the other wrong candidates that they learn from as well, drawn at random."""
    n_bags: int = 1
    """Models of different seeds averaged in each fold."""
    hit_rate_smoothing: float = 5.0
    """Pseudo-count that pulls a name's out-of-fold hit rate toward the overall rate."""
    max_entities: int = 3
    """Upper bound on entities written an article (competition rule)."""

    def __post_init__(self) -> None:
        between("rerank.max_entities", self.max_entities, 1, 3)
        between("rerank.n_estimators", self.n_estimators, 1, 100_000)
        between("rerank.learning_rate", self.learning_rate, 1e-5, 1.0)
        between("rerank.num_leaves", self.num_leaves, 2, 4096)
        between("rerank.min_child_samples", self.min_child_samples, 1, 100_000)
        between("rerank.feature_fraction", self.feature_fraction, 0.01, 1.0)
        between("rerank.bagging_fraction", self.bagging_fraction, 0.01, 1.0)
        between("rerank.reg_lambda", self.reg_lambda, 0.0, 1e6)
        between("rerank.n_hard_negatives", self.n_hard_negatives, 0, 5000)
        between("rerank.other_negatives", self.other_negatives, 0.0, 1.0)
        between("rerank.n_bags", self.n_bags, 1, 100)
        between("rerank.hit_rate_smoothing", self.hit_rate_smoothing, 0.0, 1e6)


def _cross_encoder() -> EncoderConfig:
    return EncoderConfig(training=TrainingConfig(max_epochs=2, batch_size=4, learning_rate=1e-3))


@dataclass
class CrossConfig:
    """A second reranking: a pre-trained encoder reads each article's best candidates in their context."""

    name: Literal["none", "encoder", "pooled"] = "none"
    """``encoder`` reads every candidate apart, marked in the text; ``pooled`` reads a text once for all of them."""
    top_k: int = 20
    """Best candidates of the first reranking that are scored."""
    max_tokens: int = 160
    """Longest input of ``encoder``."""
    pooled_tokens: int = 384
    """Longest input of ``pooled``, which lists the names of all candidates after the text."""
    n_negatives: int = 6
    """Wrong candidates drawn for each article and epoch, in training of ``encoder``; ``pooled`` reads all ``top_k``."""
    loss: Literal["binary", "listwise"] = "binary"
    """Each candidate alone, or the gold ones against all others of the article."""
    dropout: float = 0.1
    combine: Literal["stack", "blend"] = "stack"
    """``stack`` fits the trees again, with the encoder's scores as features; ``blend`` adds weighted log odds."""
    n_estimators: int = 200
    """Trees of ``stack``; its other options are those of ``rerank``."""
    encoder: EncoderConfig = field(default_factory=_cross_encoder)
    """``encoder.training.batch_size`` counts articles."""

    def __post_init__(self) -> None:
        between("cross.top_k", self.top_k, 3, 200)
        between("cross.max_tokens", self.max_tokens, 32, MAX_POSITIONS)
        between("cross.pooled_tokens", self.pooled_tokens, 32, MAX_POSITIONS)
        between("cross.n_negatives", self.n_negatives, 1, 200)
        between("cross.dropout", self.dropout, 0.0, 0.95)
        between("cross.n_estimators", self.n_estimators, 1, 100_000)


def _relevance_training() -> TrainingConfig:
    return TrainingConfig(max_epochs=4, batch_size=64, learning_rate=3e-3)


NO_RELEVANCE = "none"


@dataclass
class RelevanceConfig:
    """Siamese scorer between the title and a candidate's context; its scores become columns of the reranker."""

    name: str = NO_RELEVANCE
    """``none``, or a registered matcher: ``malstm``, ``soft_align``."""
    loss: Literal["bce", "mse", "contrastive"] = "bce"
    """Binary cross-entropy, squared error of the similarity, or contrastive: apart up to ``margin``."""
    margin: float = 2.0
    """Distance from which a pair that does not belong together costs nothing; ``contrastive`` only."""
    tokens: Literal["char", "word"] = "char"
    """What is read: characters, or jieba's words; either leaves Latin runs such as ``c++`` whole."""
    embedding_dim: int = 48
    hidden_dim: int = 32
    """Hidden size of the LSTMs, of each direction."""
    dropout: float = 0.3
    max_title_tokens: int = 32
    """Tokens read of the title, or of the first sentence where there is no title."""
    max_sentence_tokens: int = 32
    """Tokens read of a sentence that names the candidate, cut around the name."""
    max_context_tokens: int = 64
    """Tokens read of all such sentences of a candidate."""
    n_negatives: int = 5
    """Candidates that are not core, drawn anew each epoch, for each core entity of an article."""
    training: TrainingConfig = field(default_factory=_relevance_training)

    def __post_init__(self) -> None:
        between("relevance.margin", self.margin, 1e-3, 1000.0)
        between("relevance.embedding_dim", self.embedding_dim, 2, 4096)
        between("relevance.hidden_dim", self.hidden_dim, 2, 4096)
        between("relevance.dropout", self.dropout, 0.0, 0.95)
        between("relevance.max_title_tokens", self.max_title_tokens, 1, 4096)
        between("relevance.max_sentence_tokens", self.max_sentence_tokens, 1, 4096)
        between("relevance.max_context_tokens", self.max_context_tokens, 1, 4096)
        between("relevance.n_negatives", self.n_negatives, 1, 1000)

    @property
    def is_on(self) -> bool:
        """Whether the run has a relevance scorer."""
        return self.name != NO_RELEVANCE

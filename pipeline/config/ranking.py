"""Options of stage one: candidates, relevance, the reranker, and the encoder that ranks again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import check_ranges, option
from pipeline.config.training import MAX_POSITIONS, EncoderConfig, TrainingConfig


@dataclass
class CandidateConfig:
    """Which strings of an article may become its core entities."""

    dictionary: str = "data/nerDict.txt"
    """Entity dictionary, one name per line, plain or .gz; the default is used only where it exists, "" for none."""
    use_gold_names: bool = True
    """Add the gold entities of the training articles to the dictionary (of the other folds, in training)."""
    max_words: int = option(6, low=1, high=8)
    """Longest run of adjacent words joined into one candidate."""
    max_chars: int = option(20, low=2, high=60)
    """Longest word, word run, dictionary or Latin name, in normalised characters; titles in 《》 may have 40."""
    max_candidates: int = option(150, low=3, high=5000)
    """Candidates kept in an article after pruning."""

    def __post_init__(self) -> None:
        check_ranges("candidates", self)


@dataclass
class RerankConfig:
    """LightGBM over the candidates of an article."""

    objective: Literal["binary", "lambdarank"] = "binary"
    n_estimators: int = option(800, low=1, high=100_000)
    learning_rate: float = option(0.03, low=1e-5, high=1.0)
    num_leaves: int = option(15, low=2, high=4096)
    min_child_samples: int = option(40, low=1, high=100_000)
    feature_fraction: float = option(0.3, low=0.01, high=1.0)
    bagging_fraction: float = option(0.8, low=0.01, high=1.0)
    reg_lambda: float = option(5.0, low=0.0, high=1e6)
    extra_trees: bool = True
    """Draw the threshold of each split at random instead of searching for the best."""
    n_hard_negatives: int = option(20, low=0, high=5000)
    """Wrong candidates of an article that the trees learn from: those that a first, small model ranks best; 0: all."""
    other_negatives: float = option(0.1, low=0.0, high=1.0)
    """Share of the other wrong candidates that they learn from as well, drawn at random."""
    n_bags: int = option(2, low=1, high=100)
    """Models of different seeds averaged in each fold."""
    hit_rate_smoothing: float = option(5.0, low=0.0, high=1e6)
    """Pseudo-count that pulls a name's out-of-fold hit rate toward the overall rate."""
    max_entities: int = option(3, low=1, high=3)
    """Upper bound on entities written per article (competition rule)."""

    def __post_init__(self) -> None:
        check_ranges("rerank", self)


def _cross_encoder() -> EncoderConfig:
    return EncoderConfig(training=TrainingConfig(max_epochs=2, batch_size=4, learning_rate=1e-3))


@dataclass
class CrossConfig:
    """A second reranking: a pre-trained encoder reads each article's best candidates in their context.

    Optional, no gain measured (docs/EXPERIMENTS.md).
    """

    name: Literal["none", "encoder", "pooled"] = "none"
    """``encoder`` reads every candidate apart, marked in the text; ``pooled`` reads a text once for all of them."""
    top_k: int = option(20, low=3, high=200)
    """Best candidates of the first reranking that are scored."""
    max_tokens: int = option(160, low=32, high=MAX_POSITIONS)
    """Longest input of ``encoder``."""
    pooled_tokens: int = option(384, low=32, high=MAX_POSITIONS)
    """Longest input of ``pooled``, which lists the names of all candidates after the text."""
    n_negatives: int = option(6, low=1, high=200)
    """Wrong candidates drawn for each article and epoch, in training of ``encoder``; ``pooled`` reads all ``top_k``."""
    loss: Literal["binary", "listwise"] = "binary"
    """Each candidate alone, or the gold ones against all others of the article."""
    dropout: float = option(0.1, low=0.0, high=0.95)
    combine: Literal["stack", "blend"] = "stack"
    """``stack`` fits the trees again, with the encoder's scores as features; ``blend`` adds weighted log odds."""
    n_estimators: int = option(200, low=1, high=100_000)
    """Trees of ``stack``; its other options are those of ``rerank``."""
    encoder: EncoderConfig = field(default_factory=_cross_encoder)
    """``encoder.training.batch_size`` counts articles."""

    def __post_init__(self) -> None:
        check_ranges("cross", self)


def _relevance_training() -> TrainingConfig:
    return TrainingConfig(max_epochs=4, batch_size=64, learning_rate=3e-3)


NO_RELEVANCE = "none"


@dataclass
class RelevanceConfig:
    """Siamese scorer between the title and a candidate's context; its scores become columns of the reranker.

    Optional, no gain measured (docs/RESULTS.md).
    """

    name: str = NO_RELEVANCE
    """``none``, or a registered matcher: ``malstm``, ``soft_align``."""
    loss: Literal["bce", "mse", "contrastive"] = "bce"
    """Binary cross-entropy, squared error of the similarity, or contrastive: apart up to ``margin``."""
    margin: float = option(2.0, low=1e-3, high=1000.0)
    """Distance from which a pair that does not belong together costs nothing; ``contrastive`` only."""
    tokens: Literal["char", "word"] = "char"
    """What is read: characters, or jieba's words; either leaves Latin runs such as ``c++`` whole."""
    embedding_dim: int = option(48, low=2, high=4096)
    hidden_dim: int = option(32, low=2, high=4096)
    """Hidden size of the LSTMs, of each direction."""
    dropout: float = option(0.3, low=0.0, high=0.95)
    max_title_tokens: int = option(32, low=1, high=4096)
    """Tokens read of the title, or of the first sentence where there is no title."""
    max_sentence_tokens: int = option(32, low=1, high=4096)
    """Tokens read of a sentence that names the candidate, cut around the name."""
    max_context_tokens: int = option(64, low=1, high=4096)
    """Tokens read of all such sentences of a candidate."""
    n_negatives: int = option(5, low=1, high=1000)
    """Candidates that are not core, drawn anew each epoch, for each core entity of an article."""
    training: TrainingConfig = field(default_factory=_relevance_training)

    def __post_init__(self) -> None:
        check_ranges("relevance", self)

    @property
    def is_on(self) -> bool:
        """Whether the run has a relevance scorer."""
        return self.name != NO_RELEVANCE

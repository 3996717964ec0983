"""Options of stage one: candidates, relevance, the reranker, and the encoder that ranks again."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from pipeline.config.checks import check_ranges, option, require
from pipeline.config.training import MAX_POSITIONS, EncoderConfig, TrainingConfig


@dataclass
class CandidateConfig:
    """Which strings of an article may become its core entities."""

    dictionary: str = "data/nerDict.txt"
    """Entity dictionary, plain or .gz: one name a line, or a file of jieba (name, frequency, tag), HanLP (tabs) or CSV;
    the default is used only where it exists, "" for none."""
    min_name_chars: int = option(1, low=1, high=5)
    """Shortest name taken from the dictionary, in normalised characters."""
    min_word_chars: int = option(2, low=1, high=5)
    """Shortest word that becomes a candidate by itself; names of the dictionary and gold names are not bound by it."""
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
    train_articles: int = option(0, low=0, high=100_000_000, later=True)
    """Most articles whose candidates the trees of a fold learn from, drawn by ``seed``; 0: all of them."""
    mining_articles: int = option(0, low=0, high=100_000_000, later=True)
    """Most of those articles that the first, small model is fitted on, which says what is hard; 0: all of them."""
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
MAX_COSINE_DISTANCE = 2.0
"""Of two encodings that point in opposite directions."""


@dataclass
class MaLSTMConfig:
    """What only ``malstm`` has; the defaults are its paper's."""

    similarity: Literal["exp_l1", "euclidean", "cosine", "linear"] = "exp_l1"
    """Of the two encodings: exp(-L1 distance), exp(-Euclidean distance), (1 + cosine) / 2, or a linear layer over both,
    which adds what it finds in each and compares nothing."""
    cell: Literal["lstm", "gru"] = "lstm"
    n_layers: int = option(1, low=1, high=2)
    """Recurrent layers, one above the other; the last state of the upper one is the encoding."""
    tied: bool = True
    """One network reads both texts; false gives the right text layers of its own, for texts of unlike kinds."""

    def __post_init__(self) -> None:
        check_ranges("relevance.malstm", self)


@dataclass
class SoftAlignConfig:
    """What only ``soft_align`` has, most of it what its paper takes away to see what each part is worth."""

    cell: Literal["lstm", "gru"] = "lstm"
    encoding: Literal["recurrent", "feed_forward"] = "recurrent"
    """What reads a text before the alignment; ``feed_forward`` sees each token alone."""
    composition: Literal["recurrent", "feed_forward"] = "recurrent"
    """What reads the compared tokens after it."""
    differences: bool = True
    """Compare a token with what it is aligned with by difference and product too, not by the two vectors alone."""
    pooling: Literal["mean_max", "mean", "max", "sum"] = "mean_max"
    n_hidden_layers: int = option(1, low=1, high=2)
    """Hidden layers between the pooled vectors and the logit."""
    activation: Literal["elu", "tanh"] = "elu"
    """Of the hidden layers; the paper has ``tanh``."""
    batch_norm: bool = True
    """Normalise the pooled vectors over a batch; the paper does not."""

    def __post_init__(self) -> None:
        check_ranges("relevance.soft_align", self)


@dataclass
class RelevanceConfig:
    """Siamese scorer of two texts: of an article's title and a candidate's context, or of the pairs of ``match``.

    In articles its scores become columns of the reranker; optional, no gain measured (docs/RESULTS.md).
    """

    name: str = NO_RELEVANCE
    """``none``, or a registered matcher: ``malstm``, ``soft_align``."""
    loss: Literal["bce", "mse", "contrastive", "contrastive_distance"] = "bce"
    """Binary cross-entropy, squared error of the similarity, or contrastive: apart up to ``margin``, where the distance
    is -log(similarity), or (``contrastive_distance``, as printed) that of the two encodings."""
    margin: float = option(2.0, low=1e-3, high=1000.0)
    """Distance from which a pair that does not belong together costs nothing; of the contrastive losses only."""
    tokens: Literal["char", "word"] = "char"
    """What is read: characters, or jieba's words; either leaves Latin runs such as ``c++`` whole."""
    stopwords: str = ""
    """File of tokens that are not read, one a line, "" for none; names of candidates are read whole."""
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
    max_text_tokens: int = option(128, low=1, high=4096)
    """Tokens read of either text of a pair, by ``match`` only."""
    dev_fraction: float = option(0.1, low=0.01, high=0.5)
    """Share of the pairs that chooses the epoch where no file does, by ``match`` only."""
    n_negatives: int = option(5, low=1, high=1000)
    """Candidates that are not core, drawn anew each epoch, for each core entity of an article."""
    malstm: MaLSTMConfig = field(default_factory=MaLSTMConfig)
    soft_align: SoftAlignConfig = field(default_factory=SoftAlignConfig)
    training: TrainingConfig = field(default_factory=_relevance_training)

    def __post_init__(self) -> None:
        check_ranges("relevance", self)
        self._refuse_options_of_others()
        if self.loss == "contrastive_distance":
            similarity = self.malstm.similarity
            require(
                self.name in (NO_RELEVANCE, "malstm") and similarity != "linear",
                "relevance.loss=contrastive_distance needs two encodings with a distance: relevance.name=malstm, and"
                " malstm.similarity exp_l1, euclidean or cosine",
            )
            require(
                similarity != "cosine" or self.margin <= MAX_COSINE_DISTANCE,
                f"relevance.margin {self.margin} is never reached: the distance 1 - cosine is {MAX_COSINE_DISTANCE:g}"
                " at most",
            )

    @property
    def is_on(self) -> bool:
        """Whether the run has a relevance scorer."""
        return self.name != NO_RELEVANCE

    def _refuse_options_of_others(self) -> None:
        """Refuse changed options that the chosen matcher would not read."""
        for name, kind in (("malstm", MaLSTMConfig), ("soft_align", SoftAlignConfig)):
            changed = [part.name for part in fields(kind) if getattr(getattr(self, name), part.name) != part.default]
            require(
                not changed or self.name in (NO_RELEVANCE, name),
                f"relevance.{name}.{', '.join(changed)}: options of {name}, but relevance.name is {self.name}",
            )

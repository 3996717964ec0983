"""Every option of the pipeline: its type, default, meaning and range.

Values are merged in the order defaults < preset < ``--config FILE`` < ``--set a.b=value``.
The dataclasses are the schema; an unknown key, a wrong type or a value out of range is a ConfigError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.errors import ConfigError

PRESET_DIR = Path(__file__).parent / "presets"
DEFAULT_PRESET = "cpu"


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _between(name: str, value: float, low: float, high: float) -> None:
    _require(low <= value <= high, f"{name} must lie between {low} and {high}, got {value}")


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
        _between("candidates.max_words", self.max_words, 1, 8)
        _between("candidates.max_chars", self.max_chars, 2, 60)
        _between("candidates.max_candidates", self.max_candidates, 3, 5000)


@dataclass
class RerankConfig:
    """LightGBM over the candidates of an article."""

    objective: Literal["binary", "lambdarank"] = "binary"
    n_estimators: int = 500
    learning_rate: float = 0.03
    num_leaves: int = 15
    min_child_samples: int = 40
    feature_fraction: float = 0.3
    bagging_fraction: float = 0.8
    reg_lambda: float = 5.0
    n_bags: int = 1
    """Models of different seeds averaged in each fold."""
    hit_rate_smoothing: float = 5.0
    """Pseudo-count that pulls a name's out-of-fold hit rate toward the overall rate."""
    max_entities: int = 3
    """Upper bound on entities written an article (competition rule)."""

    def __post_init__(self) -> None:
        _between("rerank.max_entities", self.max_entities, 1, 3)
        _between("rerank.n_estimators", self.n_estimators, 1, 100_000)
        _between("rerank.learning_rate", self.learning_rate, 1e-5, 1.0)
        _between("rerank.num_leaves", self.num_leaves, 2, 4096)
        _between("rerank.min_child_samples", self.min_child_samples, 1, 100_000)
        _between("rerank.feature_fraction", self.feature_fraction, 0.01, 1.0)
        _between("rerank.bagging_fraction", self.bagging_fraction, 0.01, 1.0)
        _between("rerank.reg_lambda", self.reg_lambda, 0.0, 1e6)
        _between("rerank.n_bags", self.n_bags, 1, 100)
        _between("rerank.hit_rate_smoothing", self.hit_rate_smoothing, 0.0, 1e6)


@dataclass
class TrainingConfig:
    """The training loop shared by every network."""

    max_epochs: int = 8
    batch_size: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    warmup_fraction: float = 0.1
    """Share of the steps over which the learning rate rises; it then falls linearly to zero."""
    max_grad_norm: float = 1.0
    patience: int = 3
    """Epochs without a better development figure before training stops."""
    accumulate_batches: int = 1
    """Batches whose gradients are added up before a step."""
    mixed_precision: Literal["no", "bf16"] = "no"
    """Number format of matrix products; bf16 is faster where the processor has it, and a little less exact."""

    def __post_init__(self) -> None:
        _between("training.accumulate_batches", self.accumulate_batches, 1, 1024)
        _between("training.max_epochs", self.max_epochs, 1, 10_000)
        _between("training.batch_size", self.batch_size, 1, 65_536)
        _between("training.learning_rate", self.learning_rate, 1e-8, 10.0)
        _between("training.weight_decay", self.weight_decay, 0.0, 10.0)
        _between("training.warmup_fraction", self.warmup_fraction, 0.0, 1.0)
        _between("training.max_grad_norm", self.max_grad_norm, 1e-6, 1e6)
        _between("training.patience", self.patience, 1, 10_000)


MAX_POSITIONS = 512
"""Most tokens of one input of a tagger, special tokens included: what the usual encoders read."""


def _fine_tuning() -> TrainingConfig:
    return TrainingConfig(max_epochs=2, batch_size=8, learning_rate=1e-3)


@dataclass
class EncoderConfig:
    """A pre-trained encoder, and how it is trained further."""

    name: str = "builtin:e5-zh-6"
    """A folder, ``builtin:e5-zh-3``, ``-6`` or ``-12``, or a name on the model hub."""
    freeze_layers: int = 0
    """Lowest layers, embeddings with them, that stay as they are: less to compute."""
    learning_rate: float = 3e-4
    """Of the highest layer; ``training.learning_rate`` is that of everything else. The small packaged encoder needs a
    high one; encoders of 100 million parameters and more want 2e-5 to 5e-5."""
    layer_decay: float = 0.9
    """Each layer learns at this multiple of the rate of the one above it."""
    training: TrainingConfig = field(default_factory=_fine_tuning)

    def __post_init__(self) -> None:
        _require(bool(self.name), "encoder.name must name an encoder")
        _between("encoder.freeze_layers", self.freeze_layers, 0, 96)
        _between("encoder.learning_rate", self.learning_rate, 1e-8, 1.0)
        _between("encoder.layer_decay", self.layer_decay, 0.1, 1.0)


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
        _between("cross.top_k", self.top_k, 3, 200)
        _between("cross.max_tokens", self.max_tokens, 32, MAX_POSITIONS)
        _between("cross.pooled_tokens", self.pooled_tokens, 32, MAX_POSITIONS)
        _between("cross.n_negatives", self.n_negatives, 1, 200)
        _between("cross.dropout", self.dropout, 0.0, 0.95)
        _between("cross.n_estimators", self.n_estimators, 1, 100_000)


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

    def __post_init__(self) -> None:
        _require(self.embedding != "vectors" or bool(self.vectors), "head.embedding=vectors needs head.vectors, a file")
        _between("head.embedding_dim", self.embedding_dim, 2, 4096)
        _between("head.hidden_dim", self.hidden_dim, 2, 4096)
        _between("head.dropout", self.dropout, 0.0, 0.95)
        _require(bool(self.filter_sizes), "head.filter_sizes must name at least one size")
        for size in self.filter_sizes:
            _between("head.filter_sizes", size, 1, 64)
        _between("head.n_filters", self.n_filters, 1, 4096)
        _between("head.bigram_buckets", self.bigram_buckets, 0, 100_000_000)
        _between("head.sentence_tokens", self.sentence_tokens, 1, 1024)
        _between("head.n_layers", self.n_layers, 1, 96)
        _between("head.n_heads", self.n_heads, 1, 128)


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
    """Characters of an article that are read in prediction; 0 all. What is cut is counted in the log."""
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
            _between(f"tagger.{name}", getattr(self, name), low, high)
        _require(bool(self.encoder), "tagger.encoder must name an encoder")
        _require(self.d_model % self.n_heads == 0, f"tagger.n_heads {self.n_heads} must divide d_model {self.d_model}")
        _require(self.d_model % 2 == 0, f"tagger.d_model must be even, got {self.d_model}")
        weighted = self.class_weight_power > 0 or self.focal_gamma > 0
        _require(not (self.crf and weighted), "tagger.class_weight_power and tagger.focal_gamma need tagger.crf=false")
        widest = max(self.window_tokens, self.train_window_tokens) + self.title_tokens
        # [CLS] window [SEP] title [SEP]
        _require(
            widest + 3 <= MAX_POSITIONS,
            f"tagger.window_tokens and title_tokens are {widest} together, at most {MAX_POSITIONS - 3}",
        )


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
        _between("relevance.margin", self.margin, 1e-3, 1000.0)
        _between("relevance.embedding_dim", self.embedding_dim, 2, 4096)
        _between("relevance.hidden_dim", self.hidden_dim, 2, 4096)
        _between("relevance.dropout", self.dropout, 0.0, 0.95)
        _between("relevance.max_title_tokens", self.max_title_tokens, 1, 4096)
        _between("relevance.max_sentence_tokens", self.max_sentence_tokens, 1, 4096)
        _between("relevance.max_context_tokens", self.max_context_tokens, 1, 4096)
        _between("relevance.n_negatives", self.n_negatives, 1, 1000)

    @property
    def is_on(self) -> bool:
        """Whether the run has a relevance scorer."""
        return self.name != NO_RELEVANCE


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
        _between("joint.emotion_weight", self.emotion_weight, 0.0, 100.0)


@dataclass
class SentimentConfig:
    """Stage two: the emotion toward a chosen entity."""

    members: list[str] = field(default_factory=lambda: ["tfidf", "ian", "af_lstm"])
    """Models trained and measured out-of-fold: ``majority``, ``tfidf`` or any registered head."""
    choose: str = "auto"
    """``auto`` predicts with the members (alone or averaged) of the best out-of-fold accuracy;
    otherwise one member, or several joined by ``+``."""
    max_context_chars: int = 200
    """Characters of a target's context: title, and sentences that name it."""
    class_weight_power: float = 1.0
    """Emotions weigh (1 / frequency) ** power in the loss: 0 none, 1 fully balanced."""
    dev_fraction: float = 0.12
    """Share of the training articles by which a head's best epoch is chosen."""

    def __post_init__(self) -> None:
        _require(bool(self.members), "sentiment.members must name at least one model")
        repeated = {name for name in self.members if self.members.count(name) > 1}
        _require(not repeated, f"sentiment.members repeats {', '.join(sorted(repeated))}")
        if self.choose != "auto":
            unknown = [name for name in self.choose.split("+") if name not in self.members]
            _require(not unknown, f"sentiment.choose names {', '.join(unknown)}, not in members {self.members}")
        _between("sentiment.max_context_chars", self.max_context_chars, 16, 2000)
        _between("sentiment.class_weight_power", self.class_weight_power, 0.0, 2.0)
        _between("sentiment.dev_fraction", self.dev_fraction, 0.01, 0.5)


@dataclass
class Config:
    """All options of a run."""

    mode: Literal["two_stage", "joint", "fused"] = "two_stage"
    """Entities first and then their emotions; both by one tagger; or the average of the two."""
    seed: int = 7
    n_folds: int = 5
    """Folds of every out-of-fold score; articles of one group share a fold."""
    workers: int = 2
    """Processes for segmentation, candidates and features, and threads of the models."""
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    joint: JointConfig = field(default_factory=JointConfig)
    relevance: RelevanceConfig = field(default_factory=RelevanceConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    cross: CrossConfig = field(default_factory=CrossConfig)
    sentiment: SentimentConfig = field(default_factory=SentimentConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        _between("seed", self.seed, 0, 2**31 - 1)
        _between("n_folds", self.n_folds, 2, 50)
        _between("workers", self.workers, 1, 256)
        _require(
            self.mode == "two_stage" or self.tagger.name != "none",
            f"mode={self.mode} needs a tagger: set tagger.name to lstm, encoder or bert",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain nested dictionaries."""
        return asdict(self)


def presets() -> tuple[str, ...]:
    """Return the names of the presets that ship with the pipeline."""
    return tuple(sorted(path.stem for path in PRESET_DIR.glob("*.yaml")))


def load_config(*, preset: str = DEFAULT_PRESET, file: Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Merge defaults, preset, file and ``a.b=value`` overrides into a checked Config.

    Raises:
        ConfigError: an unknown preset, file or key, a wrong type, or a value out of range.
    """
    if preset not in presets():
        raise ConfigError(f"unknown preset {preset!r} (have: {', '.join(presets())})")
    sources = [PRESET_DIR / f"{preset}.yaml"]
    if file is not None:
        if not file.is_file():
            raise ConfigError(f"{file}: no such configuration file")
        sources.append(file)
    for item in overrides:
        if "=" not in item:
            raise ConfigError(f"--set {item}: want key=value, as in --set rerank.num_leaves=31")
    return _merge(sources, overrides)


def config_from_dict(values: dict[str, Any]) -> Config:
    """Rebuild a Config from ``Config.to_dict``, as stored with a run.

    Raises:
        ConfigError: a key or type that this version does not know.
    """
    try:
        return _to_config(OmegaConf.merge(OmegaConf.structured(Config), OmegaConf.create(values)))
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {_one_line(error)}" if error.full_key else _one_line(error)) from error


def _merge(sources: Iterable[Path], overrides: Sequence[str]) -> Config:
    merged = OmegaConf.structured(Config)
    where = ""
    try:
        for path in sources:
            where = f"{path}: "
            merged = OmegaConf.merge(merged, OmegaConf.load(path))
        for item in overrides:
            where = f"--set {item}: "
            key, _, value = item.partition("=")
            merged = OmegaConf.merge(merged, OmegaConf.from_dotlist([item if value else f'{key}=""']))
        where = ""
        return _to_config(merged)
    except OmegaConfBaseException as error:
        key = f"{error.full_key}: " if error.full_key and error.full_key not in where else ""
        raise ConfigError(where + key + _one_line(error)) from error
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{where}not readable as YAML options: {_one_line(error)}") from error
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            raise ConfigError(f"{where}not valid YAML: {_one_line(error)}") from error
        raise


def _to_config(merged: Any) -> Config:
    config = OmegaConf.to_object(merged)
    if not isinstance(config, Config):
        raise ConfigError("the configuration must be a mapping of options")
    return config


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(
        line for line in lines if line and not line.startswith(("full_key", "object_type", "reference_type"))
    )

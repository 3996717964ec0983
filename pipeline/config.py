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
    """Longest candidate, in normalised characters."""
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
    n_estimators: int = 400
    learning_rate: float = 0.03
    num_leaves: int = 15
    min_child_samples: int = 40
    feature_fraction: float = 0.5
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
class HeadConfig:
    """Sizes of a sentiment head's network."""

    embedding_dim: int = 128
    hidden_dim: int = 96
    """Hidden size of the recurrent layers (of each direction)."""
    dropout: float = 0.4
    af_operator: Literal["convolution", "correlation"] = "correlation"
    """Fusion of word and target in AF-LSTM: circular convolution or circular correlation."""
    af_normalise: bool = True
    """Layer-normalise the fused vectors of AF-LSTM before attention."""

    def __post_init__(self) -> None:
        _between("head.embedding_dim", self.embedding_dim, 2, 4096)
        _between("head.hidden_dim", self.hidden_dim, 2, 4096)
        _between("head.dropout", self.dropout, 0.0, 0.95)


@dataclass
class TrainingConfig:
    """The training loop shared by every network."""

    max_epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    warmup_fraction: float = 0.1
    """Share of the steps over which the learning rate rises; it then falls linearly to zero."""
    max_grad_norm: float = 1.0
    patience: int = 3
    """Epochs without a better development figure before training stops."""

    def __post_init__(self) -> None:
        _between("training.max_epochs", self.max_epochs, 1, 10_000)
        _between("training.batch_size", self.batch_size, 1, 65_536)
        _between("training.learning_rate", self.learning_rate, 1e-8, 10.0)
        _between("training.weight_decay", self.weight_decay, 0.0, 10.0)
        _between("training.warmup_fraction", self.warmup_fraction, 0.0, 1.0)
        _between("training.max_grad_norm", self.max_grad_norm, 1e-6, 1e6)
        _between("training.patience", self.patience, 1, 10_000)


@dataclass
class SentimentConfig:
    """Stage two: the emotion toward a chosen entity."""

    members: list[str] = field(default_factory=lambda: ["tfidf", "ian", "af_lstm"])
    """Models trained and measured out-of-fold: ``majority``, ``tfidf`` or any registered head."""
    choose: str = "auto"
    """``auto`` predicts with the members (alone or averaged) of the best out-of-fold accuracy;
    otherwise one member, or several joined by ``+``."""
    max_context_chars: int = 200
    """Characters of context a head reads around the mentions of a target."""
    class_weight_power: float = 0.5
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

    seed: int = 7
    n_folds: int = 5
    """Folds of every out-of-fold score; articles of one group share a fold."""
    workers: int = 2
    """Processes for segmentation, candidates and features, and threads of the models."""
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    sentiment: SentimentConfig = field(default_factory=SentimentConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        _between("seed", self.seed, 0, 2**31 - 1)
        _between("n_folds", self.n_folds, 2, 50)
        _between("workers", self.workers, 1, 256)

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
        raise ConfigError(_one_line(error)) from error


def _merge(sources: Iterable[Path], overrides: Sequence[str]) -> Config:
    merged = OmegaConf.structured(Config)
    where = ""
    try:
        for path in sources:
            where = f"{path}: "
            merged = OmegaConf.merge(merged, OmegaConf.load(path))
        for item in overrides:
            where = f"--set {item}: "
            merged = OmegaConf.merge(merged, OmegaConf.from_dotlist([item]))
        where = ""
        return _to_config(merged)
    except OmegaConfBaseException as error:
        raise ConfigError(where + _one_line(error)) from error
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
    return " ".join(line for line in lines if line and not line.startswith(("full_key", "object_type")))

"""All options together: defaults < preset < ``--config FILE`` < ``--set a.b=value``.

The dataclasses are the schema, and the default preset is their defaults; an unknown key, a wrong type or a value out of
range is a ConfigError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from pipeline.config.budget import BudgetConfig
from pipeline.config.checks import check_range, check_ranges, option, options, require
from pipeline.config.emotions import HeadConfig, SentimentConfig
from pipeline.config.old_values import renew
from pipeline.config.ranking import CandidateConfig, CrossConfig, RelevanceConfig, RerankConfig
from pipeline.config.sources import read_file, read_override, refuse_resolvers
from pipeline.config.taggers import JointConfig, TaggerConfig
from pipeline.config.text import TextConfig
from pipeline.config.training import EngineConfig, TrainingConfig
from pipeline.errors import ConfigError

PRESET_DIR = Path(__file__).resolve().parent / "presets"
DEFAULT_PRESET = "cpu"


@dataclass
class Config:
    """All options of a run."""

    mode: Literal["two_stage", "joint", "fused"] = "two_stage"
    """Entities first and then their emotions; both by one tagger; or the average of the two."""
    seed: int = option(7, low=0, high=2**31 - 1)
    n_folds: int = option(5, low=2, high=50)
    """Folds of every out-of-fold score; articles of one group share a fold."""
    workers: int = option(2, low=1, high=256)
    """Processes for segmentation, candidates and features, and threads of the models."""
    text: TextConfig = field(default_factory=TextConfig)
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    joint: JointConfig = field(default_factory=JointConfig)
    relevance: RelevanceConfig = field(default_factory=RelevanceConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    cross: CrossConfig = field(default_factory=CrossConfig)
    sentiment: SentimentConfig = field(default_factory=SentimentConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def __post_init__(self) -> None:
        check_ranges("", self)
        require(
            self.mode == "two_stage" or self.tagger.name != "none",
            f"mode={self.mode} needs a tagger: set tagger.name to lstm, encoder or bert",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain nested dictionaries."""
        return asdict(self)


def flat_options(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested options by their full names, as tagger.training.batch_size."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat_options(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def presets() -> tuple[str, ...]:
    """Return the names of the presets that ship with the pipeline."""
    return tuple(sorted(path.stem for path in PRESET_DIR.glob("*.yaml")))


def load_config(*, preset: str = DEFAULT_PRESET, file: Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Merge defaults, preset, file and ``a.b=value`` overrides into a checked Config; see ``load_given``."""
    return load_given(preset=preset, file=file, overrides=overrides)[0]


def load_given(
    *, preset: str = DEFAULT_PRESET, file: Path | None = None, overrides: Sequence[str] = ()
) -> tuple[Config, frozenset[str]]:
    """Merge defaults, preset, file and ``a.b=value`` overrides; name the options that file and overrides give.

    Raises:
        ConfigError: an unknown preset, file or key, a wrong type, a value out of range, or one that a resolver would
            compute.
    """
    if preset not in presets():
        raise ConfigError(f"unknown preset {preset!r} (have: {', '.join(presets())})")
    begun = OmegaConf.merge(OmegaConf.structured(Config), read_file(PRESET_DIR / f"{preset}.yaml"))
    if file is not None and (not file.exists() or file.is_dir()):  # a pipe will do: it is read once
        raise ConfigError(f"{file}: no such configuration file")
    for item in overrides:
        if "=" not in item:
            raise ConfigError(f"--set {item}: want key=value, as in --set rerank.num_leaves=31")
    return _merge(begun, [file] if file is not None else [], overrides)


def changed_config(config: Config, overrides: Sequence[str]) -> Config:
    """Return a configuration with ``a.b=value`` overrides.

    Raises:
        ConfigError: see ``load_config``.
    """
    return _merge(OmegaConf.structured(config), (), overrides)[0]


def config_from_dict(values: dict[str, Any]) -> Config:
    """Rebuild a Config from ``Config.to_dict``, as stored with a run.

    Raises:
        ConfigError: a key or type that this version does not know, or a value that a resolver would compute.
    """
    refuse_resolvers(values)
    try:
        stored = OmegaConf.create(values)
        renew(stored)
        return _to_config(OmegaConf.merge(OmegaConf.structured(Config), stored))
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {_one_line(error)}" if error.full_key else _one_line(error)) from error


def _merge(merged: Any, sources: Iterable[Path], overrides: Sequence[str]) -> tuple[Config, frozenset[str]]:
    where, given = "", set[str]()
    try:
        for path in sources:
            where = f"{path}: "
            part = read_file(path)
            merged = OmegaConf.merge(merged, part)
            given |= _names(part)
        for item in overrides:
            where = f"--set {item}: "
            part = read_override(item)
            merged = OmegaConf.merge(merged, part)
            given |= _names(part)
        where = ""
        return _to_config(merged), frozenset(given)
    except ConfigError as error:
        raise ConfigError(where + error.message, hint=error.hint) from error
    except OmegaConfBaseException as error:
        key = f"{error.full_key}: " if error.full_key and error.full_key not in where else ""
        raise ConfigError(where + key + _one_line(error)) from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{where}not readable as YAML options: {_one_line(error)}") from error
    except YAMLError as error:
        raise ConfigError(f"{where}not valid YAML: {_one_line(error)}") from error


def _names(part: DictConfig | ListConfig) -> set[str]:
    values = OmegaConf.to_container(part)
    return set(flat_options(values)) if isinstance(values, dict) else set()  # type: ignore[arg-type]


def _to_config(merged: Any) -> Config:
    for name, _, bounds in options(Config):  # here they have their full names, as tagger.training.batch_size
        if bounds:
            check_range(name, OmegaConf.select(merged, name), bounds)
    config = OmegaConf.to_object(merged)
    if not isinstance(config, Config):
        raise ConfigError("the configuration must be a mapping of options")
    return config


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(
        line for line in lines if line and not line.startswith(("full_key", "object_type", "reference_type"))
    )

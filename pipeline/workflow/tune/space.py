"""Which options a search varies, and how far: read from YAML or JSON, or the one built in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.config import Config, RerankConfig, config_from_dict
from pipeline.errors import ConfigError

Value = int | float | str | bool

NEEDS_FEATURES = "rerank.hit_rate_smoothing"
"""The one option of the reranker that changes a column of the features."""
RERANK_OPTIONS = tuple(
    f"rerank.{option.name}" for option in fields(RerankConfig) if option.name != "hit_rate_smoothing"
)
EMOTION_OPTIONS = ("sentiment.class_weight_power", "sentiment.max_context_chars")
"""Those that the TF-IDF model reads; contexts are cut anew in a second or so."""

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "rerank.objective": {"choices": ["binary", "lambdarank"]},
    "rerank.n_estimators": {"low": 150, "high": 800, "log": True},
    "rerank.learning_rate": {"low": 0.01, "high": 0.1, "log": True},
    "rerank.num_leaves": {"low": 4, "high": 31, "log": True},
    "rerank.min_child_samples": {"low": 5, "high": 200, "log": True},
    "rerank.feature_fraction": {"low": 0.1, "high": 1.0},
    "rerank.bagging_fraction": {"low": 0.4, "high": 1.0},
    "rerank.reg_lambda": {"low": 0.1, "high": 100.0, "log": True},
    "sentiment.class_weight_power": {"low": 0.0, "high": 1.5},
    "sentiment.max_context_chars": {"low": 80, "high": 800, "log": True},
}
"""Searched without ``--space``; the number rule is tuned anew in every trial whatever the space."""


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included."""

    low: int | float
    high: int | float
    log: bool = False
    """Whether equal ratios are equally likely, rather than equal differences."""

    def with_value(self, value: Any) -> Range:
        """Return the range, widened where the value lies outside; one with zero in it has no logarithm."""
        low = min(self.low, value)
        return Range(low, max(self.high, value), self.log and low > 0)


@dataclass(frozen=True)
class Choices:
    """A list of values."""

    choices: tuple[Value, ...]

    def with_value(self, value: Any) -> Choices:
        """Return the choices with the value among them."""
        return self if value in self.choices else Choices((value, *self.choices))


Space = dict[str, Range | Choices]


def read_space(path: Path, config: Config) -> Space:
    """Read a file of options: name to ``low``, ``high`` and maybe ``log``, or to ``choices``.

    Raises:
        ConfigError: it cannot be read, or names what cannot be searched.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such file of options to search")
    try:
        content = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:  # PyYAML and OmegaConf share no base class
        raise ConfigError(f"{path}: not readable as YAML or JSON: {' '.join(str(error).split())}") from error
    try:
        return make_space(content, config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error


def make_space(content: Any, config: Config) -> Space:
    """Check a declaration against the options it names; ranges are widened to hold the values of ``config``.

    Raises:
        ConfigError: an option that the search cannot change, or values that the option cannot have.
    """
    if not isinstance(content, Mapping) or not content:
        raise ConfigError(
            "want options to search, as in: rerank.num_leaves: {low: 4, high: 31, log: true}",
        )
    parts: Space = {}
    for name, rule in content.items():
        _check_name(str(name))
        parts[name] = _part(str(name), rule, option(config, name))
    values = {
        name: part.choices if isinstance(part, Choices) else (part.low, part.high) for name, part in parts.items()
    }
    for index in range(max(map(len, values.values()))):  # refuses what lies outside an option's own range
        with_options(config, {name: some[min(index, len(some) - 1)] for name, some in values.items()})
    return {name: part.with_value(option(config, name)) for name, part in parts.items()}


def to_plain(space: Space) -> dict[str, dict[str, Any]]:
    """Return the declaration that ``make_space`` reads."""
    return {
        name: {"choices": list(part.choices)} if isinstance(part, Choices) else asdict(part)
        for name, part in space.items()
    }


def option(config: Config, name: str) -> Any:
    """Return the value of an option by its dotted name."""
    section, _, key = name.partition(".")
    return getattr(getattr(config, section), key)


def with_options(config: Config, values: Mapping[str, Value]) -> Config:
    """Return the configuration with some options replaced.

    Raises:
        ConfigError: a value that the option cannot have.
    """
    plain = config.to_dict()
    for name, value in values.items():
        section, _, key = name.partition(".")
        plain[section][key] = value
    return config_from_dict(plain)


def _check_name(name: str) -> None:
    if name in (*RERANK_OPTIONS, *EMOTION_OPTIONS):
        return
    why = "changes the features" if name == NEEDS_FEATURES else "is none of those"
    raise ConfigError(
        f"{name}: the search changes options that need no new features (rerank.*, {', '.join(EMOTION_OPTIONS)}); "
        f"this one {why}",
        hint="train runs that differ in it, and compare them: python run.py compare runs",
    )


def _part(name: str, rule: Any, value: Any) -> Range | Choices:
    if isinstance(rule, Mapping) and set(rule) == {"choices"} and isinstance(rule["choices"], list):
        found = [type(value)(one) if isinstance(value, float) and type(one) is int else one for one in rule["choices"]]
        if len(found) > 1 and all(type(one) is type(value) for one in found) and len(set(found)) == len(found):
            return Choices(tuple(found))
        raise ConfigError(f"{name}: want two or more different choices like {value!r}, got {rule['choices']}")
    if not (isinstance(rule, Mapping) and {"low", "high"} <= set(rule) <= {"low", "high", "log"}):
        raise ConfigError(f"{name}: want low and high (and maybe log), or choices, got {rule!r}")
    low, high, log = rule["low"], rule["high"], rule.get("log", False)
    kinds = (int,) if type(value) is int else (int, float)
    numbers = all(type(bound) in kinds and math.isfinite(bound) for bound in (low, high))
    if not numbers or isinstance(value, bool | str) or not isinstance(log, bool):
        raise ConfigError(
            f"{name}: low and high must be numbers like {value!r} and log true or false, got {dict(rule)}"
        )
    if low >= high or (log and low <= 0):
        raise ConfigError(f"{name}: low must lie below high{', and above 0' if log else ''}, got {low} and {high}")
    return Range(low, high, log) if type(value) is int else Range(float(low), float(high), log)

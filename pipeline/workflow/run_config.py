"""The resolved configuration as stored with a run."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from io import StringIO
from pathlib import Path

from omegaconf import OmegaConf

from pipeline.artifacts import atomic_write_text
from pipeline.config import Config, config_from_dict
from pipeline.errors import ArtifactError, ConfigError

DEFAULTS_BEFORE = {
    "tagger": {
        "name": "none",
        "freeze_layers": 0,
        "predict_chars": 0,
        "training": {"max_epochs": 3, "batch_size": 8, "mixed_precision": "no"},
    },
    "rerank": {"n_bags": 1},
    "sentiment": {"members": ["tfidf", "ian", "af_lstm"]},
}
"""What an option was where a stored configuration lacks it: such a run is older than the defaults of 0.2.0."""


def save_run_config(path: Path, config: Config) -> None:
    """Write every option, defaults included, as YAML."""
    atomic_write_text(path, OmegaConf.to_yaml(OmegaConf.create(config.to_dict())))


def load_run_config(path: Path) -> Config:
    """Read the options of a run.

    Raises:
        ArtifactError: the file is missing, damaged, or has options that this version does not know.
    """
    try:
        return deepcopy(_config_of(path.read_text(encoding="utf-8")))
    except ConfigError as error:
        raise ArtifactError(f"{path}: {error.message}", hint="train the run again") from error
    except Exception as error:  # PyYAML and OmegaConf share no base class
        raise ArtifactError(f"{path}: cannot be read: {error}") from error


@lru_cache(maxsize=4)  # a command asks twice, and OmegaConf takes its time
def _config_of(text: str) -> Config:
    values = OmegaConf.to_container(OmegaConf.merge(OmegaConf.create(DEFAULTS_BEFORE), OmegaConf.load(StringIO(text))))
    return config_from_dict(values)  # type: ignore[arg-type]

"""Every option of the pipeline: its type, default, meaning and range."""

from pipeline.config.budget import BudgetConfig
from pipeline.config.checks import key_options
from pipeline.config.emotions import HeadConfig, SentimentConfig
from pipeline.config.load import (
    DEFAULT_PRESET,
    PRESET_DIR,
    Config,
    changed_config,
    config_from_dict,
    flat_options,
    load_config,
    load_given,
    presets,
)
from pipeline.config.ranking import (
    CandidateConfig,
    CrossConfig,
    MaLSTMConfig,
    RelevanceConfig,
    RerankConfig,
    SoftAlignConfig,
)
from pipeline.config.taggers import JointConfig, TaggerConfig
from pipeline.config.text import TextConfig
from pipeline.config.training import MAX_POSITIONS, EncoderConfig, EncoderEngine, EngineConfig, TrainingConfig

__all__ = [
    "DEFAULT_PRESET",
    "MAX_POSITIONS",
    "PRESET_DIR",
    "BudgetConfig",
    "CandidateConfig",
    "Config",
    "CrossConfig",
    "EncoderConfig",
    "EncoderEngine",
    "EngineConfig",
    "HeadConfig",
    "JointConfig",
    "MaLSTMConfig",
    "RelevanceConfig",
    "RerankConfig",
    "SentimentConfig",
    "SoftAlignConfig",
    "TaggerConfig",
    "TextConfig",
    "TrainingConfig",
    "changed_config",
    "config_from_dict",
    "flat_options",
    "key_options",
    "load_config",
    "load_given",
    "presets",
]

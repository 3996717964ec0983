"""Options of the training loop, and of a pre-trained encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import check_ranges, option, require

MAX_POSITIONS = 512
"""Most tokens of one input of an encoder, special tokens included: what the usual encoders read."""


@dataclass
class TrainingConfig:
    """The training loop shared by every network."""

    max_epochs: int = option(8, low=1, high=10_000)
    batch_size: int = option(64, low=1, high=65_536)
    learning_rate: float = option(2e-3, low=1e-8, high=10.0)
    weight_decay: float = option(1e-2, low=0.0, high=10.0)
    warmup_fraction: float = option(0.1, low=0.0, high=1.0)
    """Share of the steps over which the learning rate rises; it then falls linearly to zero."""
    max_grad_norm: float = option(1.0, low=1e-6, high=1e6)
    patience: int = option(3, low=1, high=10_000)
    """Epochs without a better development figure before training stops."""
    accumulate_batches: int = option(1, low=1, high=1024)
    """Batches whose gradients are added up before a step."""
    mixed_precision: Literal["no", "bf16", "auto"] = "no"
    """Number format of matrix products; bf16 is faster where the processor has it, and a little less exact; ``auto``
    takes it there."""

    def __post_init__(self) -> None:
        check_ranges("training", self)


def _fine_tuning() -> TrainingConfig:
    return TrainingConfig(max_epochs=2, batch_size=8, learning_rate=1e-3)


@dataclass
class EncoderConfig:
    """A pre-trained encoder, and how it is trained further."""

    name: str = "builtin:e5-zh-6"
    """A folder, ``builtin:e5-zh-3``, ``-6`` or ``-12``, or a name on the model hub."""
    n_layers: int = option(0, low=0, high=96)
    """Lowest layers that are used, the others are dropped; 0 uses all. The states of a lower layer can say more about a
    word than those of the last, which served the pre-training."""
    freeze_layers: int = option(0, low=0, high=96)
    """Lowest layers, embeddings with them, that stay as they are: less to compute."""
    learning_rate: float = option(3e-4, low=1e-8, high=1.0)
    """Of the highest layer; ``training.learning_rate`` is that of everything else. The small packaged encoder needs a
    high one; encoders of 100 million parameters and more want 2e-5 to 5e-5."""
    layer_decay: float = option(0.9, low=0.1, high=1.0)
    """Each layer learns at this multiple of the rate of the one above it."""
    training: TrainingConfig = field(default_factory=_fine_tuning)

    def __post_init__(self) -> None:
        check_ranges("encoder", self)
        require(bool(self.name), "encoder.name must name an encoder")


EncoderEngine = Literal["auto", "openvino", "torch"]


@dataclass
class EngineConfig:
    """What runs a network that is trained."""

    encoder: EncoderEngine = "auto"
    """Runs the tagger on an encoder in prediction. A run is converted for OpenVINO when it is trained, where that is
    installed, and needs no torch then; ``auto`` takes it unless there is a GPU."""

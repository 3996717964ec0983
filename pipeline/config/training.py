"""Options of the training loop, and of a pre-trained encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pipeline.config.checks import between, require

MAX_POSITIONS = 512
"""Most tokens of one input of an encoder, special tokens included: what the usual encoders read."""


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
    mixed_precision: Literal["no", "bf16", "auto"] = "no"
    """Number format of matrix products; bf16 is faster where the processor has it, and a little less exact; ``auto``
    takes it there."""

    def __post_init__(self) -> None:
        between("training.accumulate_batches", self.accumulate_batches, 1, 1024)
        between("training.max_epochs", self.max_epochs, 1, 10_000)
        between("training.batch_size", self.batch_size, 1, 65_536)
        between("training.learning_rate", self.learning_rate, 1e-8, 10.0)
        between("training.weight_decay", self.weight_decay, 0.0, 10.0)
        between("training.warmup_fraction", self.warmup_fraction, 0.0, 1.0)
        between("training.max_grad_norm", self.max_grad_norm, 1e-6, 1e6)
        between("training.patience", self.patience, 1, 10_000)


def _fine_tuning() -> TrainingConfig:
    return TrainingConfig(max_epochs=2, batch_size=8, learning_rate=1e-3)


@dataclass
class EncoderConfig:
    """A pre-trained encoder, and how it is trained further."""

    name: str = "builtin:e5-zh-6"
    """A folder, ``builtin:e5-zh-3``, ``-6`` or ``-12``, or a name on the model hub."""
    n_layers: int = 0
    """Lowest layers that are used, the others are dropped; 0 uses all. The states of a lower layer can say more about a
    word than those of the last, which served the pre-training."""
    freeze_layers: int = 0
    """Lowest layers, embeddings with them, that stay as they are: less to compute."""
    learning_rate: float = 3e-4
    """Of the highest layer; ``training.learning_rate`` is that of everything else. The small packaged encoder needs a
    high one; encoders of 100 million parameters and more want 2e-5 to 5e-5."""
    layer_decay: float = 0.9
    """Each layer learns at this multiple of the rate of the one above it."""
    training: TrainingConfig = field(default_factory=_fine_tuning)

    def __post_init__(self) -> None:
        require(bool(self.name), "encoder.name must name an encoder")
        between("encoder.n_layers", self.n_layers, 0, 96)
        between("encoder.freeze_layers", self.freeze_layers, 0, 96)
        between("encoder.learning_rate", self.learning_rate, 1e-8, 1.0)
        between("encoder.layer_decay", self.layer_decay, 0.1, 1.0)

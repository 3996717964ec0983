"""The weights of networks as safetensors files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor, nn

from pipeline.artifacts import atomic_write_bytes
from pipeline.errors import ArtifactError

WEIGHTS = "model.safetensors"
"""Name of the file in the folder of a model."""
MAX_REASON = 300
"""Characters of a reason: torch lists every weight that does not fit."""


def save_weights(
    network: nn.Module,
    folder: Path,
    *,
    select: Callable[[dict[str, Tensor]], dict[str, Tensor]] | None = None,
) -> None:
    """Write a network's weights and buffers.

    Args:
        network: whose weights they are.
        folder: where the file is written.
        select: returns those that are written; None writes all.

    Raises:
        ConfigError: the file cannot be written.
    """
    weights = network.state_dict()
    atomic_write_bytes(folder / WEIGHTS, save(weights if select is None else select(weights)))


def load_weights(
    network: nn.Module, folder: Path, *, weights: Mapping[str, Tensor] | None = None, kind: str = "network"
) -> None:
    """Put the weights of a folder into a network, which is then ready to predict.

    Args:
        network: has the names and sizes that are wanted.
        folder: as written by ``save_weights``.
        weights: what the file holds, where it was read before.
        kind: what the message calls the network.

    Raises:
        ArtifactError: the file is missing, damaged, or holds other weights.
    """
    path = folder / WEIGHTS
    try:
        network.load_state_dict(load_file(path) if weights is None else weights)
    except Exception as error:  # OSError, RuntimeError, and what safetensors raises
        raise ArtifactError(f"{path}: does not fit the {kind} ({one_line(error)})") from error
    network.eval()


def one_line(error: BaseException) -> str:
    """Return the message of an error as one line of bounded length."""
    return " ".join(str(error).split())[:MAX_REASON]

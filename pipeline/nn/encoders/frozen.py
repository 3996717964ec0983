"""A frozen encoder kept once for all the networks that read it: on disk once, in memory once, run once a text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from pipeline.nn.encoders.loading import restore_encoder
from pipeline.nn.encoders.state_cache import StateMemory, weights_hash
from pipeline.nn.weights import WEIGHTS, load_weights, save_weights


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """An encoder, and what it said last."""

    network: Any
    states: StateMemory


_loaded: WeakValueDictionary[tuple[Path, int], FrozenEncoder] = WeakValueDictionary()
"""What is in use, by folder and time of change."""


def is_kept(folder: Path) -> bool:
    """Tell whether a folder holds an encoder's weights."""
    return (folder / WEIGHTS).is_file()


def keep(network: Any, folder: Path) -> None:
    """Write configuration and weights, unless just these are there.

    Raises:
        ConfigError: a file cannot be written.
    """
    if is_kept(folder) and weights_hash(load_kept(folder).network) == weights_hash(network):
        return
    network.config.save_pretrained(folder)
    save_weights(network, folder)


def load_kept(folder: Path) -> FrozenEncoder:
    """Load what ``keep`` wrote; the same object for everyone who asks while it is in use.

    Raises:
        ArtifactError: a file is missing or damaged.
    """
    path = folder / WEIGHTS
    key = (folder.resolve(), path.stat().st_mtime_ns if path.is_file() else 0)
    found = _loaded.get(key)
    if found is None:
        network = restore_encoder(folder)
        load_weights(network, folder, kind="encoder")
        found = _loaded[key] = FrozenEncoder(network, StateMemory())
    return found

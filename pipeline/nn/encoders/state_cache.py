"""Hidden states of a frozen encoder, computed once and kept: on disk, or in memory."""

from __future__ import annotations

import hashlib
import logging
import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from pipeline.artifacts import temporary_path, write_errors

logger = logging.getLogger(__name__)

_FORMAT = b"states-1"
"""Changes with what is kept, so that older files are not taken for it."""

MEMORY_BYTES = 64 * 2**20
"""States that stay in memory: some 400 texts of 200 tokens, of 384 numbers each."""


class KeptStates(ABC):
    """States of a frozen encoder, looked up by text, or made where they are not kept.

    They are rounded to float16 before their first use, too, so results do not depend on what was kept.
    """

    @abstractmethod
    def key(self, tokens: Tensor, segments: Tensor) -> str:
        """Name one text: int64 (1, length) ids and segments, without padding."""

    @abstractmethod
    def get_or_make(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """Return the states (length, dim) of a key as float32, making them where they are not kept."""

    def rows(
        self,
        tokens: Tensor,
        lengths: Tensor,
        segments: Tensor,
        *,
        run: Callable[[Tensor, Tensor, Tensor], Tensor],
    ) -> Tensor:
        """Return the states of a batch, float32 (batch, seq_len, dim), zero at padding.

        Each row is looked up, or run by itself: what is kept must not depend on the rows it was batched with.

        Args:
            tokens: int64 (batch, seq_len).
            lengths: int64 (batch,): tokens of each row, its padding follows.
            segments: int64 (batch, seq_len).
            run: maps ids, mask and segments of one row, (1, length) each, to its states (1, length, dim).
        """
        found = []
        for row, length in enumerate(lengths.tolist()):
            own, segment = tokens[row : row + 1, :length], segments[row : row + 1, :length]
            make = partial(_first_row, run, own, segment)
            found.append(self.get_or_make(self.key(own, segment), make).to(tokens.device))
        states = found[0].new_zeros((*tokens.shape, found[0].shape[-1]))
        for row, of_row in enumerate(found):
            states[row, : len(of_row)] = of_row
        return states


class StateCache(KeptStates):
    """A folder of safetensors files, each the float16 states of one framed text, found by a hash of its content.

    A file is written beside its place and renamed, so processes may share a folder: one that is there is whole. A
    file that cannot be read is made again.

    Args:
        folder: made where missing.
        encoder: whose states are kept; its weights are part of the hash.
        variant: anything else on which the states depend.
    """

    def __init__(self, folder: Path, encoder: nn.Module, *, variant: str = "") -> None:
        self.folder = folder
        self._encoder, self._variant = encoder, variant
        self._origin: bytes | None = None

    def key(self, tokens: Tensor, segments: Tensor) -> str:
        """Return the hash of one text: int64 (1, length) ids and segments, without padding."""
        if self._origin is None:  # not before the first use: saved weights are loaded after the network is built
            self._origin = _FORMAT + self._variant.encode() + weights_hash(self._encoder)
        content = torch.cat([tokens, segments]).cpu().numpy().tobytes()
        return hashlib.sha256(self._origin + content).hexdigest()

    def get_or_make(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """Return the states (length, dim) of a key as float32, making them where they are not kept."""
        path = self.folder / key[:2] / f"{key[2:]}.safetensors"
        try:
            return load_file(path)["states"].float()
        except FileNotFoundError:
            pass
        except (OSError, SafetensorError, KeyError) as error:
            logger.warning("%s: cannot be read (%s), made again", path, " ".join(str(error).split()))
        states = make().half().cpu().contiguous()
        temporary = temporary_path(path)
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                save_file({"states": states}, temporary)
                os.replace(temporary, path)  # not synced: a file lost to a power cut is made again
            finally:
                temporary.unlink(missing_ok=True)
        return states.float()


class StateMemory(KeptStates):
    """States of one encoder in memory: those looked up last, for several heads that read the same texts in turn.

    Args:
        max_bytes: of the states that are kept.
    """

    def __init__(self, max_bytes: int = MEMORY_BYTES) -> None:
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._states: OrderedDict[str, Tensor] = OrderedDict()

    def key(self, tokens: Tensor, segments: Tensor) -> str:
        """Return the hash of one text."""
        return hashlib.sha256(torch.cat([tokens, segments]).cpu().numpy().tobytes()).hexdigest()

    def get_or_make(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """Return the states of a key, and let go of those unused for longest."""
        if key in self._states:
            self._states.move_to_end(key)
            return self._states[key].float()
        states = self._states[key] = make().half()
        self._n_bytes += states.nbytes
        while self._n_bytes > self._max_bytes and len(self._states) > 1:
            self._n_bytes -= self._states.popitem(last=False)[1].nbytes
        return states.float()


def _first_row(run: Callable[[Tensor, Tensor, Tensor], Tensor], tokens: Tensor, segments: Tensor) -> Tensor:
    return run(tokens, torch.ones_like(tokens, dtype=torch.bool), segments)[0]


def weights_hash(module: nn.Module) -> bytes:
    """Return the SHA-256 of a module's weights with their names."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode() + str(value.dtype).encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()

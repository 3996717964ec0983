"""Reader of word vectors: GloVe and word2vec, text or binary, plain or packed by gzip."""

from __future__ import annotations

import math
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import numpy as np

from pipeline.artifacts import BoundedGzip, open_input
from pipeline.errors import DataError

_PROBE = 4096
"""Bytes after the header that tell text from binary."""
MAX_WORD_BYTES = 4096
MAX_LINE_BYTES = 4 * 2**20
"""Of text: a word and 100,000 values."""


@dataclass(frozen=True)
class WordVectors:
    """Some words of a file with their vectors, in the order of the file."""

    dim: int
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    """float32 (dim,) by word; the first of repeated words."""


def read_word_vectors(path: Path, wanted: Container[str], *, first: int = 0) -> WordVectors:
    """Read the vectors of some words.

    A header (number of words, size of a vector) is optional in text files. Files of this kind list frequent words
    first, so ``first`` keeps the most frequent ones.

    Args:
        path: the file; whether it is packed or binary is seen from its content.
        wanted: words to keep.
        first: keep that many words from the beginning of the file, too.

    Raises:
        DataError: the file is missing, empty or damaged; the message names the line, or the word of a binary file.
    """
    try:
        with _open(path) as file:
            line = file.readline(MAX_WORD_BYTES * 64)
            header = _header(line, path)
            probe = file.read(_PROBE) if header else b""
            is_binary = _is_binary(probe)
        # Opened again: what was read to find the kind out is part of the content.
        with _open(path) as file:
            if not line:
                raise DataError(f"{path}: is empty, want word vectors")
            if header:
                file.readline()
            rows = _binary_rows(file, path, *header) if header and is_binary else _text_rows(file, path, header)
            return _keep(rows, wanted, first, path)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: word vectors cannot be read ({getattr(error, 'strerror', None) or error})") from error


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with open_input(path) as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            yield file
            return
        with BoundedGzip(path, file) as unpacked:
            yield cast(IO[bytes], unpacked)


Row = tuple[str, str, "list[bytes] | np.ndarray"]
"""Where it stands, the word, and its values, not yet checked."""


def _keep(rows: Iterator[Row], wanted: Container[str], first: int, path: Path) -> WordVectors:
    found: WordVectors | None = None
    for number, (where, word, values) in enumerate(rows):
        if found is None:
            found = WordVectors(len(values))
        if (number < first or word in wanted) and word not in found.vectors:
            try:
                vector = np.array(values, dtype=np.float32)
            except ValueError as error:
                raise DataError(f"{where}: word {word!r} has a value that is no number") from error
            if not np.isfinite(vector).all():
                raise DataError(f"{where}: word {word!r} has a value that is not finite")
            found.vectors[word] = vector
    if found is None:
        raise DataError(f"{path}: holds no word vector")
    return found


def _header(line: bytes, path: Path) -> tuple[int, int] | None:
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    n_words, dim = map(int, parts)
    if not (n_words > 0 and 0 < dim <= 100_000):
        raise DataError(f"{path}:1: header says {n_words} words of {dim} values")
    return n_words, dim


def _is_binary(probe: bytes) -> bool:
    """Tell packed floats from text: they hold control characters, or are no UTF-8 (but for a cut at the end)."""
    if any(byte < 32 and byte not in b"\t\n\r" for byte in probe):
        return True
    try:
        probe.decode()
    except UnicodeDecodeError as error:
        return error.start < len(probe) - 4
    return False


def _text_rows(file: IO[bytes], path: Path, header: tuple[int, int] | None) -> Iterator[Row]:
    dim = header[1] if header else None
    n_rows = 0
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 2 if header else 1):
        where = f"{path}:{number}"
        if len(line) > MAX_LINE_BYTES:
            raise DataError(f"{where}: line of over {MAX_LINE_BYTES:,} bytes, want a word and its values")
        parts = line.rstrip(b" \r\n").split(b" ")
        if dim is None:
            dim = len(parts) - 1
        if not line.strip():
            raise DataError(f"{where}: blank line, want a word and {dim} values")
        extra = len(parts) - 1 - dim
        if dim < 1 or extra < 0 or (extra > 0 and _is_number(parts[1])):
            raise DataError(f"{where}: {len(parts) - 1} values, want {max(dim, 1)}")
        word = b" ".join(parts[: extra + 1])  # some words of large GloVe files hold blanks
        yield where, _decode(word, where), parts[extra + 1 :]
        n_rows += 1
    if header and n_rows != header[0]:
        raise DataError(f"{path}:1: header says {header[0]} words, the file has {n_rows}")


def _binary_rows(file: IO[bytes], path: Path, n_words: int, dim: int) -> Iterator[Row]:
    for number in range(1, n_words + 1):
        where = f"{path}: word {number} of {n_words}"
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte:
                raise DataError(f"{where}: the file ends before it")
            if len(word) > MAX_WORD_BYTES:
                raise DataError(f"{where}: no blank after {MAX_WORD_BYTES} bytes, so these are no word vectors")
            word += byte
        values = file.read(4 * dim)
        if len(values) < 4 * dim:
            raise DataError(f"{where}: the file ends within its {dim} values")
        # Some writers end a row by a line feed, which then stands before the next word.
        yield where, _decode(bytes(word).lstrip(b"\n"), where), np.frombuffer(values, dtype="<f4")
    if file.read().strip():
        raise DataError(f"{path}: goes on after its {n_words} words of {dim} values")


def _decode(word: bytes, where: str) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: the word is not UTF-8") from error


def _is_number(part: bytes) -> bool:
    try:
        return math.isfinite(float(part))
    except ValueError:
        return False

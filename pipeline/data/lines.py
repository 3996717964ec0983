"""The lines of any text file: plain or gzip, in any encoding, one at a time."""

from __future__ import annotations

import gzip
import io
import logging
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pipeline.artifacts import GZIP_MAGIC, AnyFile, BoundedGzip, open_any
from pipeline.errors import DataError
from pipeline.text.encodings import BOM, UTF_8, codec_of, is_linewise, likely_encoding, recognise, wide_encoding

logger = logging.getLogger(__name__)

MAX_LINE_BYTES = 16 * 2**20
SAMPLE_BYTES = 2**16
"""Read before the encoding is settled."""


class TextLine(NamedTuple):
    """A line without its end, or why it cannot be read."""

    number: int
    text: str
    fault: str = ""
    hint: str | None = None


def iter_text(path: AnyFile, encoding: str | None = None) -> Iterator[TextLine]:
    """Yield the lines of a file, which end at LF and nowhere else; a line that cannot be read says why.

    Args:
        path: plain or gzip.
        encoding: any that Python knows; None recognises UTF-8, UTF-16 and GB18030, and logs which if not UTF-8.

    Raises:
        ConfigError: there is no such encoding.
        DataError: the file cannot be read.
    """
    lines, codec = _settled(path, encoding)
    for number, raw in lines:
        if raw is None:
            yield TextLine(number, "", f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        try:
            yield TextLine(number, raw.decode(codec).removesuffix("\n"))
        except UnicodeDecodeError as error:
            yield TextLine(number, "", *_undecodable(raw, codec, error))


def iter_lines(path: AnyFile, encoding: str | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Yield numbered lines in UTF-8 with their ends, None for one that is too long; see ``iter_text``.

    A line of a UTF-8 file that is damaged is yielded as it is.

    Raises:
        ConfigError: there is no such encoding.
        DataError: the file cannot be read, or a line is not in the file's encoding.
    """
    lines, codec = _settled(path, encoding)
    for number, raw in lines:
        if raw is None or codec == UTF_8:
            yield number, raw
            continue
        try:
            yield number, raw.decode(codec).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            fault, hint = _undecodable(raw, codec, error)
            raise DataError(f"{path}:{number}: {fault}", hint=hint) from error


def count_rows(path: Path) -> int:
    """Count the lines of a file without parsing them: the total of a progress bar, blank lines included.

    Raises:
        DataError: the file cannot be read.
    """
    n_lines, last = 0, b"\n"
    with open_file(path) as stream:
        while block := stream.read(2**20):
            n_lines += block.count(b"\n")
            last = block[-1:]
    return n_lines + (last != b"\n")


@contextmanager
def open_file(path: AnyFile) -> Iterator[BufferedIOBase]:
    """Open a file for reading, unpacking gzip; whatever goes wrong up to its end becomes a DataError.

    So does an end before the one it had when it was opened: less would be read, and nothing told of it.
    """
    try:
        with open_any(path) as raw:
            n_bytes = os.fstat(raw.fileno()).st_size if isinstance(path, Path) else 0
            if path.suffix.lower() == ".gz" or raw.peek(2)[:2] == GZIP_MAGIC:
                with BoundedGzip(path, raw) as unpacked:
                    yield unpacked
            else:
                yield raw
            # Told by reading on: whoever asked for a part of the file is not concerned.
            if not raw.peek(1) and raw.tell() < n_bytes:
                raise DataError(f"{path}: became shorter while it was read")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise DataError(f"{path}: is a folder, not a file", hint="name a file in it") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged or not gzip: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


@lru_cache(maxsize=1024)
def tell(message: str) -> None:
    """Log what a file was taken for, once: a command reads its files several times."""
    logger.info("%s", message)


def _settled(path: AnyFile, encoding: str | None) -> tuple[Iterator[tuple[int, bytes | None]], str]:
    """Return the lines in bytes, and the encoding they are in."""
    wanted = None if encoding is None else codec_of(encoding)
    lines = _raw_lines(path, wanted)
    if wanted is not None:
        return lines, wanted if is_linewise(wanted) else UTF_8
    held: list[tuple[int, bytes | None]] = []
    size = 0
    for number, line in lines:
        held.append((number, line))
        size += len(line or b"")
        if size >= SAMPLE_BYTES:
            break
    codec = recognise([line for _, line in held if line is not None])
    if codec != UTF_8:
        tell(f"{path}: read as {codec.upper()} (--encoding settles it)")
    return chain(held, lines), codec


def _raw_lines(path: AnyFile, encoding: str | None) -> Iterator[tuple[int, bytes | None]]:
    """Yield numbered lines with their ends: in UTF-8 where a line feed is not a byte of its own, else as they are."""
    with open_file(path) as stream:
        wide = encoding
        if encoding is None and (wide := wide_encoding(_peek(stream))):
            tell(f"{path}: read as {wide.upper()} (--encoding settles it)")
        if wide is None or is_linewise(wide):
            yield from _bounded(stream)
        else:
            yield from _transcoded(path, stream, wide)


def _peek(stream: BufferedIOBase) -> bytes:
    peek = getattr(stream, "peek")  # noqa: B009  # both kinds of streams have it, their common base does not
    return bytes(peek(4)[:4])


def _bounded(stream: BufferedIOBase) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield number, line.removeprefix(BOM)  # also where files with a BOM were joined
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)
        yield number, None


def _transcoded(path: AnyFile, stream: BufferedIOBase, encoding: str) -> Iterator[tuple[int, bytes | None]]:
    text = io.TextIOWrapper(stream, encoding=encoding, newline="\n")  # type: ignore[type-var]
    number = 0
    try:
        while line := text.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) <= MAX_LINE_BYTES or line.endswith("\n"):
                yield number, line.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
                continue
            while line and not line.endswith("\n"):
                line = text.readline(MAX_LINE_BYTES)
            yield number, None
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"{path}:{number + 1}: not {encoding.upper()}: {reason}", hint=_SETTLE) from error
    finally:
        text.detach()


_SETTLE = "name the encoding of the file, as in --encoding gb18030"


def _undecodable(raw: bytes, codec: str, error: UnicodeDecodeError) -> tuple[str, str | None]:
    if error.reason == "unexpected end of data" and not raw.endswith(b"\n"):
        return "the file ends within a character: it was cut off", "fetch it again, or leave its last line out"
    fault = f"not {codec.upper()}: byte {error.start + 1} of the line is 0x{raw[error.start]:02x}"
    if codec == UTF_8 and (likely := likely_encoding(raw)):
        return fault, f"the line looks like {likely.upper()}: --encoding {likely} reads the whole file so"
    return fault, None

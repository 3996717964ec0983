"""The answers of an unfinished prediction, kept beside its output, so that ``predict --resume`` can go on."""

from __future__ import annotations

import json
import logging
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pipeline.artifacts import open_locked, open_own, output_file, write_errors
from pipeline.errors import ConfigError, DataError
from pipeline.schema import ChosenEntity, Emotion, Mention, Prediction, RunnerUp

logger = logging.getLogger(__name__)


class PredictionJournal:
    """Context manager that notes finished answers in ``.<output>.part``, a line each, and gives them back.

    Every line carries its checksum, so that one torn by a crash, and all after it, are told from whole ones. The
    file is kept where the process is stopped (killed, by Ctrl-C, a worker out of memory, a full disk) with answers
    in it, and removed otherwise. It is locked, and so is a file of that form for every other output: of two processes
    that share one of them the second is refused, before it has done any work.

    Args:
        output: the upload file.
        others: files written beside it; what a killed process left of all of them is removed.
        key: hash of all that the answers depend on. Answers under another key are not gone on with.
        about: what they depend on, in words: the run, the input, the options. Messages name them.
        chunk_size: answers found together. Only whole chunks are given back: the size of a chunk can change the
            last bits of a probability.
        resume: go on with what is there, instead of starting anew.

    Raises:
        ConfigError: the file cannot be written, or another process holds it.
    """

    def __init__(
        self,
        output: Path,
        *,
        others: Sequence[Path] = (),
        key: str,
        chunk_size: int,
        resume: bool = False,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._output = output
        self._targets = [output_file(path) for path in (output, *others)]
        self.path = _part(self._targets[0])
        self._key, self._chunk_size, self._resume = key, chunk_size, resume
        self._about = dict(about or {})
        self.n_done = 0
        """Answers that are there already."""
        self._n_noted = 0

    def __enter__(self) -> PredictionJournal:
        self._locks = self._locked()
        self._file = self._locks[self.path]
        with write_errors(self._output):
            try:
                self._remove_leftovers()
                end = self._scan() if self._resume else 0
                self._file.truncate(end)
                self._file.seek(end)
                if end == 0:
                    self._file.write(_line({"key": self._key, "about": self._about}))
                self._file.flush()
            except BaseException:
                self._close(keep=self.n_done > 0)
                raise
        self._n_noted = self.n_done
        return self

    def done(self) -> Iterator[Prediction]:
        """Yield the answers that are there already, in order, one in memory at a time."""
        with open_own(self.path, "rb") as file:
            file.readline()
            for _ in range(self.n_done):
                yield _prediction(_values(file.readline()))

    def note(self, prediction: Prediction) -> None:
        """Keep one more answer; a chunk reaches the system when it is whole.

        Raises:
            ConfigError: the disk refuses.
        """
        with write_errors(self._output):
            self._file.write(_line(asdict(prediction)))
            self._n_noted += 1
            if self._n_noted % self._chunk_size == 0:
                self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_final = kind is None or issubclass(kind, DataError)  # a malformed row: the input has to change
        keep = not is_final and self._n_noted >= self._chunk_size
        self._close(keep=keep)
        if keep:
            n_kept = self._n_noted - self._n_noted % self._chunk_size
            logger.warning("%d answers are kept; go on with the same command and --resume", n_kept)

    def _close(self, *, keep: bool) -> None:
        """Close the files, which releases the locks."""
        if not keep:
            self.path.unlink(missing_ok=True)
        _release(self._locks)

    def _locked(self) -> dict[Path, IO[bytes]]:
        """Open and lock the file of every output.

        Raises:
            ConfigError: another process holds one, or it cannot be opened.
        """
        locks: dict[Path, IO[bytes]] = {}
        try:
            for target in sorted(set(self._targets)):  # in one order: of two processes one gets all
                with write_errors(target):
                    locks[_part(target)] = open_locked(_part(target))
        except ConfigError as error:
            _release(locks)
            if isinstance(error.__cause__, BlockingIOError):
                raise ConfigError(f"{target}: another prediction is writing this file") from error
            raise
        return locks

    def _remove_leftovers(self) -> None:
        """Remove temporary files of these outputs: whoever wrote them was killed, or would hold the lock."""
        for target in self._targets:
            pattern = re.compile(rf"\.{re.escape(target.name)}\.\d+-[0-9a-f]{{8}}\.tmp")
            for path in target.parent.iterdir():
                if pattern.fullmatch(path.name) and path.is_file():
                    path.unlink(missing_ok=True)

    def _scan(self) -> int:
        """Count whole answers in whole chunks; return where they end, 0 where there is nothing to go on with."""
        self._file.seek(0)
        header = _values(self._file.readline())
        if header is None or header.get("key") != self._key:
            logger.warning("%s: %s; starting anew", self.path, self._difference(header))
            return 0
        end, n_lines = self._file.tell(), 0
        while _values(self._file.readline()) is not None:
            n_lines += 1
            if n_lines % self._chunk_size == 0:
                end, self.n_done = self._file.tell(), n_lines
        logger.info("%s: going on after %d articles%s", self.path, self.n_done, _words(self._about))
        return end

    def _difference(self, header: dict[str, Any] | None) -> str:
        """Say why there is nothing to go on with."""
        if header is None:
            return "what to go on with is not there"
        found = header.get("about") or {}
        differing = {name: value for name, value in found.items() if self._about.get(name) != value}
        return f"what to go on with rests on another run, input or options{_words(differing)}"


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _release(locks: Mapping[Path, IO[bytes]]) -> None:
    """Close locked files; those that hold nothing are removed."""
    for path, file in locks.items():
        with suppress(OSError):  # a full disk refused the last of it: the checksums tell
            file.flush()
        with suppress(OSError):
            # After another holder came in between, the name is that of its file.
            if os.fstat(file.fileno()).st_size == 0 and os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            file.close()


def _words(about: Mapping[str, str]) -> str:
    return f" ({', '.join(f'{name} {value}' for name, value in about.items())})" if about else ""


def _line(values: dict[str, Any]) -> bytes:
    content = json.dumps(values).encode()  # ASCII: lone surrogates as escapes
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _values(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds, None where it is torn, changed or missing."""
    checksum, _, content = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(content):
        return None
    values: dict[str, Any] = json.loads(content)
    return values


def _prediction(values: dict[str, Any] | None) -> Prediction:
    if values is None:
        raise ValueError("a line of the journal changed while it was read")
    return Prediction(
        values["news_id"],
        tuple(
            ChosenEntity(
                entity["name"],
                Emotion(entity["emotion"]),
                entity["score"],
                tuple(entity["probs"]),
                tuple(Mention(**mention) for mention in entity["mentions"]),
            )
            for entity in values["entities"]
        ),
        tuple(RunnerUp(**candidate) for candidate in values["runners_up"]),
    )

"""Whose answers an upload file holds: noted beside it, so that none is overwritten by other answers unasked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.artifacts import GZIP_MAGIC, BoundedGzip, atomic_write_json, output_file, sha256_file
from pipeline.errors import ConfigError

FORCE_HINT = "give another file name, or overwrite it with --force"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where answers come from."""

    run: str
    manifest: str
    """Checksum of the run's manifest: a run trained anew under its old name is another one."""
    input: str


def note_path(upload: Path) -> Path:
    """Return the hidden file beside an upload file that says where its answers come from."""
    target = output_file(upload)
    return target.with_name(f".{target.name}.json")


def note_origin(origin: Origin, upload: Path, others: Iterable[Path] = ()) -> None:
    """Note where finished files come from, with their checksums.

    Raises:
        ConfigError: the note cannot be written.
    """
    files = {_name(path, upload): sha256_file(path) for path in (upload, *others)}
    atomic_write_json(note_path(upload), {**asdict(origin), "files": files})


def noted_origin(upload: Path) -> Origin | None:
    """Return where the answers of a file come from; None where that is not noted, or the file is not as it was left."""
    note = _read_note(upload) if upload.is_file() else {}  # a pipe has none beside it
    if not note or note["files"].get(_name(upload, upload)) != sha256_file(upload):
        return None
    values = (note.get(name) for name in ("run", "manifest", "input"))
    return Origin(*(value if isinstance(value, str) else "" for value in values))


def refuse_other_answers(origin: Origin, upload: Path, others: Sequence[Path], ids: Iterable[str] | None) -> None:
    """Refuse to overwrite files unless they are an earlier state of these very answers, as this program left them.

    That is: the same run wrote them, and the articles they answer are the first of those to be answered now.
    Empty files hold nothing and may go.

    Args:
        origin: of the new answers.
        upload: the upload file; its note is looked at.
        others: files that are written beside it.
        ids: newsIds to be answered, in order; read only where a file is there. None: to be told by ``origin.input``.

    Raises:
        ConfigError: a file holds something else; the message says what, as far as it is known.
    """
    taken = [path for path in (upload, *others) if path.is_file() and path.stat().st_size]
    if not taken:
        return
    note = _read_note(upload)
    for path in taken:
        if note.get("files", {}).get(_name(path, upload)) != sha256_file(path):
            raise ConfigError(f"{path}: exists, and is not as predict left it beside {upload}", hint=FORCE_HINT)
    about = f"holds the answers of run {note.get('run')} to {note.get('input')}"
    if (note.get("run"), note.get("manifest")) != (origin.run, origin.manifest):
        again = ", before it was trained again" if note.get("run") == origin.run else ""
        raise ConfigError(f"{taken[0]}: {about}{again}", hint=FORCE_HINT)
    same = note.get("input") == origin.input if ids is None else _begins(ids, _ids_of(upload))
    if not same:
        raise ConfigError(f"{taken[0]}: {about}, not to {origin.input}", hint=FORCE_HINT)


def _name(path: Path, upload: Path) -> str:
    """Return the name of a file as seen from the upload file, so that a folder may be moved."""
    return os.path.relpath(output_file(path), output_file(upload).parent)


def _read_note(upload: Path) -> dict[str, Any]:
    """Return what is noted, nothing where that is missing or damaged."""
    try:
        note = json.loads(note_path(upload).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) and isinstance(note.get("files"), dict) else {}


def _ids_of(upload: Path) -> Iterator[str]:
    if upload.is_file():
        with upload.open("rb") as packed:
            for line in BoundedGzip(upload, packed) if packed.peek(2)[:2] == GZIP_MAGIC else packed:
                yield line.split(b"\t")[0].decode("utf-8", "replace")


def _begins(ids: Iterable[str], beginning: Iterable[str]) -> bool:
    """Tell whether some ids begin with others."""
    given = iter(ids)
    return all(next(given, None) == news_id for news_id in beginning)

"""How a file is to be read, where that is not recognised: its format, encoding, columns and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.data.labels import SKIP, LabelMap
from pipeline.errors import ConfigError, DataError


@dataclass(frozen=True)
class Reading:
    """What the user said of files; by default all of it is recognised."""

    format: str | None = None
    """A name of ``pipeline.data.formats.registry.FORMATS``."""
    encoding: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """The file's name of a column by ours; an empty one: the file has no such column."""
    labels: LabelMap = field(default_factory=LabelMap)

    def renamed(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the columns under our names."""
        return renamed(row, self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for a file that keeps it."""
        return {
            "format": self.format,
            "encoding": self.encoding,
            "columns": dict(self.columns),
            "labels": dict(self.labels.given),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any] | None) -> Reading:
        """Return what ``to_dict`` gave; nothing recognises all."""
        values = values or {}
        labels = LabelMap(values.get("labels") or {})
        return cls(values.get("format"), values.get("encoding"), values.get("columns") or {}, labels)


def renamed(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row under our names, of which ``columns`` has the file's."""
    if not columns:
        return row
    theirs = {name: ours for ours, name in columns.items() if name}
    found = {key: value for key, value in row.items() if key not in columns or key in theirs}
    ours_first = {theirs.get(key, key): value for key, value in found.items()}
    return ours_first | {ours: "" for ours, name in columns.items() if not name}


def require_columns(where: str, row: Iterable[str], columns: Mapping[str, str]) -> None:
    """Check the keys of a file's first row, which stands at ``file:line``, for the columns that the user named.

    Raises:
        DataError: one is not there.
    """
    have = list(map(str, row))
    if missing := [name for name in columns.values() if name and name not in have]:
        raise DataError(
            f"{where}: no column {', '.join(missing)} (have: {', '.join(have)})",
            hint="--columns names the columns of the file: ours=theirs",
        )


def parse_columns(text: str | None) -> dict[str, str]:
    """Read ``title=headline,content=text``: our names of columns, and the file's.

    Raises:
        ConfigError: it is no such list.
    """
    return _pairs(text, "--columns", "title=headline,content=text")


def parse_label_map(text: str | None) -> LabelMap:
    """Read ``conflict=skip,2=POS``: labels of the file, and what they mean.

    Raises:
        ConfigError: it is no such list.
    """
    return LabelMap(_pairs(text, "--label-map", "conflict=skip,2=POS"))


def parse_types(text: str | None) -> dict[str, str]:
    """Read ``PERSON=PER,MISC=skip``: types of marked spans in the file, and what they are to be called.

    Raises:
        ConfigError: it is no such list, or a type is to have no name.
    """
    found = _pairs(text, "--label-map", "PERSON=PER,MISC=skip")
    if unnamed := [name for name, to in found.items() if not to]:
        raise ConfigError(f"--label-map {unnamed[0]}=: want another name, or {SKIP}")
    return found


def _pairs(text: str | None, option: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        left, sign, right = (piece.strip() for piece in part.partition("="))
        if not (left and sign) or left in found:
            raise ConfigError(f"{option} {text}: want pairs joined by commas, each name once, as in {option} {example}")
        found[left] = right
    return found


def named(names: Sequence[str]) -> str:
    """Return names for a message; "none" where there are none."""
    return ", ".join(names) or "none"

"""How a file is to be read, where that is not recognised: its format, encoding, columns and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.data.labels import LabelMap
from pipeline.errors import ConfigError


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
        if not self.columns:
            return row
        theirs = {name: ours for ours, name in self.columns.items() if name}
        found = {key: value for key, value in row.items() if key not in self.columns or key in theirs}
        renamed = {theirs.get(key, key): value for key, value in found.items()}
        return renamed | {ours: "" for ours, name in self.columns.items() if not name}

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

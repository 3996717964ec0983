"""What is known of a file's form, and what a reader has to tell of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Form:
    """What a user says of a file's form; what is left out is recognised."""

    format: str | None = None
    """A name of ``registry.FORMATS``."""
    encoding: str | None = None
    tags: str = ""
    """Name of the notation of its tags, as IOB1; spans that break its rules are then lost with a warning alone."""
    tag_names: tuple[str, ...] = ()
    """What tags that are whole numbers stand for, from 0 on."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The file's name of a key or column by ours; see ``pipeline.data.reading``."""
    types: Mapping[str, str] = field(default_factory=dict)
    """By a type of the file: what it is called here, or ``skip``."""


@dataclass(slots=True)
class Notes:
    """What a file holds that makes no spans, in words for a message, and how often."""

    unread: Counter[str] = field(default_factory=Counter)
    """Beside the spans, as relations: nothing is lost by it."""
    lost: Counter[str] = field(default_factory=Counter)
    """Spans or rows that somebody marked, and that cannot be read."""

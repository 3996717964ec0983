"""What every option is checked by: ranges, which stand in the metadata of the fields, and rules between options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, asdict, field, fields, is_dataclass
from typing import Any, TypeVar, cast, get_type_hints

from pipeline.errors import ConfigError

RANGE = "range"
"""Key of a field's metadata: the lowest and the highest value, both allowed; of a list, those of its items."""
LATER = "later"
"""Key of a field's metadata: the option came after runs were trained without it; see ``key_options``."""
Bounds = tuple[float, float]
T = TypeVar("T")


def option(default: T, *, low: float, high: float, later: bool = False) -> T:
    """Return a dataclass field with a range; a list is copied for each instance. ``later``: see ``key_options``."""
    metadata: dict[str, Any] = {RANGE: (low, high), **({LATER: True} if later else {})}
    if isinstance(default, list):
        return cast(T, field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


def options(config_class: type, prefix: str = "") -> Iterator[tuple[str, Field[Any], Bounds | None]]:
    """Yield dotted name, field and range (None: any value of its type) of every option, nested ones included."""
    types = get_type_hints(config_class)
    for part in fields(config_class):
        name = prefix + part.name
        if is_dataclass(types[part.name]):
            yield from options(types[part.name], f"{name}.")
        else:
            yield name, part, part.metadata.get(RANGE)


def key_options(config: Any) -> dict[str, Any]:
    """Return the options of a section for keys of stages and files of models.

    Options that came later are left out while they change nothing, so that older runs keep their keys and bytes.
    """
    unused = [part.name for part in fields(config) if part.metadata.get(LATER)]
    return {
        name: value
        for name, value in asdict(config).items()
        if name not in unused or value != type(config).__dataclass_fields__[name].default
    }


def check_ranges(section: str, config: Any) -> None:
    """Check a dataclass's own fields; called from ``__post_init__``. Nested dataclasses check themselves.

    Args:
        section: name of the options in messages, "" for none.
        config: instance of the dataclass.

    Raises:
        ConfigError: a value lies outside its option's range.
    """
    for part in fields(config):
        if bounds := part.metadata.get(RANGE):
            name = f"{section}.{part.name}" if section else part.name
            check_range(name, getattr(config, part.name), bounds)


def check_range(name: str, value: Any, bounds: Bounds) -> None:
    """Raise a ConfigError that names the option unless its value, or each item of it, lies in the closed range."""
    for item in value if isinstance(value, Sequence) else (value,):
        between(name, item, *bounds)


def require(condition: bool, message: str) -> None:
    """Raise a ConfigError with the message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def between(name: str, value: float, low: float, high: float) -> None:
    """Raise a ConfigError that names the option unless its value lies in the closed range; not-a-number never does."""
    require(low <= value <= high, f"{name} must lie between {low} and {high}, got {value}")

"""The options that say how rows are read, alike in every command that reads some: they become one argument of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Any, get_type_hints

from pipeline.cli.options import (
    Columns,
    Encoding,
    FileFormat,
    LabelNames,
    TagFormat,
    TagNames,
    Tags,
    TypeNames,
    form_of,
    reading_of,
)

Command = Callable[..., None]


def _options_as(argument: str, options: Mapping[str, Any], make: Callable[..., object]) -> Callable[[Command], Command]:
    """Return what gives a command further options, and passes what ``make`` makes of them as one argument.

    Args:
        argument: name of a parameter of the command, which is no option itself.
        options: types of the options, by the parameters of ``make``; each may be left out.
        make: its defaults are those of the options.
    """
    defaults = signature(make).parameters

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(*args: Any, **given: Any) -> None:
            said = {name: given.pop(name) for name in options if name in given}
            command(*args, **given, **{argument: make(**said)})

        # Typer looks at both: its own options are evaluated here, the argument has a type that is imported late.
        named = {name: kind for name, kind in command.__annotations__.items() if name != argument}
        own = get_type_hints(SimpleNamespace(__annotations__=named), command.__globals__, include_extras=True)
        parameters = [one for one in signature(command).parameters.values() if one.name != argument]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name].default, annotation=kind)
            for name, kind in options.items()
        ]
        whole = signature(command).replace(
            parameters=[*(one.replace(annotation=own[one.name]) for one in parameters), *added],
            return_annotation=None,
        )
        setattr(with_options, "__signature__", whole)  # noqa: B010  # functions have no such attribute to a type checker
        with_options.__annotations__ = {**own, **options}
        return with_options

    return decorate


_ROWS: Mapping[str, Any] = {"file_format": FileFormat, "encoding": Encoding, "columns": Columns}
_TAG_ROWS: Mapping[str, Any] = {"file_format": TagFormat, "encoding": Encoding, "columns": Columns}

reads_labelled_rows = _options_as("reading", {**_ROWS, "label_map": LabelNames}, reading_of)
"""Gives a command the options of rows; its parameter ``reading`` gets what they say."""
reads_rows = _options_as("reading", _ROWS, reading_of)
"""The same for a command that looks at no emotions: there is nothing to map."""
reads_any_rows = _options_as("reading", {**_ROWS, "label_map": LabelNames}, partial(reading_of, of_any_kind=True))
"""The same for a command that also reads texts with marked entities."""
reads_labelled_tag_rows = _options_as(
    "form", {"tags": Tags, "tag_names": TagNames, **_TAG_ROWS, "label_map": TypeNames}, form_of
)
"""Gives a command the options of tagging rows; its parameter ``form`` gets what they say."""
reads_tag_rows = _options_as("form", _TAG_ROWS, form_of)
"""The same for rows whose tags are not looked at."""

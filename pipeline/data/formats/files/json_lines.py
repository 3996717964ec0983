"""JSON lines: a value on each line that is not blank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn

from pipeline.data.formats.files.record import Lines, Record, faulty
from pipeline.errors import DataError


def read_json_lines(lines: Lines) -> Iterator[Record]:
    """Yield every line as what it holds, or as why that is not JSON; blank lines are no rows."""
    for line in lines:
        if line.fault:
            yield faulty(line)
        elif line.text.strip():
            try:
                yield Record(line.number, parse_json(line.text))
            except DataError as error:
                yield Record(line.number, fault=error.message, hint=error.hint)


def parse_json(text: str) -> object:
    """Decode a JSON value.

    Raises:
        DataError: it is none; the message is the reason.
    """
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except ValueError as error:  # NaN, or a number of thousands of digits
        raise DataError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise DataError("nested too deeply to be read") from error


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which Python reads and JSON does not have."""
    raise ValueError(f"{name} is not a JSON value")

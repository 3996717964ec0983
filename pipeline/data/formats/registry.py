"""Every kind of file that holds rows; one line makes a new one known to all commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from reprlib import repr as short_repr
from typing import Any

from pipeline.artifacts import AnyFile
from pipeline.data.formats.files.atepc import begins_columns, read_columns
from pipeline.data.formats.files.json_array import begins_array, read_json_array
from pipeline.data.formats.files.json_lines import read_json_lines
from pipeline.data.formats.files.record import Format, Record
from pipeline.data.formats.files.semeval import begins_xml, read_semeval
from pipeline.data.formats.files.sohu import begins_sohu, read_sohu
from pipeline.data.formats.files.tables import begins_table, read_csv, read_tsv
from pipeline.data.formats.files.triples import begins_triples, read_triples
from pipeline.data.lines import TextLine, iter_text, tell
from pipeline.data.reading import Reading, require_columns
from pipeline.errors import DataError
from pipeline.registry import unknown_name

JSON_LINES = "jsonl"
FORMATS: dict[str, Format] = {
    "csv": Format("table with a header; comma, semicolon or tab", read_csv, (".csv",), begins_table),
    "tsv": Format("table with a header and tabs", read_tsv, (".tsv", ".tab")),
    "semeval": Format("XML of SemEval-2014 task 4", read_semeval, (), begins_xml),
    "json": Format("one JSON array of objects", read_json_array, (), begins_array),
    "sohu2022": Format("JSON lines with content and entity", read_sohu, (), begins_sohu),
    "triples": Format("ABSA-PyTorch: text with $T$, target, polarity", read_triples, (), begins_triples),
    "atepc": Format("columns of token, B-ASP/I-ASP/O, polarity", read_columns, (), begins_columns),
    JSON_LINES: Format("a JSON object on each line", read_json_lines),
}
"""By the name that ``--format`` takes. Recognised in this order: by the end of the name, then by the first line."""


def format_named(name: str) -> Format:
    """Return a format.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return FORMATS[name]


def recognise(file_name: str, first: str) -> str:
    """Return the name of the format of a file, by its own name and its first line that is not blank."""
    name = file_name.lower().removesuffix(".gz")
    by_name = (key for key, known in FORMATS.items() if known.suffixes and name.endswith(known.suffixes))
    by_line = (key for key, known in FORMATS.items() if known.begins(first))
    return next(chain(by_name, by_line), JSON_LINES)


def iter_records(path: AnyFile, reading: Reading | None = None, *, is_told: bool = True) -> Iterator[Record]:
    """Yield the rows of a file of any format, with the columns under our names, one in memory at a time.

    Args:
        path: of the file.
        reading: what is not to be recognised.
        is_told: say which format was recognised.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read, or a column of ``--columns`` is not in its first row.
    """
    reading = reading or Reading()
    known = None if reading.format is None else format_named(reading.format)
    lines = iter_text(path, reading.encoding)
    held: list[TextLine] = []
    for line in lines:
        held.append(line)
        if line.fault or line.text.strip():
            break
        del held[:]  # blank lines before the first row are none
    if not held:
        return
    if known is None:
        name = recognise(str(path), held[0].text)
        known = FORMATS[name]
        if is_told and name != JSON_LINES:
            tell(f"{path}: read as {name}, {known.about} (--format settles it)")
    is_first = True
    for record in known.read(chain(held, lines)):
        if not isinstance(record.value, dict):
            yield record
            continue
        if is_first:
            require_columns(f"{path}:{record.line}", record.value, reading.columns)
            is_first = False
        yield Record(record.line, reading.renamed(record.value)) if reading.columns else record


def iter_objects(path: AnyFile, reading: Reading | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered rows of a file whose rows are objects.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read, or a row is no object (file and line are named).
    """
    for record in iter_records(path, reading):
        where = f"{path}:{record.line}"
        if record.fault:
            raise DataError(f"{where}: {record.fault}", hint=record.hint)
        if not isinstance(record.value, dict):
            raise DataError(f"{where}: not a JSON object but {short_repr(record.value)}")
        yield record.line, record.value


def iter_sources(path: AnyFile, reading: Reading) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield each row of a file as it stands, to be written again, and with the columns under our names.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: as ``iter_objects``, or a column of ``--columns`` is not in its first row.
    """
    is_first = True
    for number, row in iter_objects(path, replace(reading, columns={})):
        if is_first:
            require_columns(f"{path}:{number}", row, reading.columns)
            is_first = False
        yield number, row, reading.renamed(row)

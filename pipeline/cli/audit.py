"""``audit``: what is in the data, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import JsonFile
from pipeline.cli.row_options import reads_any_rows
from pipeline.cli.say import STDOUT, say, write_json
from pipeline.errors import DataError

if TYPE_CHECKING:
    from pipeline.data.read import Reading


@reads_any_rows
def audit(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Rows of any kind: JSON, CSV, XML, columns, folders of brat; plain or .gz.", metavar="FILE..."
        ),
    ],
    json_file: JsonFile = None,
    reading: Reading | None = None,
) -> None:
    """Say what is in the data and what is wrong with it; exit code 3 if rows are malformed.

    Rows may be articles, or have targets, labels, or marked entities; docs/FORMATS.md shows each kind.

    Example: python run.py audit data/sample/train.jsonl data/sample/test.jsonl
    """
    if show_audit(files, json_file, reading):
        raise typer.Exit(DataError.exit_code)


def show_audit(files: list[Path], json_file: Path | None = None, reading: Reading | None = None) -> bool:
    """Print what is in the files; return whether a row is malformed."""
    from pipeline.data.audit import audit as audit_files
    from pipeline.data.audit import format_audit

    report = audit_files(files, reading)
    if json_file != STDOUT:
        say(format_audit(report))
    if json_file:
        distinct_outputs(json_file, inputs=tuple(files))
        write_json(json_file, report.to_dict())
    return report.n_malformed > 0

"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.data.reading import Reading

MAX_COUNT = 2**31 - 1
"""Of whatever a command counts."""

Limit = Annotated[int | None, typer.Option(min=1, max=MAX_COUNT, help="Use only the first N articles.", metavar="N")]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Count malformed rows and go on, instead of stopping.")
]
RunName = Annotated[str | None, typer.Option("--run", help="Run under models/.", metavar="NAME")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="One option, as in --set rerank.num_leaves=31.", metavar="KEY=VALUE")
]
FileFormat = Annotated[
    str | None,
    typer.Option("--format", help="Kind of file, where it is not recognised; see docs/FORMATS.md.", metavar="NAME"),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding, as gb18030, where it is not recognised.", metavar="NAME")
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Names of columns, as in title=headline,content=text.", metavar="OURS=THEIRS,..."),
]
LabelNames = Annotated[
    str | None,
    typer.Option("--label-map", help="What labels mean, as in conflict=skip,2=POS.", metavar="LABEL=MEANING,..."),
]
CsvBom = Annotated[bool, typer.Option("--csv-bom", help="Begin the CSV with the mark by which Excel knows UTF-8.")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes; the run's own number by default.", metavar="N")
]


def reading_of(
    file_format: str | None = None,
    encoding: str | None = None,
    columns: str | None = None,
    labels: str | None = None,
    *,
    of_any_kind: bool = False,
) -> Reading:
    """Return how files are to be read, as the options of a command say.

    Args:
        file_format: name of a format.
        encoding: name of an encoding.
        columns: names of columns.
        labels: what labels mean.
        of_any_kind: whether the command also reads texts with marked entities.

    Raises:
        ConfigError: there is no such format or encoding, or a list of names is none.
    """
    from pipeline.data.formats.kinds import check_format
    from pipeline.data.formats.registry import format_named
    from pipeline.data.reading import Reading, parse_columns, parse_label_map
    from pipeline.text.encodings import codec_of

    if file_format is not None:
        if of_any_kind:
            check_format(file_format)
        else:
            format_named(file_format)
    if encoding is not None:
        codec_of(encoding)
    return Reading(file_format, encoding, parse_columns(columns), parse_label_map(labels))


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write every figure as JSON; - prints JSON in place of the text.", metavar="FILE"),
]

"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.data.formats.tagging import Form
    from pipeline.data.reading import Reading

MAX_COUNT = 2**31 - 1
"""Of whatever a command counts."""
RECOGNISED = "auto"
"""As ``--format`` of ``tag``, which had this default before."""

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
    typer.Option(
        "--format",
        help="Kind of file, where it is not recognised: jsonl, json, csv, tsv, semeval, sohu2022, triples, atepc.",
        metavar="NAME",
    ),
]
TagFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the rows where it is not recognised: entities, tokens, columns, table, text, doccano, cluener, "
        "labelstudio, brat, spacy.",
        metavar="NAME",
    ),
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
TypeNames = Annotated[
    str | None,
    typer.Option("--label-map", help="Other names of types, as in PERSON=PER,MISC=skip.", metavar="TYPE=NAME,..."),
]
Tags = Annotated[
    str, typer.Option("--tags", help="How tags are written: BIO, IOB1, IO, BIOES, BMES, BILOU, SM.", metavar="NAME")
]
TagNames = Annotated[
    str,
    typer.Option("--tag-names", help="What tags that are numbers stand for, from 0 on: O,B-PER,...", metavar="A,B,..."),
]
CsvBom = Annotated[bool, typer.Option("--csv-bom", help="Begin the CSV with the mark by which Excel knows UTF-8.")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes; the run's own number by default.", metavar="N")
]


def reading_of(
    file_format: str | None = None,
    encoding: str | None = None,
    columns: str | None = None,
    label_map: str | None = None,
    *,
    of_any_kind: bool = False,
) -> Reading:
    """Return how files are to be read, as the options of a command say.

    Args:
        file_format: name of a format.
        encoding: name of an encoding.
        columns: names of columns.
        label_map: what labels mean.
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
    return Reading(file_format, encoding, parse_columns(columns), parse_label_map(label_map))


def form_of(
    file_format: str | None = None,
    encoding: str | None = None,
    columns: str | None = None,
    label_map: str | None = None,
    tags: str = "",
    tag_names: str = "",
) -> Form:
    """Return the form of tagging rows, as the options of a command say.

    Raises:
        ConfigError: there is no such format or encoding, or a list of names is none.
    """
    from pipeline.data.formats.tagging import Form, format_named
    from pipeline.data.reading import parse_columns, parse_types
    from pipeline.text.encodings import codec_of

    if file_format == RECOGNISED:
        file_format = None
    if file_format is not None:
        format_named(file_format)
    if encoding is not None:
        codec_of(encoding)
    names = tuple(name.strip() for name in tag_names.split(",")) if tag_names else ()
    return Form(file_format, encoding, tags, names, parse_columns(columns), parse_types(label_map))


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write every figure as JSON; - prints JSON in place of the text.", metavar="FILE"),
]

"""``convert``: rows of any file as rows of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import CsvBom, SkipBadRows
from pipeline.cli.row_options import reads_any_rows
from pipeline.cli.say import say

if TYPE_CHECKING:
    from pipeline.data.read import Reading


@reads_any_rows
def convert(
    source: Annotated[
        Path,
        typer.Argument(help="Rows of any kind: JSON, CSV, XML, columns, a folder of brat; plain or .gz.", metavar="IN"),
    ],
    target: Annotated[
        Path,
        typer.Argument(help="New file: .csv, .tsv, .json (an array), else JSON lines; .gz packs it.", metavar="OUT"),
    ],
    wanted: Annotated[
        Literal["articles", "targets", "documents", "entities", "conll", "doccano", "cluener", "spacy"],
        typer.Option(
            "--to",
            help="What the rows are: articles, targets, documents, entities; entities also as conll (BIO columns), "
            "doccano, cluener or spacy.",
        ),
    ],
    skip_bad_rows: SkipBadRows = False,
    csv_bom: CsvBom = False,
    reading: Reading | None = None,
) -> None:
    """Write the rows of a file under our keys, in UTF-8; see docs/FORMATS.md for what can be read.

    Example: python run.py convert news.csv news.jsonl --to articles --columns newsId=id,content=text
    """
    from pipeline.data.formats.convert import Wanted
    from pipeline.data.formats.convert import convert as convert_rows
    from pipeline.data.read import BadRowPolicy

    distinct_outputs(target, inputs=(source,))
    number = convert_rows(
        source,
        target,
        Wanted(wanted),
        reading=reading,
        policy=BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP,
        csv_bom=csv_bom,
    )
    say(f"{target}: {number} rows")

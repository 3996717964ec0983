"""The commands of plain tagging: ``tag train``, ``tag predict``, ``tag evaluate``."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import Set
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

logger = logging.getLogger("pipeline.cli")

DEFAULT_TAGGER = "bert"
"""Where neither ``--tagger`` nor the configuration names one."""

Model = Annotated[Path, typer.Option(help="Folder of the trained tagger.", metavar="FOLDER")]
Threads = Annotated[int, typer.Option("--workers", min=1, max=256, help="Threads of the network.", metavar="N")]

tag = typer.Typer(
    help="""Plain tagging: named entities or parts of speech in any rows with marked spans.

    Rows are JSON lines with text and entities, JSON lines with tokens and tags, or CSV with text and label.

    Example: python run.py tag train --train train.jsonl --dev dev.jsonl --model models/ner --tagger lstm
    """
)


@tag.command()
def train(
    train_files: Annotated[
        list[Path], typer.Option("--train", help="Labelled rows; may be given several times.", metavar="FILE")
    ],
    model: Model,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled rows to score the finished tagger on.", metavar="FILE")
    ] = None,
    tagger: Annotated[
        str | None, typer.Option(help="lstm, encoder or bert; the configured one by default.", metavar="NAME")
    ] = None,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
) -> None:
    """Train a tagger on labelled rows into a new folder.

    Example: python run.py tag train --train train.jsonl --model models/ner --set tagger.training.max_epochs=5
    """
    from pipeline.config import load_config

    chosen = [f"tagger.name={tagger}"] if tagger else []
    options = load_config(preset=preset, file=config, overrides=[*(overrides or []), *chosen])
    if options.tagger.name == "none":
        options.tagger.name = DEFAULT_TAGGER
    if missing := [path for path in (*train_files, *([dev] if dev else [])) if not path.exists()]:
        raise DataError(f"{missing[0]}: no such file")

    from pipeline.standalone.tagging.score import figure_text
    from pipeline.standalone.tagging.tagger import TagTraining, train_tagger

    logger.info("tagger: %s", options.tagger.name)
    request = TagTraining(train_files, options, dev, command=["run.py", *sys.argv[1:]])
    _, scores = train_tagger(request, model)
    if scores:
        logger.info("dev: micro F1 %s, macro F1 %s", figure_text(scores.micro.f1), figure_text(scores.macro.f1))
    say(str(model))


@tag.command()
def predict(
    model: Model,
    input_file: Annotated[Path, typer.Option("--input", help="Rows, or plain text line by line.", metavar="FILE")],
    output: Annotated[Path, typer.Option(help="The same rows with what was found; .gz is packed.", metavar="FILE")],
    workers: Threads = 1,
) -> None:
    """Tag the rows of a file; labels that it holds are not looked at.

    Example: python run.py tag predict --model models/ner --input test.jsonl --output found.jsonl
    """
    from tqdm import tqdm

    from pipeline.artifacts import atomic_writer, output_file
    from pipeline.data.formats.tagging import RowKind, RowWriter, iter_rows, row_kind
    from pipeline.data.read import count_rows

    distinct_outputs(output, inputs=(input_file,))
    # A record of a table may take several lines.
    total = None if row_kind(input_file) is RowKind.TABLE else count_rows(input_file)
    output_file(output)

    from pipeline.standalone.tagging.tagger import load_tagger

    tagger = load_tagger(model, threads=workers)
    with atomic_writer(output) as file:
        writer = RowWriter(file, tagger.notation)
        rows = tagger.tag(iter_rows(input_file))
        for row, spans in tqdm(rows, total=total, desc="predict", unit="row", disable=None):
            writer.write(row, spans)
    say(str(output))


@tag.command()
def evaluate(
    gold: Annotated[Path, typer.Option(help="Labelled rows.", metavar="FILE")],
    pred: Annotated[Path | None, typer.Option(help="The same rows as predicted.", metavar="FILE")] = None,
    model: Annotated[Path | None, typer.Option(help="Or a trained tagger to run on them.", metavar="FOLDER")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the figures as JSON.")] = None,
    show: Annotated[int, typer.Option(min=0, help="Show N rows, those with errors first.", metavar="N")] = 0,
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option(help="Colours in what is shown: auto, always, never.")
    ] = "auto",
    workers: Threads = 1,
) -> None:
    """Score found spans against gold: strict precision, recall and F1, of each type and on average.

    Example: python run.py tag evaluate --gold dev.jsonl --model models/ner --show 5
    """
    if (pred is None) == (model is None):
        raise ConfigError("want either --pred FILE or --model FOLDER")
    distinct_outputs(json_file, inputs=(gold, *([pred] if pred else [])))

    from pipeline.artifacts import atomic_write_json
    from pipeline.data.formats.tagging import read_rows
    from pipeline.standalone.tagging.score import format_scores
    from pipeline.standalone.tagging.tagger import find_spans, load_tagger, read_predicted, score_file
    from pipeline.standalone.tagging.view import format_row, type_colours

    marked = read_rows(gold)
    if pred:
        found = read_predicted(pred, marked)
    elif model:
        found = find_spans(load_tagger(model, threads=workers), marked)
    scores = score_file(marked, found)
    say(format_scores(scores))
    is_terminal = sys.stdout.isatty()
    colored = color == "always" or (color == "auto" and is_terminal)
    with_errors_first = sorted(range(len(found)), key=lambda index: set(found[index]) == set(marked.rows[index].spans))
    for index in with_errors_first[:show]:
        row = marked.rows[index]
        view = format_row(
            row.text,
            row.spans,
            found[index],
            colours=type_colours(list(scores.types)) if colored else None,
            width=shutil.get_terminal_size().columns if is_terminal else None,
        )
        typer.echo(f"\n{gold}:{row.line}\n{view}", color=colored)
    if json_file:
        atomic_write_json(json_file, scores.to_dict())

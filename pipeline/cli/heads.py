"""The commands of a sentiment head on rows of one's own: ``heads train``, ``predict``, ``evaluate``, ``show``."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import MAX_COUNT, Set
from pipeline.cli.row_options import reads_labelled_rows, reads_rows
from pipeline.cli.say import STDOUT, say, write_json
from pipeline.errors import DataError

if TYPE_CHECKING:
    from pipeline.data.reading import Reading
    from pipeline.standalone.heads.answers import Answer, AnswerWriter
    from pipeline.standalone.heads.saved import SavedHead
    from pipeline.standalone.heads.unlabelled import UnlabelledRow

logger = logging.getLogger("pipeline.cli")

Model = Annotated[Path, typer.Option(help="Folder of the trained head.", metavar="FOLDER")]
Input = Annotated[Path, typer.Option("--input", help="Rows; labels in them are not looked at.", metavar="FILE")]

heads = typer.Typer(
    help="""Sentiment heads on rows of your own: train one, let it answer, score it, see what it looks at.

    Rows are JSON lines of one form: text and label; text, target and polarity (POS, NORM, NEG), with from and to where
    the target occurs several times; text and targets, a list of such targets; text, category and polarity; or
    articles. "compare heads" tells which head suits your rows.

    Example: python run.py heads train --data data/sample/train.jsonl --head ian --out models/my-ian
    """
)


@heads.command()
@reads_labelled_rows
def train(
    data: Annotated[Path, typer.Option(help="Labelled rows.", metavar="FILE")],
    head: Annotated[str, typer.Option(help="As ian or af_lstm; text_cnn and the like read no target.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="New folder of the trained head.", metavar="FOLDER")],
    dev: Annotated[
        Path | None, typer.Option(help="Rows that choose the epoch; by default a part of the data.", metavar="FILE")
    ] = None,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MAX_COUNT, help="Of training and of the part held out.", metavar="N")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a trained head in the folder.")] = False,
    reading: Reading | None = None,
) -> None:
    """Train a head on labelled rows into a new folder that holds all it needs.

    The folder appears when training is done. Without --dev, sentiment.dev_fraction of the texts are held out, and of
    every class its share. A warning tells of a head that is not better than the most frequent answer.

    Example: python run.py heads train --data data/sample/train.jsonl --dev data/sample/dev.jsonl --head ian --out models/my-ian
    """  # noqa: E501 (an example is typed as one line)
    from pipeline.config import load_config

    own = [] if seed is None else [f"seed={seed}"]
    options = load_config(preset=preset, file=config, overrides=[*(overrides or []), *own])
    if missing := [path for path in (data, *([dev] if dev else [])) if not path.exists()]:
        raise DataError(f"{missing[0]}: no such file")

    from pipeline.standalone.heads.train_saved import HeadTraining, train_head

    request = HeadTraining(data, head, options, dev, command=["run.py", *sys.argv[1:]], reading=reading)
    figures = train_head(request, out, force=force).dev
    logger.info(
        "dev: accuracy %.4f, macro F1 %.4f, %d examples; always the most frequent class: %.4f",
        *(figures.accuracy, figures.macro_f1, figures.n_rows, figures.majority_accuracy),
    )
    say(str(out))


@heads.command()
@reads_rows
def predict(
    model: Model,
    input_file: Input,
    out: Annotated[Path, typer.Option(help="The same rows with answers: JSON lines, CSV for *.csv, - for the screen.")],
    attention: Annotated[bool, typer.Option("--attention", help="Also tell where the head looked.")] = False,
    reading: Reading | None = None,
) -> None:
    """Answer the rows of a file, labelled or not: the class, and the probability of each class.

    A head trained on texts reads the text of a row. One trained on targets wants text and target (from and to say
    which occurrence; the first by default), text and targets (a list of objects with a target each), text and
    category, or an article whose coreEntityEmotions name entities. Every other key is passed through.

    JSON lines get the keys predicted, probabilities and attention, in the object that has the target. CSV has a line
    for each target, p_CLASS for each class, and no cell that a spreadsheet would compute.

    Example: python run.py heads predict --model models/my-ian --input data/sample/test.jsonl --out answers.jsonl
    """
    from tqdm import tqdm

    from pipeline.artifacts import output_file
    from pipeline.data.seen import SeenRows
    from pipeline.standalone.heads.answers import answer_rows, survey
    from pipeline.standalone.heads.saved import load_head

    if out != STDOUT:
        distinct_outputs(out, inputs=(input_file,))
        output_file(out)  # better now than after the work
    saved = load_head(model)
    told = SeenRows(saved.seen, input_file).watch(_rows(saved, input_file, reading), _document_of)
    n_rows, keys = survey(told)  # finds what is wrong with a row before anything is written
    with _writer(out, saved, keys, attention=attention) as writer:
        answered = answer_rows(saved.model, _rows(saved, input_file, reading), attention=attention)
        for row, answers in tqdm(answered, total=n_rows, desc="predict", unit="row", disable=None):
            writer.write(row, answers)
    if out != STDOUT:
        say(str(out))


@heads.command()
@reads_labelled_rows
def evaluate(
    model: Model,
    data: Annotated[Path, typer.Option(help="Labelled rows.", metavar="FILE")],
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the figures as JSON; - prints them instead.")
    ] = None,
    errors: Annotated[
        Path | None, typer.Option(help="Write the wrong answers as CSV, the surest first.", metavar="FILE")
    ] = None,
    reading: Reading | None = None,
) -> None:
    """Score a head on labelled rows: accuracy, macro-F1, each class, confusion, beside the most frequent answer.

    Example: python run.py heads evaluate --model models/my-ian --data data/sample/test.jsonl --errors errors.csv
    """
    from pipeline.standalone.heads.evaluation import evaluate_head, format_evaluation, write_errors_table
    from pipeline.standalone.heads.saved import load_head

    distinct_outputs(None if json_file == STDOUT else json_file, errors, inputs=(data,))
    saved = load_head(model)
    evaluation = evaluate_head(saved, data, reading)
    if json_file != STDOUT:
        say(format_evaluation(evaluation, saved.model.name))
    if json_file:
        write_json(json_file, evaluation.to_dict())
    if errors:
        logger.info("%s: %d wrong answers", errors, write_errors_table(errors, evaluation))


@heads.command()
@reads_rows
def show(
    model: Model,
    input_file: Input,
    rows: Annotated[int, typer.Option(min=1, max=10_000, help="Show the first N rows.", metavar="N")] = 3,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write it as JSON; - prints that instead.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Also draw it as an SVG image.", metavar="FILE")] = None,
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option(help="Colours in what is shown: auto, always, never.")
    ] = "auto",
    reading: Reading | None = None,
) -> None:
    """Show what a head with attention looks at: the more weight a character has, the stronger its colour.

    Without colours, digits from 1 to 9 stand below the text. The rows are those of "heads predict".

    Example: python run.py heads show --model models/my-ian --input data/sample/test.jsonl --rows 2 --svg attention.svg
    """
    from itertools import islice

    from pipeline.artifacts import atomic_write_text
    from pipeline.standalone.heads.answers import answer_rows
    from pipeline.standalone.heads.attention_view import Part, attention_sheet
    from pipeline.standalone.heads.saved import load_head

    distinct_outputs(None if json_file == STDOUT else json_file, svg, inputs=(input_file,))
    saved = load_head(model)
    answered = list(answer_rows(saved.model, islice(_rows(saved, input_file, reading), rows), attention=True))
    found = [(row, one) for row, answers in answered for one in answers]
    if json_file != STDOUT:
        for row, one in found:
            _show(one, f"{row.where}: {_headline(one)}", color)
    if json_file:
        write_json(json_file, [{"row": row.where, "target": one.example.name, **one.to_dict()} for row, one in found])
    if svg:
        parts = [
            Part(one.example.text, one.attention or [], (one.example.start, one.example.stop), _headline(one))
            for _, one in found
        ]
        atomic_write_text(svg, attention_sheet(parts, title=f"What {saved.model.name} looks at"))


def _rows(saved: SavedHead, path: Path, reading: Reading | None) -> Iterator[UnlabelledRow]:
    from pipeline.standalone.heads.unlabelled import iter_unlabelled

    has_targets, max_chars = saved.kind.has_targets, saved.max_context_chars
    return iter_unlabelled(path, has_targets=has_targets, max_context_chars=max_chars, reading=reading)


def _document_of(row: UnlabelledRow) -> str:
    return row.examples[0].document if row.examples else ""


@contextmanager
def _writer(out: Path, saved: SavedHead, keys: list[str], *, attention: bool) -> Iterator[AnswerWriter]:
    """Lend what writes answers in the form that the name of the file asks for."""
    from pipeline.artifacts import atomic_writer
    from pipeline.standalone.heads.answers import LinesWriter, TableWriter

    if out == STDOUT:
        yield LinesWriter(sys.stdout, ascii_only=True)
        return
    with atomic_writer(out) as file:
        if out.name.endswith((".csv", ".csv.gz")):
            yield TableWriter(file, keys, saved.model.classes, attention=attention)
        else:
            yield LinesWriter(file)


def _headline(answer: Answer) -> str:
    name = f"{answer.example.name}: " if answer.example.name else ""
    return f"{name}{answer.label} ({answer.probabilities[answer.label]:.2f})"


def _show(answer: Answer, headline: str, color: str) -> None:
    from pipeline.standalone.heads.attention_view import attention_text

    is_terminal = sys.stdout.isatty()
    colored = color == "always" or (color == "auto" and is_terminal)
    view = attention_text(
        answer.example.text,
        answer.attention or [],
        target=(answer.example.start, answer.example.stop),
        colored=colored,
        width=shutil.get_terminal_size().columns if is_terminal else None,
    )
    say(headline)
    typer.echo(f"{view}\n", color=colored)

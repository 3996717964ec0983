"""The commands of plain tagging: ``tag train``, ``tag predict``, ``tag evaluate``."""

from __future__ import annotations

import logging
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import Set
from pipeline.cli.row_options import reads_labelled_tag_rows, reads_tag_rows
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.data.formats.tagging import Form, TagRow
    from pipeline.standalone.tagging.tagger import PlainTagger
    from pipeline.text.spans import ScoredSpan, Span

logger = logging.getLogger("pipeline.cli")

DEFAULT_TAGGER = "bert"
"""Where neither ``--tagger`` nor the configuration names one."""

Model = Annotated[Path, typer.Option(help="Folder of the trained tagger.", metavar="FOLDER")]
Threads = Annotated[int, typer.Option("--workers", min=1, max=256, help="Threads of the network.", metavar="N")]

tag = typer.Typer(
    help="""Plain tagging: named entities or parts of speech in any rows with marked spans.

    Rows are JSON with text and entities, JSON with tokens and tags, CoNLL columns, CSV or TSV with text and label, or
    files of doccano, CLUENER, Label Studio, brat (a folder) and spaCy; the format and the encoding are recognised.

    Example: python run.py tag train --train train.jsonl --dev dev.jsonl --model models/ner --tagger lstm
    """
)


@tag.command()
@reads_labelled_tag_rows
def train(
    train_files: Annotated[
        list[Path], typer.Option("--train", help="Labelled rows; may be given several times.", metavar="FILE")
    ],
    model: Model,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled rows: the epoch with the best F1 on them is kept.", metavar="FILE")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Go on from a trained tagger, also with new types.", metavar="FOLDER")
    ] = None,
    labels: Annotated[
        Literal["auto", "word", "span"], typer.Option(help="A label a word, or spans; auto: by the tags of the rows.")
    ] = "auto",
    tagger: Annotated[
        str | None, typer.Option(help="lstm, encoder or bert; the configured one by default.", metavar="NAME")
    ] = None,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    form: Form | None = None,
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

    from pipeline.data.formats.tagging import Form
    from pipeline.standalone.tagging.score import figure_text
    from pipeline.standalone.tagging.training import TagTraining, train_tagger

    request = TagTraining(
        *(train_files, options, dev, ["run.py", *sys.argv[1:]]),
        labels=labels,
        form=form or Form(),
        start=start,
        names_tagger=bool(chosen or config) or any(item.startswith("tagger.name=") for item in overrides or ()),
    )
    trained, scores = train_tagger(request, model)
    logger.info("tagger: %s%s", trained.model.config.name, ", a label a word" if trained.tags_words else "")
    if scores:
        logger.info("dev: micro F1 %s, macro F1 %s", figure_text(scores.micro.f1), figure_text(scores.macro.f1))
    say(str(model))


@tag.command()
@reads_tag_rows
def predict(
    model: Model,
    input_file: Annotated[Path, typer.Option("--input", help="Rows, or plain text line by line.", metavar="FILE")],
    output: Annotated[Path, typer.Option(help="The same rows with what was found; .gz is packed.", metavar="FILE")],
    confidence: Annotated[
        bool, typer.Option("--confidence/--no-confidence", help="Write the probability of each span.")
    ] = True,
    attention: Annotated[
        Path | None,
        typer.Option(help="Also the attention maps of a file of one row, as .json or .svg.", metavar="FILE"),
    ] = None,
    workers: Threads = 1,
    form: Form | None = None,
) -> None:
    """Tag the rows of a file; labels that it holds are not looked at.

    Example: python run.py tag predict --model models/ner --input test.jsonl --output found.jsonl
    """
    from tqdm import tqdm

    from pipeline.artifacts import atomic_writer, output_file
    from pipeline.data.formats.tagging import RowWriter, count_lines, iter_rows

    distinct_outputs(output, attention, inputs=(input_file,))
    total = count_lines(input_file, form)
    output_file(output)

    from pipeline.standalone.tagging.tagger import load_tagger

    tagger = load_tagger(model, threads=workers)
    if attention:
        _write_attention(tagger, input_file, attention, form)
    with atomic_writer(output) as file:
        writer = RowWriter(file, tagger.notation, scored=confidence)
        rows = iter_rows(input_file, form=form)
        tagged: Iterator[tuple[TagRow, Sequence[Span | ScoredSpan]]] = tagger.tag(rows, input_file)
        if confidence:
            tagged = tagger.tag_scored(rows, input_file)
        for row, spans in tqdm(tagged, total=total, desc="predict", unit="row", disable=None):
            writer.write(row, spans)
    say(str(output))


@tag.command()
@reads_labelled_tag_rows
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
    form: Form | None = None,
) -> None:
    """Score found spans against gold: strict precision, recall and F1, of each type and on average.

    Example: python run.py tag evaluate --gold dev.jsonl --model models/ner --show 5
    """
    if (pred is None) == (model is None):
        raise ConfigError("want either --pred FILE or --model FOLDER")
    distinct_outputs(json_file, inputs=(gold, *([pred] if pred else [])))

    from pipeline.artifacts import atomic_write_json
    from pipeline.data.formats.tagging import Form, read_rows
    from pipeline.metric import score_overlap
    from pipeline.standalone.tagging.score import format_baselines, format_overlap, format_scores
    from pipeline.standalone.tagging.tagger import find_spans, load_tagger, read_predicted, score_file
    from pipeline.standalone.tagging.view import format_row, type_colours
    from pipeline.standalone.tagging.words import WORD_FORM

    tagger = load_tagger(model, threads=workers) if model else None
    known = form or Form()
    if tagger and tagger.tags_words:
        known = replace(known, tags=WORD_FORM)
    marked = read_rows(gold, form=known)
    if tagger:
        found = find_spans(tagger, marked)
    elif pred:
        found = read_predicted(pred, marked, form=_as_written(known))
    scores = score_file(marked, found)
    figures = scores.to_dict()
    say(format_scores(scores))
    if scores.tag_accuracy is None:
        overlap = score_overlap((row.spans for row in marked.rows), found)
        figures["overlap"] = {name: outcomes.to_dict() for name, outcomes in overlap.items()}
        say("\n" + format_overlap(overlap))
    elif tagger and tagger.baseline:
        figures["baseline"] = tagger.baseline.accuracies(marked.rows)
        say(format_baselines(figures["baseline"]))
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
        atomic_write_json(json_file, figures)


def _as_written(form: Form) -> Form:
    """Return the form of predictions for rows of a form: those of annotation tools are written as rows of ours."""
    from pipeline.data.formats.tagging import RowKind

    return replace(form, format=form.format if form.format in set(RowKind) else None, encoding=None)


def _write_attention(tagger: PlainTagger, rows: Path, output: Path, form: Form | None) -> None:
    """Write the attention maps of the only row of a file."""
    from itertools import islice

    from pipeline.data.formats.tagging import iter_rows
    from pipeline.entities.taggers.attention import attention_maps
    from pipeline.standalone.tagging.attention_file import check_attention_path, write_attention
    from pipeline.standalone.tagging.words import as_words, word_example
    from pipeline.text import normalise
    from pipeline.text.spans import LabelledText

    check_attention_path(output)
    found = list(islice(iter_rows(rows, form=form), 2))
    if len(found) > 1:
        raise DataError(f"{rows}: --attention is for a file of one row, this has more")
    row = found[0]
    example = word_example(as_words(row)) if tagger.tags_words else LabelledText(normalise(row.text).text)
    write_attention(output, row.text, attention_maps(tagger.model, example))

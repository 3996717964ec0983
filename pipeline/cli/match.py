"""The commands of plain matching: ``match train``, ``match predict``, ``match evaluate``."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import Set
from pipeline.cli.row_options import reads_rows
from pipeline.cli.say import STDOUT, escaped, say, write_json
from pipeline.errors import DataError

if TYPE_CHECKING:
    from pipeline.config import Config
    from pipeline.data.reading import Reading

logger = logging.getLogger("pipeline.cli")

DEFAULT_MATCHER = "soft_align"
"""Where neither ``--matcher`` nor the configuration names one."""
DEFAULTS = ("relevance.training.max_epochs=20",)
"""Unless ``--config`` or ``--set`` say otherwise: of pairs, dev chooses the epoch, of articles the last is kept."""

Model = Annotated[Path, typer.Option("--model", help="Folder of the trained matcher.", metavar="FOLDER")]

match = typer.Typer(
    help="""Plain matching: how well two texts belong together, in any rows of two texts.

    Rows are JSON lines, CSV or TSV with text_a, text_b and label (or sentence1, sentence2, score, and the like); a
    label is 0 or 1, or a score.

    Example: python run.py match train --data train.jsonl --out models/match --matcher soft_align
    """
)


@match.command()
@reads_rows
def train(
    data: Annotated[
        list[Path],
        typer.Option("--data", "--train", help="Labelled pairs; may be given several times.", metavar="FILE"),
    ],
    out: Annotated[Path, typer.Option("--out", "--model", help="New folder of the matcher.", metavar="FOLDER")],
    dev: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs that choose the epoch and the thresholds; by default some are kept back.",
            metavar="FILE",
        ),
    ] = None,
    matcher: Annotated[
        str | None, typer.Option(help="malstm or soft_align; the configured one by default.", metavar="NAME")
    ] = None,
    score_range: Annotated[
        str | None, typer.Option(help="Of labels that are scores, as 0,5; recognised by default.", metavar="LOW,HIGH")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**31 - 1, help="Of training.", metavar="N")] = None,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    reading: Reading | None = None,
) -> None:
    """Train a matcher on labelled pairs into a new folder.

    Without --config it trains for at most 20 epochs.

    Example: python run.py match train --data train.csv --out models/match --set relevance.tokens=word
    """
    given = [*(overrides or [])]
    given += [f"relevance.name={matcher}"] if matcher else []
    given += [f"seed={seed}"] if seed is not None else []
    options = _options(preset, config, given)
    if missing := [path for path in (*data, *([dev] if dev else [])) if not path.exists()]:
        raise DataError(f"{missing[0]}: no such file")

    from pipeline.standalone.matching.matcher import MatchTraining, train_matcher
    from pipeline.standalone.matching.scale import LabelScale

    scale = LabelScale.parse(score_range) if score_range else None
    logger.info("matcher: %s", options.relevance.name)
    request = MatchTraining(data, options, dev, scale, command=["run.py", *sys.argv[1:]], reading=reading)
    _, figures = train_matcher(request, out)
    for line in figures.lines():
        if line:
            logger.info("dev: %s", line)
    say(str(out))


@match.command()
@reads_rows
def predict(
    model: Model,
    input_file: Annotated[Path, typer.Option("--input", help="Pairs; labels are not looked at.", metavar="FILE")],
    output: Annotated[
        Path,
        typer.Option(
            "--out", "--output", help="The same rows with their scores; .gz is packed, - prints them.", metavar="FILE"
        ),
    ],
    reading: Reading | None = None,
) -> None:
    """Score the pairs of a file: match_score from 0 to 1, and predicted, what the label would be.

    Example: python run.py match predict --model models/match --input pairs.jsonl --out scored.jsonl
    """
    from tqdm import tqdm

    from pipeline.artifacts import atomic_writer, output_file
    from pipeline.data.formats.pair_rows import PairWriter, iter_pairs, table_separator

    prints = output == STDOUT
    if not prints:
        distinct_outputs(output, inputs=(input_file,))
        output_file(output)
    separator = table_separator(input_file, reading)
    rows = iter_pairs(input_file, labelled=False, reading=reading)
    writer = PairWriter(separator, ascii_only=prints)

    from pipeline.standalone.matching.matcher import load_matcher

    matcher = load_matcher(model)
    scored = matcher.score(tqdm(rows, desc="predict", unit="pair", disable=None), input_file)
    lines = (writer.lines(row, score, matcher.predicted(score)) for row, score in scored)
    if prints:
        for line in lines:
            typer.echo(escaped(line), nl=False)
        return
    with atomic_writer(output) as file:
        file.writelines(lines)
    say(str(output))


@match.command()
@reads_rows
def evaluate(
    data: Annotated[Path, typer.Option("--data", "--gold", help="Labelled pairs.", metavar="FILE")],
    model: Model,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the figures as JSON; - prints JSON in place of the text.")
    ] = None,
    reading: Reading | None = None,
) -> None:
    """Score a matcher on labelled pairs: accuracy, F1, AUC, Spearman and log loss; of scores Spearman, Pearson, MSE.

    Accuracy and F1 are at the thresholds that were best on the development pairs of its training.

    Example: python run.py match evaluate --data test.jsonl --model models/match
    """
    if json_file and json_file != STDOUT:
        distinct_outputs(json_file, inputs=(data,))

    from pipeline.data.formats.pair_rows import read_pairs
    from pipeline.standalone.matching.matcher import load_matcher

    rows = read_pairs(data, reading)
    figures = load_matcher(model).evaluate(rows, data)
    if json_file != STDOUT:
        say("\n".join(figures.lines()))
    if json_file:
        write_json(json_file, figures.to_dict())


def _options(preset: str, file: Path | None, overrides: list[str]) -> Config:
    from pipeline.config import load_config

    lowest = [] if file else list(DEFAULTS)
    options = load_config(preset=preset, file=file, overrides=[*lowest, *overrides])
    if options.relevance.is_on:
        return options
    return load_config(preset=preset, file=file, overrides=[*lowest, *overrides, f"relevance.name={DEFAULT_MATCHER}"])

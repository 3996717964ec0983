"""The command ``compare modes``."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import MODELS, distinct_outputs
from pipeline.cli.options import Limit, Set
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.data.reading import Reading

logger = logging.getLogger("pipeline.cli")

ALL_MODES = "two_stage,joint,fused"


@reads_labelled_rows
def modes(
    train_files: Annotated[
        list[Path], typer.Option("--train", help="Labelled articles; may be given several times.", metavar="FILE")
    ],
    test: Annotated[
        Path | None, typer.Option(help="Labelled articles that no run is trained on.", metavar="FILE")
    ] = None,
    names: Annotated[str, typer.Option("--modes", help="Which modes, joined by commas.", metavar="LIST")] = ALL_MODES,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Runs of each mode.", metavar="N")] = 1,
    runs: Annotated[
        str | None, typer.Option(help="Take these finished runs, joined by commas, and train none.", metavar="LIST")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="Beginning of the names of the trained runs.", metavar="NAME")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with runs of these names.")] = False,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    limit: Limit = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write every figure as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write the table to a file.", metavar="FILE")] = None,
    reading: Reading | None = None,
) -> None:
    """Put two stages, one joint tagger and the average of both side by side, on the same folds and seeds.

    Example: python run.py compare modes --train data/sample/train.jsonl --test data/sample/test.jsonl --preset tiny
    --set tagger.name=lstm
    """
    for path in (*train_files, *([test] if test else [])):
        if not path.exists():
            raise DataError(f"{path}: no such file")
    distinct_outputs(json_file, markdown, inputs=(*train_files, *([test] if test else [])))
    if resume and run is None:
        raise ConfigError("--resume needs --run NAME, the beginning of the names of the runs to go on with")

    from pipeline.artifacts import atomic_write_json, atomic_write_text, new_run_name, open_run
    from pipeline.config import config_from_dict, load_config
    from pipeline.workflow.compare_modes.compare import compare_trained, read_data, train_modes
    from pipeline.workflow.train_request import TrainRequest

    data = read_data(train_files, test, limit=limit, reading=reading)
    if runs is not None:
        finished = [open_run(MODELS, name) for name in runs.split(",")]
    else:
        requests = []
        base = load_config(preset=preset, file=config, overrides=overrides or [])
        if base.budget.minutes:
            hint = "give sizes, as n_folds=3 or tagger.train_articles=2000; train --dry-run tells those of a time"
            raise ConfigError("budget.minutes: modes are compared on the same folds and sizes", hint=hint)
        for seed in range(base.seed, base.seed + seeds):
            for mode in names.split(","):
                options = config_from_dict({**base.to_dict(), "mode": mode, "seed": seed})
                command = ["run.py", *sys.argv[1:]]
                request = TrainRequest(train_files, options, None, limit, command=command, preset=preset)
                requests.append(replace(request, reading=reading) if reading else request)
        finished = train_modes(requests, MODELS, name=run or new_run_name(f"compare-{preset}"), resume=resume)
    comparison = compare_trained(finished, data)
    say(comparison.to_markdown())
    if json_file:
        atomic_write_json(json_file, comparison.to_dict())
    if markdown:
        atomic_write_text(markdown, comparison.to_markdown() + "\n")

"""``tune``: a search for better options, over the candidates of a finished run."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.files import MODELS, chosen_run, default_train
from pipeline.cli.options import RunName
from pipeline.cli.say import say
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder

logger = logging.getLogger("pipeline.cli")


def tune(
    run: RunName = None,
    train_files: Annotated[
        list[Path] | None,
        typer.Option("--train", help="The files the run was trained on; may be given several times.", metavar="FILE"),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(help="YAML or JSON: option to low, high and log, or to choices.", metavar="FILE"),
    ] = None,
    metric: Annotated[
        Literal["score", "entity_f1", "emotion_f1"], typer.Option(help="Out-of-fold figure that is to rise.")
    ] = "score",
    trials: Annotated[
        int, typer.Option(min=1, max=100_000, help="Trials in all; the first has the run's own options.", metavar="N")
    ] = 50,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Begin no trial after so many minutes.", metavar="M")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31 - 1, help="Of the search; the run's own by default.", metavar="N")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the search; models/RUN-tune by default.", metavar="FOLDER")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a search that was stopped.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that describe candidates.", metavar="N")
    ] = None,
) -> None:
    """Search for better options of the reranker and the emotion model, by their out-of-fold score.

    Candidates, features and folds are those of a finished run of mode two_stage; the number rule is tuned in every
    trial. The best options are written to best.yaml, for train --config. Needs Optuna: requirements-tune.txt.

    Example: python run.py tune --run first --train data/sample/train.jsonl --trials 20
    """
    if importlib.util.find_spec("optuna") is None:
        raise ConfigError("tune needs Optuna, which is not installed", hint="pip install -r requirements-tune.txt")

    from pipeline.workflow.tune import TuneRequest, format_result
    from pipeline.workflow.tune import tune as search

    files = train_files or [default_train()]
    if train_files is None:
        logger.info("training file: %s", files[0])
    source = chosen_run(run)
    logger.info("run: %s", source.path)
    folder = _folder(out or MODELS / f"{source.name}-tune", resume=resume)
    request = TuneRequest(files, metric, space, trials, minutes, seed, workers)
    try:
        result = search(request, source, folder)
    except KeyboardInterrupt:
        logger.warning("finished trials are kept in %s; go on with the same command and --resume", folder.path)
        raise
    say(f"{format_result(result)}\n\n{folder.path / 'best.yaml'}")


def _folder(path: Path, *, resume: bool) -> RunFolder:
    """Return the folder of a search, made if missing.

    Raises:
        ConfigError: it holds something and is not to be resumed, or something that is no search.
    """
    from pipeline.artifacts import RunFolder
    from pipeline.artifacts.files import write_errors

    with write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in path.iterdir()} - {".lock"}
    if names and not (names & {"search.json", "scores"}):
        raise ConfigError(f"{path}: holds something else than a search", hint="choose another --out FOLDER")
    if names and not resume:
        raise ConfigError(f"{path}: the search exists already", hint="add --resume, or choose another --out FOLDER")
    return RunFolder(path)

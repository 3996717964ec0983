"""The search itself: what is tried next, when a trial is given up, and what is kept after each."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from pipeline.artifacts import RunFolder, read_json, sha256_file
from pipeline.config import Config
from pipeline.errors import ConfigError
from pipeline.workflow.tune.data import METRICS, TFIDF, Metric, RunData, check_run, load_run_data
from pipeline.workflow.tune.objective import Objective
from pipeline.workflow.tune.results import Trial, TrialLog, TuneResult, summarise
from pipeline.workflow.tune.space import (
    BUILT_IN,
    EMOTION_OPTIONS,
    Choices,
    Range,
    Space,
    Value,
    make_space,
    option,
    read_space,
    to_plain,
    with_options,
)

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

logger = logging.getLogger(__name__)

N_FULL_BEFORE_PRUNING = 4
"""Trials over all folds before one may be given up; they are what the others are compared with."""
N_FOLDS_BEFORE_PRUNING = 2


@dataclass(frozen=True)
class TuneRequest:
    """What to search, and for how long."""

    train: Sequence[Path]
    """The files the run was trained on."""
    metric: Metric = "score"
    space: Path | None = None
    n_trials: int = 50
    """In all, with those that an earlier call finished; the run's own options are the first."""
    minutes: float | None = None
    """No trial begins after so many minutes of this call."""
    seed: int | None = None
    """The run's own by default."""
    workers: int | None = None
    """Processes that describe the candidates; trials run one after another, on one thread."""


def tune(request: TuneRequest, run: RunFolder, folder: RunFolder) -> TuneResult:
    """Try options on the articles of a run, and keep all that is learnt in ``folder`` after each trial.

    A search that was stopped goes on as if it had not been: what is tried next depends on the finished trials and
    the seed alone.

    Args:
        request: what to search.
        run: a finished run, whose candidates are used.
        folder: of the search.

    Raises:
        ConfigError: a space that the search cannot change, a run it cannot use, or a folder with another search.
        DataError: the run was trained on other files.
    """
    started = time.monotonic()
    config = check_run(run)
    seed = config.seed if request.seed is None else request.seed
    space = _space(request, config, run)
    with folder.claim():
        plain = to_plain(space)
        facts = {"run": sha256_file(run.manifest), "metric": request.metric, "seed": seed, "space": plain}
        log = TrialLog.open(folder.path, facts)
        missing = request.n_trials - len(log.trials)
        if missing > 0:
            data = load_run_data(run, request.train, workers=request.workers)
            objective = Objective(data, request.metric, with_emotions=_names_emotions(space))
            with tqdm(
                total=request.n_trials, initial=len(log.trials), desc="trials", unit="trial", disable=None
            ) as bar:
                for number in range(len(log.trials), request.n_trials):
                    if log.trials and request.minutes and time.monotonic() - started > 60 * request.minutes:
                        logger.info("stopped after %g minutes", request.minutes)
                        break
                    trial, scores = _run_trial(number, objective, config, space, log.trials, seed)
                    log.add(trial, scores)
                    if number == 0:
                        _compare_with_run(trial, data, request.metric)
                    result = summarise(log, config, request.metric, searches_emotions=_names_emotions(space))
                    bar.set_postfix(best=f"{result.best.value:.4f}")
                    bar.update()
        return summarise(log, config, request.metric, searches_emotions=_names_emotions(space))


def suggest(trials: Sequence[Trial], space: Space, *, seed: int) -> dict[str, Value]:
    """Return what to try next: a tree-structured Parzen estimator over the finished trials (Bergstra et al., 2011).

    The study is built anew each time, in memory: neither its state nor the sampler's is ever stored.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    number_seed = zlib.crc32(f"{seed}/tune/{len(trials)}".encode())
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=number_seed))
    distributions = {name: _distribution(part) for name, part in space.items()}
    states = optuna.trial.TrialState
    for trial in trials:
        study.add_trial(
            optuna.trial.create_trial(
                state=states.COMPLETE if trial.complete else states.PRUNED,
                value=trial.value if trial.complete else None,
                params=trial.options,
                distributions=distributions,
                intermediate_values=dict(enumerate(trial.folds)),
            )
        )
    return dict(study.ask(distributions).params)


def falls_behind(folds: Sequence[float], trials: Sequence[Trial]) -> bool:
    """Tell whether a trial is to be given up: it is below the median of the complete ones after as many folds.

    Unlike Optuna's MedianPruner it compares the figure after the last fold, not the best so far: that is the figure
    of the easiest folds.
    """
    full = [trial.folds[len(folds) - 1] for trial in trials if trial.complete]
    return len(full) >= N_FULL_BEFORE_PRUNING and len(folds) >= N_FOLDS_BEFORE_PRUNING and folds[-1] < median(full)


def _run_trial(
    number: int, objective: Objective, config: Config, space: Space, trials: Sequence[Trial], seed: int
) -> tuple[Trial, np.ndarray | None]:
    """Return a trial, with the articles' scores if it saw every fold. The first has the run's own options."""
    options = suggest(trials, space, seed=seed) if number else {name: option(config, name) for name in space}
    start = time.monotonic()
    values: list[float] = []
    scores = None
    for result in objective.folds(with_options(config, options)):
        values.append(result.value)
        if len(values) == config.n_folds:
            scores = result.scores
        elif falls_behind(values, trials):
            break
    trial = Trial(number, options, scores is not None, values, round(time.monotonic() - start, 3))
    logger.debug("trial %d: %s %s", number, values, options)
    return trial, scores


def _space(request: TuneRequest, config: Config, run: RunFolder) -> Space:
    chosen = read_json(run.metrics)["sentiment"]["chosen"]
    space = read_space(request.space, config) if request.space else make_space(BUILT_IN, config)
    if request.metric not in METRICS:
        raise ConfigError(f"metric {request.metric}: want one of {', '.join(METRICS)}")
    why = ""
    if request.metric == "entity_f1":
        why = "entity_f1 does not depend on them"
    elif chosen != TFIDF:
        why = f"{run.path} tells emotions by {chosen}, and only {TFIDF} can be searched"
    named = [name for name in space if name in EMOTION_OPTIONS]
    if not (why and named):
        return space
    if request.space:
        raise ConfigError(f"{request.space}: cannot search {', '.join(named)}: {why}")
    logger.info("not searched: %s (%s)", ", ".join(named), why)
    return {name: part for name, part in space.items() if name not in named}


def _names_emotions(space: Space) -> bool:
    return any(name in EMOTION_OPTIONS for name in space)


def _distribution(part: Range | Choices) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(part, Choices):
        return CategoricalDistribution(part.choices)
    if isinstance(part.low, int) and isinstance(part.high, int):
        return IntDistribution(part.low, part.high, log=part.log)
    return FloatDistribution(part.low, part.high, log=part.log)


def _compare_with_run(trial: Trial, data: RunData, metric: Metric) -> None:
    before = data.figures[metric]
    if abs(before - trial.value) < 1e-5:
        logger.info("the run's own options: %s %.4f, as in its training", metric, trial.value)
    else:
        logger.warning(
            "the run's own options: %s %.4f here, %.4f in its training (another version of the program?)",
            *(metric, trial.value, before),
        )

"""What a search leaves in its folder, and what it says of its best trial: the gain, and how much of it is luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, atomic_write_text, read_json, write_table
from pipeline.config import Config
from pipeline.errors import ArtifactError, ConfigError
from pipeline.metric import FIGURES, Difference, mean_gain
from pipeline.workflow.tune.data import TFIDF, Metric
from pipeline.workflow.tune.objective import metric_of_articles
from pipeline.workflow.tune.space import Value, with_options

SEARCH, TABLE, BEST, RESULT, SCORES = "search.json", "trials.csv", "best.yaml", "result.json", "scores"
"""Names in the folder: all trials; the same as a table; options of the best; its figures; scores of each article."""
N_SPLITS = 400
"""Halvings of the articles behind ``held_out_gain``."""


@dataclass(frozen=True)
class Trial:
    """Options that were tried, and their figure after each fold."""

    number: int
    options: dict[str, Value]
    complete: bool
    """Whether it saw every fold; the others were given up."""
    folds: list[float]
    """The metric over the articles of the folds so far."""
    seconds: float

    @property
    def value(self) -> float:
        """The metric over all articles it was tried on."""
        return self.folds[-1]


@dataclass
class TrialLog:
    """The finished trials of a search, on disk after each."""

    folder: Path
    facts: Mapping[str, Any]
    """What the trials depend on: run, metric, seed and space."""
    trials: list[Trial] = field(default_factory=list)
    scores: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """Entity F1 and emotion F1 of each article, (n_articles, 2), by the number of a complete trial."""

    @classmethod
    def open(cls, folder: Path, facts: Mapping[str, Any]) -> Self:
        """Take up the trials that the folder holds, if any.

        Raises:
            ConfigError: they belong to another search.
            ArtifactError: a file is damaged.
        """
        log = cls(folder, facts)
        path = folder / SEARCH
        if not path.is_file():
            return log
        content = read_json(path)
        try:
            differing = [name for name, value in facts.items() if content["facts"][name] != value]
            trials = [Trial(**trial) for trial in content["trials"]]
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"{path}: not a search ({error})") from error
        if differing:
            raise ConfigError(
                f"{folder}: holds a search with another {' and '.join(differing)}", hint="choose another --out"
            )
        for trial in trials:
            if trial.complete:
                log.scores[trial.number] = _read_scores(log._path(trial.number))
        log.trials = trials
        return log

    def add(self, trial: Trial, scores: NDArray[np.float64] | None) -> None:
        """Keep a trial; it counts once ``search.json`` holds it."""
        if scores is not None:
            self.scores[trial.number] = scores
            atomic_write_bytes(self._path(trial.number), save({SCORES: np.ascontiguousarray(scores)}))
        self.trials.append(trial)
        content = {"facts": dict(self.facts), "trials": [asdict(each) for each in self.trials]}
        atomic_write_json(self.folder / SEARCH, content)

    @property
    def best(self) -> Trial:
        """The complete trial with the highest figure, the first of equals."""
        return max((trial for trial in self.trials if trial.complete), key=lambda trial: trial.value)

    def _path(self, number: int) -> Path:
        return self.folder / SCORES / f"{number:04}.safetensors"


@dataclass(frozen=True)
class TuneResult:
    """The best trial beside the run's own options."""

    metric: Metric
    n_trials: int
    n_pruned: int
    base: Trial
    best: Trial
    figures: dict[str, Difference]
    """Of the best trial, by the names in ``FIGURES``, with their intervals (``delta`` is the figure itself)."""
    gains: dict[str, Difference]
    """Of the best trial over the run's own options, on the same articles."""
    held_out_gain: float
    """See ``held_out_gain``."""

    @property
    def changes(self) -> dict[str, tuple[Value, Value]]:
        """The options in which the best trial differs from the run: their values before and after."""
        pairs = {name: (self.base.options[name], value) for name, value in self.best.options.items()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def summarise(log: TrialLog, config: Config, metric: Metric, *, searches_emotions: bool) -> TuneResult:
    """Write table, best options and figures beside the trials, and return the figures.

    Args:
        log: with one complete trial at least.
        config: options of the run.
        metric: that the search is to raise.
        searches_emotions: whether the TF-IDF model alone told emotions.
    """
    base, best = log.trials[0], log.best
    stacked = np.stack([scores for _, scores in sorted(log.scores.items())])
    result = TuneResult(
        metric=metric,
        n_trials=len(log.trials),
        n_pruned=sum(not trial.complete for trial in log.trials),
        base=base,
        best=best,
        figures=mean_gain(log.scores[best.number]),
        gains=mean_gain(log.scores[best.number] - log.scores[base.number]),
        held_out_gain=held_out_gain(metric_of_articles(stacked, metric), seed=config.seed),
    )
    options = with_options(config, best.options)
    if searches_emotions:
        options = replace(options, sentiment=replace(options.sentiment, choose=TFIDF))
    header = [f"Best of {result.n_trials} trials: {metric} {best.value:.4f}; the run it began with: {base.value:.4f}."]
    header += [f"{name}: {after} (was {before})" for name, (before, after) in result.changes.items()]
    comment = "".join(f"# {line}\n" for line in header)
    write_table(log.folder / TABLE, _table(log))
    atomic_write_text(log.folder / BEST, comment + OmegaConf.to_yaml(OmegaConf.create(options.to_dict())))
    atomic_write_json(log.folder / RESULT, asdict(result))
    return result


def held_out_gain(values: NDArray[np.float64], *, n_splits: int = N_SPLITS, seed: int = 0) -> float:
    """Return the mean gain over the first trial on one half of the articles, of the trial that is best on the other.

    Unlike the gain of the best trial it has no luck of the choice in it; choosing by half the articles, it is rather
    too low.

    Args:
        values: the metric, float64 (n_trials, n_articles).
        n_splits: random halvings, both directions of each.
        seed: of the halvings.
    """
    rng = np.random.default_rng(seed)
    n_articles = values.shape[1]
    if n_articles < 2:
        return 0.0
    gains = []
    for _ in range(n_splits):
        order = rng.permutation(n_articles)
        halves = order[: n_articles // 2], order[n_articles // 2 :]
        means = [values[:, half].mean(axis=1) for half in halves]
        gains += [other[one.argmax()] - other[0] for one, other in (means, means[::-1])]
    return float(np.mean(gains))


def format_result(result: TuneResult) -> str:
    """Lay the best trial out as a short plain-text table, with a word on how sure the gain is."""
    lines = [
        f"{result.n_trials} trials, {result.n_pruned} of them given up before the last fold;"
        f" best: trial {result.best.number}",
        "",
        f"{'out-of-fold':<12}{'run':>8}{'best':>8}   95% interval      {'gain':>8}   95% interval of the gain",
    ]
    for name in FIGURES:
        figure, gain = result.figures[name], result.gains[name]
        lines.append(
            f"{name:<12}{figure.delta - gain.delta:>8.4f}{figure.delta:>8.4f}   {figure.low:.4f} - {figure.high:.4f}"
            f"   {gain.delta:>+8.4f}   {gain.low:+.4f} to {gain.high:+.4f}"
        )
    lines += ["", *(f"{name}: {before} -> {after}" for name, (before, after) in result.changes.items())]
    return "\n".join([*lines, *([""] if result.changes else []), caution(result)])


def caution(result: TuneResult) -> str:
    """Say how much of the gain over the run's own options may be noise."""
    gain = result.gains[result.metric]
    if not result.changes:
        return "No trial was better than the run's own options."
    sure = "lies above" if gain.low > 0 else "reaches below"
    kept = min(max(result.held_out_gain / gain.delta, 0.0), 1.0)
    return (
        f"Caution: the best of {result.n_trials} is partly luck. The interval of the gain {sure} zero, and does not "
        f"know of the choice. Chosen on one half of the articles and measured on the other, the gain in "
        f"{result.metric} is {result.held_out_gain:+.4f}, {kept:.0%} of {gain.delta:+.4f}; the rest may be noise."
    )


def _table(log: TrialLog) -> Any:
    import pandas as pd

    n_folds = max(len(trial.folds) for trial in log.trials)
    rows = []
    for trial in log.trials:
        state = "complete" if trial.complete else "given up"
        padded = [*trial.folds, *[None] * (n_folds - len(trial.folds))]
        folds = {f"after_fold_{number}": value for number, value in enumerate(padded, 1)}
        rows.append({"trial": trial.number, "state": state, **folds, "seconds": trial.seconds, **trial.options})
    return pd.DataFrame(rows)


def _read_scores(path: Path) -> NDArray[np.float64]:
    try:
        return load_file(path)[SCORES]
    except (OSError, KeyError, SafetensorError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error

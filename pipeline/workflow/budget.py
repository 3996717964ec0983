"""Sizes of a training that fit a time: what loses least is cut first. Pure, but for ``plan``."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.config import Config, TaggerConfig, flat_options
from pipeline.schema import Article
from pipeline.workflow.calibration import calibrate, sizes_of
from pipeline.workflow.estimates import Costs, DataSizes, StageEstimate, estimate
from pipeline.workflow.modes import StageSet

logger = logging.getLogger(__name__)

PLANNED_SHARE = 0.9
"""Of the time that is planned: an estimate errs, and reading, folds and figures take some of it."""
MINUTES = "budget.minutes"

FEWER_FOLDS, ENOUGH_FOR_THREE = 3, 2000
"""Folds, and the articles from which on so few of them are enough: each model still learns from two thirds."""
FROZEN_SHARE = 2 / 3
"""Of the encoder's layers, the lowest, that are frozen: four of six, as in preset paper."""
SHORT_LEARNT, SHORT_READ = 128, 256
"""Tokens read of an article in an epoch and characters in prediction, as in preset paper."""
FEW_TREES = 400
"""As in preset fast, where half as many at twice the rate, in one bag, are as good."""
MINING_ARTICLES = 4000
FEW_NEGATIVES = 10
LEAST_TAGGED, LEAST_RANKED = 1000, 2000
"""Articles that a tagger, and the trees of a fold, learn from at the least."""
GRAIN = 100
"""Numbers of articles are multiples of this."""

Values = dict[str, Any]


@dataclass(frozen=True)
class Decision:
    """One thing that is cut."""

    values: Mapping[str, Any]
    """Options by their full names."""
    reason: str
    before: Mapping[str, Any]

    def line(self) -> str:
        """Say it in one line."""
        changes = ", ".join(
            f"{name} {_said(self.before[name])} -> {_said(value)}" for name, value in self.values.items()
        )
        return f"{changes}: {self.reason}"


@dataclass(frozen=True)
class Plan:
    """Options of a training, and what it takes."""

    config: Config
    stages: tuple[StageEstimate, ...]
    minutes: float = 0.0
    """That it has; 0: no bound."""
    decisions: tuple[Decision, ...] = ()
    costs: Costs = field(default_factory=Costs)

    @property
    def seconds(self) -> float:
        """Estimated wall clock of all stages."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def fits(self) -> bool:
        """Whether it takes no longer than it may."""
        return not self.minutes or self.seconds <= self.minutes * 60

    def to_dict(self) -> dict[str, Any]:
        """Return what a run keeps of it."""
        changed = {name: value for decision in self.decisions for name, value in decision.values.items()}
        estimated = {stage.stage: round(stage.seconds / 60, 2) for stage in self.stages}
        return {"minutes": self.minutes, "changed": changed, "estimated_minutes": estimated}

    def lines(self) -> list[str]:
        """Say what was decided, and what each stage takes."""
        return [*self._decided(), *self._estimated()]

    def _decided(self) -> Iterator[str]:
        if not self.minutes:
            return
        yield from (f"budget of {self.minutes:g} min: {decision.line()}" for decision in self.decisions)
        if not self.fits:
            over = self.seconds / 60 - self.minutes
            yield (
                f"budget of {self.minutes:g} min: the smallest plan takes about {self.seconds / 60:.1f} min, "
                f"{over:.1f} more; it is taken all the same (fewer articles: --limit; a smaller preset: fast)"
            )
        elif not self.decisions:
            yield f"budget of {self.minutes:g} min: nothing has to be cut"

    def _estimated(self) -> Iterator[str]:
        if not self.stages:
            return
        costs, workers = self.costs, self.config.workers
        yield f"estimated with {workers} workers, from {costs.n_articles} articles tried in {costs.seconds:.0f} s:"
        for stage in self.stages:
            parts = ", ".join(f"{name} {_time(seconds)}" for name, seconds in stage.parts)
            told = f" ({parts})" if parts else ""
            yield f"  {stage.stage}: {_time(stage.seconds)}, {_memory(stage.memory_bytes)}{told}"
        most = max(stage.memory_bytes for stage in self.stages)
        yield f"  all: {_time(self.seconds)}, {_memory(most)} at the most in all processes"
        if unknown := self._unknown():
            yield f"  not estimated: {', '.join(unknown)}"

    def _unknown(self) -> list[str]:
        """Name the stages that are trained and have no estimate."""
        parts, known = StageSet.of(self.config), {stage.stage for stage in self.stages}
        trained = {
            "joint": parts.joint,
            "tagger": parts.tagger,
            "relevance": self.config.relevance.is_on,
            "rerank": parts.reranker,
            "cross": parts.cross,
            "sentiment": parts.sentiment,
        }
        return [name for name, is_trained in trained.items() if is_trained and name not in known]


@dataclass(frozen=True)
class _Step:
    """Something that may be cut."""

    reason: str
    choices: Callable[[Config, DataSizes, Costs], Sequence[Values]]
    """Values of options, from the most work to the least; none where there is nothing to cut."""


def plan_sizes(
    config: Config,
    sizes: DataSizes,
    costs: Costs,
    minutes: float,
    fixed: Collection[str] = (),
    *,
    cores: int | None = None,
) -> Plan:
    """Choose sizes by which a training fits a time.

    Steps are taken in the order of ``STEPS`` until it fits. Where even all of them are not enough, the plan does not
    fit, and is the smallest there is.

    Args:
        config: options as they are.
        sizes: of the data.
        costs: of this machine.
        minutes: of wall clock; 0: nothing is cut.
        fixed: full names of options that stay as they are.
        cores: of the machine; by default those that this process may use.
    """
    cores = cores or _cores()
    decisions: list[Decision] = []

    def seconds(changed: Config) -> float:
        return sum(stage.seconds for stage in estimate(changed, sizes, costs, cores=cores))

    for step in STEPS if minutes else ():
        now = seconds(config)
        if now <= minutes * 60:
            break
        found = step.choices(config, sizes, costs)
        choices = [with_options(config, values) for values in found]
        if not choices or any(name in fixed for name in found[0]) or seconds(choices[-1]) >= now:
            continue
        first, last = 0, len(choices) - 1  # the first that fits, or the last: less work never takes longer
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if seconds(choices[middle]) <= minutes * 60 else (middle + 1, last)
        before = flat_options(config.to_dict())
        decisions.append(Decision(found[first], step.reason, {name: before[name] for name in found[first]}))
        config = choices[first]
    stages = estimate(config, sizes, costs, cores=cores)
    return Plan(config, tuple(stages), minutes, tuple(decisions), costs)


def with_options(config: Config, values: Mapping[str, Any]) -> Config:
    """Return a configuration with some options changed, by full names of at most one section."""
    for name, value in values.items():
        section, _, option = name.rpartition(".")
        changed = replace(getattr(config, section), **{option: value}) if section else value
        config = replace(config, **{section or option: changed})
    return config


def plan(config: Config, articles: Sequence[Article], fixed: Collection[str] = ()) -> Plan:
    """Calibrate on the articles, and choose sizes that fit ``budget.minutes`` where that is given.

    The plan's configuration has its sizes, and no time to keep to: nothing plans again what a run was begun with.
    """
    minutes, variants = config.budget.minutes, []
    if minutes and (frozen := _frozen(config)):
        variants.append(frozen)
    costs = calibrate(config, articles, variants=variants)
    left = max(minutes * PLANNED_SHARE - costs.seconds / 60, 1e-6) if minutes else 0.0
    found = plan_sizes(config, sizes_of(articles), costs, left, fixed)
    return replace(found, config=with_options(found.config, {MINUTES: 0.0}), minutes=minutes)


def within_budget(
    config: Config, articles: Sequence[Article], fixed: Collection[str], planned: Mapping[str, Any]
) -> tuple[Config, Mapping[str, Any]]:
    """Return the options that fit ``budget.minutes``, and what a run notes of the plan; log both in plain words.

    Without a time to keep to all stays as it is.

    Args:
        config: options of a training.
        articles: it learns from.
        fixed: full names of options that stay as they are.
        planned: note of an earlier plan, in a run that is gone on with.
    """
    minutes = config.budget.minutes
    if not minutes:
        return config, planned
    if minutes == planned.get("minutes"):
        return with_options(config, {MINUTES: 0.0}), planned
    found = plan(config, articles, fixed)
    for line in found.lines():
        logger.info("%s", line)
    return found.config, found.to_dict()


def _frozen(config: Config) -> TaggerConfig | None:
    """Return the tagger with its lower layers frozen and run once a window; None where that is nothing new."""
    tagger, parts = config.tagger, StageSet.of(config)
    if tagger.name != "bert" or not (parts.tagger or parts.joint):
        return None
    from pipeline.nn.encoders import encoder_folder, restore_encoder  # torch is costly to import

    n_layers = int(restore_encoder(encoder_folder(tagger.encoder)).config.num_hidden_layers)
    n_frozen = max(tagger.freeze_layers, int(n_layers * FROZEN_SHARE))
    if not n_frozen or (n_frozen, False) == (tagger.freeze_layers, tagger.frozen_dropout):
        return None
    return replace(tagger, freeze_layers=n_frozen, frozen_dropout=False)


def _fewer_folds(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
    enough = sizes.n_articles >= ENOUGH_FOR_THREE and config.n_folds > FEWER_FOLDS
    return [{"n_folds": FEWER_FOLDS}] if enough else []


def _half_the_trees(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
    rerank = config.rerank
    if rerank.n_estimators < 2 * FEW_TREES or not StageSet.of(config).reranker:
        return []
    rate = min(1.0, rerank.learning_rate * rerank.n_estimators / FEW_TREES)
    return [{"rerank.n_bags": 1, "rerank.n_estimators": FEW_TREES, "rerank.learning_rate": rate}]


def _frozen_layers(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
    now = (config.tagger.freeze_layers, config.tagger.frozen_dropout)
    others = [key for key in costs.tagger.learning if key != now] if costs.tagger else []
    return [{"tagger.freeze_layers": layers, "tagger.frozen_dropout": dropout} for layers, dropout in others]


def _shorter(option: str, most: int) -> Callable[[Config, DataSizes, Costs], Sequence[Values]]:
    def choices(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
        now = getattr(config.tagger, option)
        return [{f"tagger.{option}": most}] if costs.tagger and (not now or now > most) else []

    return choices


def _articles(name: str, least: int) -> Callable[[Config, DataSizes, Costs], Sequence[Values]]:
    section, _, option = name.partition(".")

    def choices(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
        most = getattr(getattr(config, section), option) or sizes.n_articles
        return [{name: n} for n in range((most - 1) // GRAIN * GRAIN, least - 1, -GRAIN)]

    return choices


def _mining(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
    most = config.rerank.mining_articles or sizes.n_articles
    wanted = config.rerank.n_hard_negatives and most > MINING_ARTICLES
    return [{"rerank.mining_articles": MINING_ARTICLES}] if wanted else []


def _fewer_negatives(config: Config, sizes: DataSizes, costs: Costs) -> Sequence[Values]:
    rerank = config.rerank
    if 0 < rerank.n_hard_negatives <= FEW_NEGATIVES:
        return []
    return [{"rerank.n_hard_negatives": FEW_NEGATIVES, "rerank.other_negatives": rerank.other_negatives / 2}]


STEPS: tuple[_Step, ...] = (
    _Step("with so many articles three folds are enough", _fewer_folds),
    _Step("fewer trees at a higher rate, in one bag, were as good", _half_the_trees),
    _Step("frozen layers run once a window", _frozen_layers),
    _Step("less of each article in an epoch", _shorter("train_tokens", SHORT_LEARNT)),
    _Step("the beginning of an article in prediction", _shorter("predict_chars", SHORT_READ)),
    _Step("what is hard can be told from fewer articles", _mining),
    _Step("a tagger learns from fewer articles", _articles("tagger.train_articles", LEAST_TAGGED)),
    _Step("the trees see fewer wrong candidates", _fewer_negatives),
    _Step("the trees see fewer articles", _articles("rerank.train_articles", LEAST_RANKED)),
)
"""In this order: what loses least comes first."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value).lower()


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _memory(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB"

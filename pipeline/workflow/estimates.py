"""How long each stage of a training takes and how much memory: from costs of one unit, by laws of growth. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from pipeline.config import Config, TaggerConfig
from pipeline.entities.rerank.trees import MINING_TREES
from pipeline.registry import HEADS
from pipeline.runtime.processes import side_by_side
from pipeline.workflow.candidate_stage import MAX_PRUNER_ARTICLES
from pipeline.workflow.modes import StageSet

# Memory, measured as resident bytes on a machine without GPU; to be corrected where a measurement says otherwise.
MAIN_BYTES = 0.35e9
"""The program itself with its imports."""
TEXT_FACTOR = 10
"""Articles in memory, with what is kept beside them, over their bytes as UTF-8."""
WORKER_BYTES = 0.45e9
"""A process that finds and describes candidates, the competition's dictionary of 309,717 names included."""
TREES_BYTES = 0.25e9
"""A process that fits trees, without its rows; of these LightGBM keeps a byte for each feature."""
NETWORK_BYTES = 1.2e9
"""A process that trains or runs the packaged encoder, torch included."""
LINEAR_BYTES = 0.25e9
"""A process that fits a linear member, without the features of its examples."""
NONZERO_BYTES, COUNT_BYTES = 8 + 4, 4 + 4
"""A value of a sparse matrix: float64 and the int32 of its column; a count on disk, which all processes share."""
ROW_BYTES = 4
"""A feature of a row that trees learn from, while LightGBM takes it over."""
NONZEROS_PER_CHARACTER = 2.2
"""N-grams of a text that are features, over its characters."""

# Seconds before a process does any work, in which others wait: imports, measured on two busy cores.
START_NETWORK_S = 6.0
START_S = 2.0


@dataclass(frozen=True, eq=False)
class DataSizes:
    """What is trained on."""

    lengths: tuple[int, ...]
    """Characters of each article, title and content."""
    n_bytes: int
    """Of all of them, as UTF-8."""
    n_targets: int
    """Entities with an emotion."""

    @property
    def n_articles(self) -> int:
        """How many articles there are."""
        return len(self.lengths)

    @cached_property
    def characters(self) -> np.ndarray:
        """int64 (n_articles,): the lengths."""
        return np.array(self.lengths, dtype=np.int64)

    def learnt(self, tagger: TaggerConfig) -> float:
        """Return the mean number of characters that a tagger reads of an article in an epoch of training."""
        return _learnt(self, tagger.train_window_tokens, tagger.train_tokens, tagger.title_tokens)[0]

    def learnable(self, tagger: TaggerConfig) -> float:
        """Return the mean number of characters in all windows of an article that an epoch may draw."""
        return _learnt(self, tagger.train_window_tokens, tagger.train_tokens, tagger.title_tokens)[1]

    def tagged(self, tagger: TaggerConfig) -> float:
        """Return the mean number of characters that a tagger reads of an article in prediction."""
        return _tagged(self, tagger.predict_chars)


@lru_cache(maxsize=64)
def _learnt(sizes: DataSizes, window: int, budget: int, title: int) -> tuple[float, float]:
    """Count as ``draw_windows`` does, a character for a token; windows after the first hold the title as well."""
    lengths = np.maximum(sizes.characters, 1)
    n_windows = -(-lengths // window)
    width = -(-lengths // n_windows)
    drawn = np.minimum(n_windows, np.maximum(1, budget // width)) if budget else n_windows
    learnable = np.where(drawn > 1, lengths + (n_windows - 1) * title, width)  # one alone is always the first
    return float((drawn * width + (drawn - 1) * title).mean()), float(learnable.mean())


@lru_cache(maxsize=64)
def _tagged(sizes: DataSizes, most: int) -> float:
    return float(np.minimum(sizes.characters, most or sizes.characters).mean())


@dataclass(frozen=True)
class LearningCost:
    """CPU seconds of a tagger's training for each character that it reads."""

    step: float
    once: float = 0.0
    """More, the first time that a window is read: frozen layers run, and what they say is kept."""


@dataclass(frozen=True)
class TaggerCosts:
    """CPU seconds of a tagger."""

    training: float
    """Of each training, however small."""
    learning: Mapping[tuple[int, bool], LearningCost]
    """By ``freeze_layers`` and ``frozen_dropout``."""
    predict: float
    """For each character."""
    save: float
    """Of the model that predicts, its conversion included."""


@dataclass(frozen=True)
class RerankCosts:
    """CPU seconds from articles to ranked candidates, and how many of these there are."""

    fit: float
    """Reading the dictionary and whatever else is done once, by one process."""
    fit_article: float
    """For each article that the pruners are fitted on."""
    load: float
    """Of a process that describes candidates."""
    article: float
    """Candidates and features of an article."""
    n_candidates: float
    """Of an article, after pruning."""
    n_gold: float
    """Gold ones among them."""
    n_features: int
    bin_row: float
    """For each row that trees are fitted on, however many trees."""
    tree: float
    """For each tree, whatever the rows."""
    tree_row: float
    """For each tree and row."""
    mine: float
    """Scoring by the first, small model, for each tree and row."""
    score: float
    """Scoring by the trees, for each tree and row."""
    rule: float
    """Calibration and number rule, for each article."""


@dataclass(frozen=True)
class MemberCosts:
    """CPU seconds of a member of stage two."""

    training: float
    """Of each training, however small."""
    example: float
    """For each example and epoch."""
    predict: float
    """For each example."""
    once: float = 0.0
    """For each example, once in all of the run: n-grams counted, what a frozen encoder says."""
    n_epochs: int = 1
    is_network: bool = False
    keeps_folds: bool = False
    """Whether the models of the folds predict, so that none is fitted on all examples."""


@dataclass(frozen=True)
class Costs:
    """What a calibration has found on this machine."""

    tagger: TaggerCosts | None = None
    rerank: RerankCosts | None = None
    members: Mapping[str, MemberCosts] = field(default_factory=dict)
    seconds: float = 0.0
    """Of wall clock that the calibration took."""
    n_articles: int = 0
    """That it looked at."""


@dataclass(frozen=True)
class StageEstimate:
    """What a stage takes."""

    stage: str
    seconds: float
    """Of wall clock."""
    cpu_seconds: float
    memory_bytes: float
    """Of all processes together, at the most."""
    parts: tuple[tuple[str, float], ...] = ()
    """Seconds of wall clock of what it is made of, where that is several things."""


def estimate(config: Config, sizes: DataSizes, costs: Costs, *, cores: int) -> list[StageEstimate]:
    """Estimate each stage; those that no cost is known of are left out.

    Args:
        config: options of the training.
        sizes: what it is trained on.
        costs: of this machine.
        cores: of this machine: more processes than these do not make it faster.
    """
    parts, found = StageSet.of(config), []
    if costs.tagger:
        found += [
            _tagger_stage(name, config, sizes, costs.tagger, cores)
            for name, is_trained in (("joint", parts.joint), ("tagger", parts.tagger))
            if is_trained
        ]
    if costs.rerank and parts.reranker:
        found.append(_rerank_stage(config, sizes, costs.rerank, cores))
    if parts.sentiment and costs.members:
        found.append(_sentiment_stage(config, sizes, costs.members, cores))
    return found


@dataclass(frozen=True)
class _Folds:
    """Trainings of one size in each fold, and (0: there is none) one on everything."""

    fold: float
    final: float
    n_folds: int

    @property
    def cpu(self) -> float:
        return self.fold * self.n_folds + self.final

    def wall(self, processes: int) -> float:
        """Return the time until the last is done: they are begun one after another, the one on everything last."""
        rounds, rest = divmod(self.n_folds, processes)
        return max(self.fold * (rounds + (rest > 0)), self.fold * rounds + self.final)


def _at_a_time(config: Config, cores: int, n_jobs: int, *, networks: bool) -> int:
    workers = side_by_side(config.workers) if networks else config.workers
    return max(1, min(workers, cores, n_jobs))


def _base_bytes(sizes: DataSizes) -> float:
    return MAIN_BYTES + TEXT_FACTOR * sizes.n_bytes


def _of(size: float, most: int) -> float:
    return min(size, most) if most else size


def _tagger_stage(name: str, config: Config, sizes: DataSizes, costs: TaggerCosts, cores: int) -> StageEstimate:
    tagger, n, k = config.tagger, sizes.n_articles, config.n_folds
    processes = _at_a_time(config, cores, k + 1, networks=True)
    cost = costs.learning[tagger.freeze_layers, tagger.frozen_dropout]
    epochs, read = tagger.training.max_epochs, sizes.learnt(tagger)
    of_dev = epochs * tagger.dev_fraction * sizes.tagged(tagger) * costs.predict
    of_article = epochs * read * cost.step * (1 - tagger.dev_fraction) + of_dev
    each, every = _of(n - n / k, tagger.train_articles), _of(n, tagger.train_articles)
    work = _Folds(
        fold=costs.training + each * of_article + n / k * sizes.tagged(tagger) * costs.predict,
        final=costs.training + every * of_article + costs.save,
        n_folds=k,
    )
    # The folds draw the same articles as far as they may: this many are read by one of them.
    n_read = _of(n, round(tagger.train_articles * k / (k - 1)))
    once = cost.once * n_read * min(sizes.learnable(tagger), epochs * (k + 1) * read)
    return StageEstimate(
        stage=name,
        seconds=START_NETWORK_S + work.wall(processes) + once / processes,
        cpu_seconds=START_NETWORK_S * processes + work.cpu + once,
        memory_bytes=_base_bytes(sizes) + processes * NETWORK_BYTES,
    )


def _rerank_stage(config: Config, sizes: DataSizes, costs: RerankCosts, cores: int) -> StageEstimate:
    n, k, rerank = sizes.n_articles, config.n_folds, config.rerank
    describing = _at_a_time(config, cores, n, networks=False)
    pruning = costs.fit_article * min(n, MAX_PRUNER_ARTICLES)
    candidates_cpu = costs.fit + pruning + costs.load * describing + costs.article * n
    candidates = START_S + costs.fit + costs.load + (pruning + costs.article * n) / describing

    each, every = _of(n - n / k, rerank.train_articles), _of(n, rerank.train_articles)
    held_out = n / k * costs.n_candidates * rerank.n_bags * rerank.n_estimators * costs.score
    work = _Folds(fold=_fit_trees(config, costs, each) + held_out, final=_fit_trees(config, costs, every), n_folds=k)
    fitting = _at_a_time(config, cores, k + 1, networks=False)
    trees = START_S + work.wall(fitting) + costs.rule * n
    mined = costs.n_candidates * _of(every, rerank.mining_articles)
    learnt = every * _kept(config, costs)
    rows = max(mined, learnt) if rerank.n_hard_negatives else learnt
    return StageEstimate(
        stage="rerank",
        seconds=candidates + trees,
        cpu_seconds=candidates_cpu + START_S * (describing + fitting) + work.cpu + costs.rule * n,
        memory_bytes=_base_bytes(sizes)
        + WORKER_BYTES  # the program reads the dictionary as well, and keeps what it has taken
        + max(describing * WORKER_BYTES, fitting * (TREES_BYTES + (rows + ROW_BYTES * learnt) * costs.n_features)),
        parts=(("candidates and features", candidates), ("trees", trees)),
    )


def _fit_trees(config: Config, costs: RerankCosts, n_articles: float) -> float:
    """Return the CPU seconds of one fitting: the first, small model on all rows, then the trees on those it leaves."""
    rerank = config.rerank

    def fitting(rows: float, n_trees: int) -> float:
        return costs.bin_row * rows + n_trees * (costs.tree + costs.tree_row * rows)

    n_trees, rows = rerank.n_bags * rerank.n_estimators, n_articles * costs.n_candidates
    if not rerank.n_hard_negatives:
        return fitting(rows, n_trees)
    mining = fitting(_of(n_articles, rerank.mining_articles) * costs.n_candidates, MINING_TREES)
    return mining + rows * MINING_TREES * costs.mine + fitting(n_articles * _kept(config, costs), n_trees)


def _kept(config: Config, costs: RerankCosts) -> float:
    """Return how many rows of an article the trees learn from."""
    rerank, wrong = config.rerank, costs.n_candidates - costs.n_gold
    if not rerank.n_hard_negatives:
        return costs.n_candidates
    hard = min(rerank.n_hard_negatives, wrong)
    return costs.n_gold + hard + rerank.other_negatives * (wrong - hard)


def _sentiment_stage(config: Config, sizes: DataSizes, members: Mapping[str, MemberCosts], cores: int) -> StageEstimate:
    e, k = sizes.n_targets, config.n_folds
    cpu, parts, memory = 0.0, [], 0.0
    # The text of an article is there once for all its entities, beside the context of each.
    context = min(config.sentiment.max_context_chars, float(sizes.characters.mean()))
    nonzeros = NONZEROS_PER_CHARACTER * (float(sizes.characters.sum()) + e * context)
    for name in config.sentiment.members:
        if (cost := members.get(name)) is None:
            continue
        processes = _at_a_time(config, cores, k + 1, networks=name in HEADS)
        of_example = cost.example * cost.n_epochs
        work = _Folds(
            fold=cost.training + e * (k - 1) / k * of_example + e / k * cost.predict,
            final=0.0 if cost.keeps_folds else cost.training + e * of_example,
            n_folds=k,
        )
        start = START_NETWORK_S if cost.is_network else START_S
        once = cost.once * e
        parts.append((name, start + work.wall(processes) + once / processes))
        cpu += start * processes + work.cpu + once
        linear = processes * (LINEAR_BYTES + nonzeros * NONZERO_BYTES) + nonzeros * COUNT_BYTES
        memory = max(memory, processes * NETWORK_BYTES if cost.is_network else linear)
    return StageEstimate(
        stage="sentiment",
        seconds=sum(seconds for _, seconds in parts),
        cpu_seconds=cpu,
        memory_bytes=_base_bytes(sizes) + memory,
        parts=tuple(parts) if len(parts) > 1 else (),
    )

"""A short trial of a training on a few of its articles: what a unit of each stage's work costs on this machine.

All of it runs through the code of the training itself and, unless there are few articles, in processes of its own,
several at a time as in the training.
"""

from __future__ import annotations

import logging
import random
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config import Config, TaggerConfig, TrainingConfig
from pipeline.emotions.sentiment import gold_targets
from pipeline.emotions.sentiment.contexts import gold_emotions
from pipeline.emotions.sentiment.counted import CountedExamples, Tokens, count_examples
from pipeline.emotions.sentiment.members import LINEAR, Member, build_linear, build_member
from pipeline.emotions.sentiment.tfidf import field_jobs
from pipeline.emotions.sentiment.training import split_dev
from pipeline.entities.features import Extractor, FeatureTable
from pipeline.entities.rerank.choose import tune_rule
from pipeline.entities.rerank.trees import BoostedTrees
from pipeline.entities.tagging import gold_text
from pipeline.errors import DataError, PipelineError
from pipeline.nn import openvino_engine
from pipeline.registry import HEADS
from pipeline.runtime.parallel import map_chunks
from pipeline.runtime.processes import side_by_side
from pipeline.schema import Article, Target
from pipeline.text import Document, default_segmenter
from pipeline.text.spans import LabelledText, ScoredSpan
from pipeline.workflow.candidate_stage import ALONE, build_table, fit_extractor
from pipeline.workflow.estimates import Costs, DataSizes, LearningCost, MemberCosts, RerankCosts, TaggerCosts
from pipeline.workflow.modes import StageSet

logger = logging.getLogger(__name__)

TAGGER_ARTICLES, FEW_TEXTS = 24, 4
"""Articles that a tagger is tried on, and those that tell what a training costs before it has read anything."""
TABLE_ARTICLES = 96
"""Articles whose candidates are described."""
MEMBER_ARTICLES, FEW_TARGETS = 240, 32
"""Articles whose entities linear members are tried on; of few examples they keep n-grams that many would not."""
HEAD_TARGETS = 64
TREE_ROWS = 500_000
"""Rows that trees are tried on: the same ones again and again. Of fewer, all stay in the processor's cache."""
FEW_TREES, TREES = 5, 20
LEAST = 1e-12
"""Seconds: a difference of two times may come out below nothing."""

TAGGER, RERANK, MEMBERS = "tagger", "rerank", "members"


def sizes_of(articles: Sequence[Article]) -> DataSizes:
    """Count what a training learns from."""
    return DataSizes(
        lengths=tuple(len(article.title) + len(article.content) for article in articles),
        n_bytes=sum(len(f"{article.title}{article.content}".encode("utf-8", "surrogatepass")) for article in articles),
        n_targets=sum(len(article.entities or ()) for article in articles),
    )


def calibrate(config: Config, articles: Sequence[Article], *, variants: Sequence[TaggerConfig] = ()) -> Costs:
    """Try each stage on a few articles, drawn by the seed.

    Args:
        config: options of the training.
        articles: it would learn from.
        variants: other options of the tagger that are tried as well.
    """
    started = time.perf_counter()
    sample = random.Random(config.seed).sample(list(articles), min(MEMBER_ARTICLES, len(articles)))
    parts = StageSet.of(config)
    tried = [TAGGER] if parts.tagger or parts.joint else []
    tried += [RERANK] if parts.reranker else []
    if parts.sentiment:
        tried += [name for name in config.sentiment.members if name in HEADS]
        tried += [MEMBERS] if any(name in LINEAR for name in config.sentiment.members) else []
    logger.info("calibration: %s, on up to %d articles", ", ".join(tried) or "nothing", len(sample))
    mean_length = float(np.mean(sizes_of(articles).lengths)) if articles else 0.0
    trial = _Trial(config, tuple(sample), len(articles), mean_length, tuple(variants))
    workers = side_by_side(config.workers) if len(articles) >= ALONE else 1
    costs = map_chunks(_run, tried, load=partial(_same, trial), workers=workers, chunk_size=1)
    found = dict(zip(tried, costs, strict=True))
    tagger, rerank, linear = (found.pop(part, None) for part in (TAGGER, RERANK, MEMBERS))
    members = {name: cost for name, cost in found.items() if cost is not None} | (linear or {})
    return Costs(tagger, rerank, members, time.perf_counter() - started, len(sample))


def _same(trial: _Trial) -> _Trial:
    return trial


def _run(trial: _Trial, parts: list[str]) -> list[Any]:
    found = []
    for part in parts:
        try:
            found.append(trial.costs_of(part))
        except (PipelineError, ValueError) as error:  # a few articles may lack what all of them have
            logger.warning("calibration: %s is not estimated: %s", part, " ".join(str(error).split()))
            found.append(None)
    return found


def _seconds(work: Callable[[], object], *, on_gpu: bool = False) -> float:
    """Return the CPU seconds of this process that some work takes, whatever else runs; on a GPU, those of the clock."""
    clock = time.perf_counter if on_gpu else time.process_time
    started = clock()
    work()
    return clock() - started


def _per(many: float, few: float, units: float) -> float:
    """Return the cost of a unit from the times of more and of less work, ``units`` apart."""
    return max(many - few, LEAST) / max(units, 1.0)


@dataclass(frozen=True)
class _Trial:
    """What each process gets."""

    config: Config
    articles: tuple[Article, ...]
    n_articles: int
    """Of the training."""
    mean_length: float
    """Characters of an article of the training, in the mean."""
    variants: tuple[TaggerConfig, ...]

    def costs_of(self, part: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            if part == TAGGER:
                return self._tagger(Path(folder))
            if part == RERANK:
                return self._rerank(Path(folder))
            if part == MEMBERS:
                return self._linear(Path(folder))
            return self._head(part, Path(folder))

    def _tagger(self, folder: Path) -> TaggerCosts:
        from pipeline.entities.taggers.model import TaggerModel  # torch is costly to import

        gpu, options = _on_gpu(), self.config.tagger
        texts = [gold_text(Document.of(article)) for article in self.articles[:TAGGER_ARTICLES]]
        texts = [text for text in texts if text.spans] or texts
        few = texts[:FEW_TEXTS]
        converts = openvino_engine.may_convert(self.config.engine.encoder)

        def model(tagger: TaggerConfig) -> TaggerModel:
            once = replace(tagger, training=replace(tagger.training, max_epochs=1))
            return TaggerModel(once, seed=self.config.seed, converts=converts)

        fitted: list[TaggerModel] = []

        def fit(tagger: TaggerConfig, on: Sequence[LabelledText], states: Path | None = None) -> float:
            return _seconds(lambda: fitted.append(model(tagger).fit(on, states=states)), on_gpu=gpu)

        fit(options, few)  # imports, and what torch prepares when it runs first
        least = fit(options, few)
        learning: dict[tuple[int, bool], LearningCost] = {}
        for number, tagger in enumerate((options, *self.variants)):
            sizes, of_few = _lengths(texts), _lengths(few)
            read = len(texts) * sizes.learnt(tagger) - len(few) * of_few.learnt(tagger)
            if tagger.frozen_dropout:
                cost = LearningCost(_per(fit(tagger, texts), least, read))
            else:
                states = folder / str(number)
                first, again = fit(tagger, texts, states), fit(tagger, texts, states)
                cost = LearningCost(_per(again, least, read), _per(first, again, len(texts) * sizes.learnt(tagger)))
            learning[tagger.freeze_layers, tagger.frozen_dropout] = cost
        reader = fitted[-1]
        reader.predict(few)
        predicting = _seconds(lambda: reader.predict(texts), on_gpu=gpu)
        return TaggerCosts(
            training=least,
            learning=learning,
            predict=_per(predicting, 0.0, len(texts) * _lengths(texts).tagged(options)),
            save=_seconds(lambda: reader.save(folder / "model")),
        )

    def _rerank(self, folder: Path) -> RerankCosts:
        articles = self.articles[:TABLE_ARTICLES]
        folds = {article.news_id: index % self.config.n_folds for index, article in enumerate(articles)}
        has_tagger = self.config.tagger.name != "none"
        spans = {article.news_id: _as_found(article) for article in articles} if has_tagger else None
        config = replace(self.config, workers=1)
        tables: list[FeatureTable] = []

        def describe(on: Sequence[Article]) -> None:
            tables.append(build_table(on, folds, config, folder, store=folder / f"rows{len(tables)}", spans=spans)[0])

        default_segmenter().cut(articles[0].content)  # loads its words
        preparing = _seconds(lambda: fit_extractor(articles, folds, config, folder, spans=spans))
        load = _seconds(lambda: Extractor.load(folder))
        describing = _seconds(lambda: describe(articles))
        # By characters: a few articles may be longer or shorter than most.
        read = sum(sizes_of(articles).lengths)
        article = _per(describing, load, read) * self.mean_length
        table = tables[-1]
        n_rows = sum(map(len, table.labels))
        return RerankCosts(
            fit=max(preparing - describing, LEAST),
            fit_article=article,  # candidates, what pruning looks at, and names counted: measured within a tenth
            load=load,
            article=article,
            n_candidates=n_rows / len(articles),
            n_gold=float(sum(label.sum() for label in table.labels)) / len(articles),
            n_features=len(table.names),
            rule=_seconds(lambda: _tune(table, self.config.rerank.max_entities)) / len(articles),
            **self._trees(table, n_rows),
        )

    def _trees(self, table: FeatureTable, n_rows: int) -> dict[str, float]:
        """Return what trees cost; they are fitted to the rows as they are, and to as many as fill the memory."""
        plain = replace(self.config.rerank, n_bags=1, n_hard_negatives=0)
        fitted: list[BoostedTrees] = []

        def fit(times: int, n_trees: int) -> float:
            options = replace(plain, n_estimators=n_trees)

            def work() -> None:
                trees = BoostedTrees(options, seed=self.config.seed)
                fitted.append(trees.fit(table.matrices * times, table.labels * times, table.names))

            return _seconds(work)

        wanted = min(self.n_articles * n_rows / max(len(table.matrices), 1), TREE_ROWS)
        times = max(1, round(wanted / max(n_rows, 1)))
        fit(1, FEW_TREES)  # imports
        small = _per(fit(1, FEW_TREES + TREES), fit(1, FEW_TREES), TREES)
        begun = fit(times, FEW_TREES)
        large = _per(fit(times, FEW_TREES + TREES), begun, TREES)
        trees, rows = fitted[-1], times * n_rows
        tree_row = _per(large, small, rows - n_rows) if times > 1 else small / max(n_rows, 1)
        stacked = np.vstack(table.matrices)
        predict = partial(trees.boosters_[0].predict, stacked, raw_score=True, num_threads=1)
        of_row = max(n_rows, 1) * (FEW_TREES + TREES)
        return {
            "bin_row": _per(begun, FEW_TREES * large, rows),
            "tree": max(small - tree_row * n_rows, LEAST) if times > 1 else LEAST,
            "tree_row": tree_row,
            "mine": _seconds(lambda: predict()) / of_row,
            "score": _seconds(lambda: [trees.score(matrix) for matrix in table.matrices]) / of_row,
        }

    def _targets(self) -> list[Target]:
        documents = (Document.of(article) for article in self.articles)
        return gold_targets(documents, max_chars=self.config.sentiment.max_context_chars)

    def _linear(self, folder: Path) -> dict[str, MemberCosts]:
        if not (examples := self._targets()):
            raise DataError("the articles that were drawn have no entity")
        names = [name for name in self.config.sentiment.members if name in LINEAR]
        counting = self._counting(examples, {build_linear(name).tokens for name in names}, folder)
        rows, labels = np.arange(len(examples)), gold_emotions(examples)
        found: dict[str, MemberCosts] = {}
        for name in names:
            member = build_linear(name, class_weight_power=self.config.sentiment.class_weight_power)
            counted = CountedExamples(folder / member.tokens)
            member.fit_counted(counted, rows[:FEW_TARGETS], labels[:FEW_TARGETS])  # imports
            fit = _seconds(partial(member.fit_counted, counted, rows, labels))
            predict = _seconds(partial(member.predict_counted, counted, rows))
            # The first member of a kind of tokens has them counted, for all of that kind.
            once = counting.pop(member.tokens, 0.0)
            found[name] = MemberCosts(
                training=0.0, example=fit / len(rows), predict=predict / len(rows), once=once / len(rows)
            )
        return found

    def _counting(self, examples: Sequence[Target], kinds: Collection[Tokens], folder: Path) -> dict[Tokens, float]:
        """Count the n-grams of the examples; return the seconds of each kind of tokens."""
        count_examples(field_jobs(examples[:FEW_TARGETS], sorted(kinds)), folder / "few")  # imports
        return {
            kind: _seconds(partial(count_examples, field_jobs(examples, [kind]), folder / kind))
            for kind in sorted(kinds)
        }

    def _member(self, name: str, *, shared: Path | None = None) -> Member:
        head, training = self.config.head, replace(self.config.training, max_epochs=1)
        encoder = replace(head.encoder, training=replace(head.encoder.training, max_epochs=1))
        config = replace(self.config, training=training, head=replace(head, encoder=encoder))
        return build_member(name, config, seed=self.config.seed, shared=shared)

    def _head(self, name: str, folder: Path) -> MemberCosts:
        gpu, examples = _on_gpu(), self._targets()[:HEAD_TARGETS]
        few = examples[: len(examples) // 8]
        stops_early = self._member(name).stops_early

        def fit(on: list[Target]) -> Member:
            rest, dev = (
                split_dev(on, fraction=self.config.sentiment.dev_fraction, seed=self.config.seed)
                if stops_early
                else (on, [])
            )
            member = self._member(name, shared=folder if stops_early else None)
            return member.fit(rest, gold_emotions(rest), dev, gold_emotions(dev))

        fit(few or examples)  # imports, and the encoder that is kept once
        least = _seconds(lambda: fit(few or examples), on_gpu=gpu)
        first = _seconds(lambda: fit(examples), on_gpu=gpu)
        again = _seconds(lambda: fit(examples), on_gpu=gpu) if stops_early else first
        member = fit(examples)
        training: TrainingConfig = self.config.training if stops_early else self.config.head.encoder.training
        return MemberCosts(
            training=least,
            example=_per(again, least, len(examples) - len(few)),
            predict=_seconds(lambda: member.predict_proba(examples), on_gpu=gpu) / max(len(examples), 1),
            once=max(first - again, 0.0) / max(len(examples) - len(few), 1),
            n_epochs=training.max_epochs,
            is_network=True,
            keeps_folds=stops_early,
        )


def _lengths(texts: Sequence[LabelledText]) -> DataSizes:
    return DataSizes(tuple(len(text.text) for text in texts), 0, 0)


def _as_found(article: Article) -> list[ScoredSpan]:
    """Return what a good tagger would say of an article: candidates that it offers cost time to describe."""
    return [ScoredSpan(span.start, span.stop, 0.9) for span in gold_text(Document.of(article)).spans]


def _tune(table: FeatureTable, max_entities: int) -> None:
    probs = [label * 0.5 + 0.25 for label in table.labels]
    tune_rule(probs, table.labels, table.n_gold, table.keys, table.firsts, max_entities=max_entities)


def _on_gpu() -> bool:
    from pipeline.nn.loop import compute_device

    return compute_device().type != "cpu"

"""What relevance columns gain in out-of-fold entity F1: each matcher and loss over the same candidates without them.

python -m benchmarks.relevance --run mine --train ../shared/data/sohu2019/train.jsonl [--matcher malstm] [--loss bce]
    [--set relevance.tokens=word] [--gold FILE] [--folder work] [--json figures.json]

The run gives its options, dictionary and, where it has one, its tagger; --train are the files it was trained on.
Nothing is written to it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pipeline.artifacts import RunFolder, StageTimer, atomic_write_json, open_run
from pipeline.config import Config, load_config
from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import iter_articles, read_training
from pipeline.entities.features import FeatureTable
from pipeline.entities.relevance import RelevanceStage, with_relevance
from pipeline.entities.rerank import RerankStage, choose
from pipeline.entities.tagging import out_of_fold_spans
from pipeline.metric import paired_difference
from pipeline.registry import MATCHERS
from pipeline.schema import Article, Emotion, Entity
from pipeline.workflow.candidate_stage import Spans, build_pairs, build_table, fit_extractor
from pipeline.workflow.out_of_fold import gold_by_key
from pipeline.workflow.run_config import load_run_config

MODELS = Path("models")
LOSSES = ("bce", "mse", "contrastive")
Answers = dict[str, list[Entity]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table with 95 % paired bootstrap intervals; one row a matcher and loss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--train", type=Path, required=True, action="append", help="may be given several times")
    parser.add_argument("--gold", type=Path, action="append", help="measure on these articles of them alone")
    parser.add_argument("--matcher", choices=list(MATCHERS), action="append", help="all by default")
    parser.add_argument("--loss", choices=LOSSES, action="append", help="all by default")
    parser.add_argument("--set", dest="overrides", action="append", default=[], help="relevance.OPTION=VALUE")
    parser.add_argument("--folder", type=Path, help="keeps the trained matchers, so that a second call is quick")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        rows = measure(options, options.folder or Path(temporary))
    if options.json:
        atomic_write_json(options.json, rows)


def measure(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Train every matcher with every loss, rerank with its columns, and compare with the reranker that has none."""
    run = open_run(MODELS, options.run)
    config = replace(load_run_config(run.config), relevance=load_config(overrides=options.overrides).relevance)
    articles = sorted(read_training(options.train), key=lambda article: article.news_id)
    folds = assign_folds(group_articles(articles), n_folds=config.n_folds, seed=config.seed)
    fold_of = [folds[article.news_id] for article in articles]
    gold = gold_by_key(a for path in options.gold or options.train for a in iter_articles(path, labelled=True))
    spans = tagger_spans(run, config, articles, fold_of)
    fit_extractor(articles, folds, config, folder / "candidates", spans=spans)
    table, _ = build_table(articles, folds, config, folder / "candidates", store=folder / "features", spans=spans)
    pairs = build_pairs(articles, folds, config, folder / "candidates", spans=spans)
    base = answers(table, fold_of, config)
    print(f"{len(gold)} articles; run {run.name}\n")
    print("| matcher | loss | AUC in an article | minutes | gain in entity F1 | 95 % interval | better in |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    rows: list[dict[str, object]] = []
    for name in options.matcher or MATCHERS:
        for loss in options.loss or LOSSES:
            choice = [f"relevance.name={name}", f"relevance.loss={loss}"]
            relevance = load_config(overrides=[*options.overrides, *choice]).relevance
            stage = RelevanceStage(relevance, seed=config.seed, log=folder / "log.jsonl")
            with StageTimer() as timer:
                stage.fit(pairs, fold_of, folder=folder / f"{name}-{loss}", workers=config.workers, final=False)
            other = answers(with_scores(table, stage.oof_), fold_of, config)
            gain = paired_difference(gold, base, other)["entity_f1"]
            print(
                f"| {name} | {loss} | {stage.oof_auc_:.4f} | {timer.seconds / 60:.1f} | {gain.delta:+.4f} "
                f"| {gain.low:+.4f} to {gain.high:+.4f} | {gain.share_better:.3f} |"
            )
            sys.stdout.flush()
            figures = {"delta": gain.delta, "low": gain.low, "high": gain.high, "share_better": gain.share_better}
            row = {"matcher": name, "loss": loss, "auc": stage.oof_auc_, "seconds": timer.seconds}
            rows.append({**row, "entity_f1": figures})
    return rows


def tagger_spans(run: RunFolder, config: Config, articles: Sequence[Article], fold_of: Sequence[int]) -> Spans | None:
    """Read the out-of-fold spans of the run's tagger."""
    if config.tagger.name == "none":
        return None
    found = out_of_fold_spans(run.stage("tagger"), fold_of)
    return {article.news_id: spans for article, spans in zip(articles, found, strict=True)}


def with_scores(table: FeatureTable, scores: Sequence[np.ndarray]) -> FeatureTable:
    """Return the table with relevance columns."""
    wider = [with_relevance(table.names, *pair) for pair in zip(table.matrices, scores, strict=True)]
    return replace(table, names=wider[0][0], matrices=[matrix for _, matrix in wider], stored=None)


def answers(table: FeatureTable, fold_of: Sequence[int], config: Config) -> Answers:
    """Rerank out-of-fold: newsId to the chosen entities as match keys. No emotion is asked for: all are POS."""
    with TemporaryDirectory() as folder:
        stage = RerankStage(config.rerank, seed=config.seed)
        stage.fit(table, fold_of, folder=Path(folder), workers=config.workers)
    chosen = {}
    for index, news_id in enumerate(table.news_ids):
        keys = table.keys[index]
        rows = choose(stage.oof_probs_[index], keys, table.firsts[index], stage.rule_)
        chosen[news_id] = [Entity(keys[row], Emotion.POS) for row in rows]
    return chosen


if __name__ == "__main__":
    main()

"""Training and prediction with a matcher: its columns reach the reranker, and every answer stays reproducible."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config, load_config
from pipeline.entities.features.extract import gold_keys
from pipeline.entities.relevance import COLUMNS
from pipeline.errors import ArtifactError
from pipeline.schema import Article, Emotion, Entity
from pipeline.submission import read_submission
from pipeline.workflow.candidate_stage import build_pairs, build_table, fit_extractor
from pipeline.workflow.predict import Predictor
from tests.support.command_line import Cli, TinyRun, TinyRuns

SMALL = ("embedding_dim=12", "hidden_dim=8", "n_negatives=3", "training.max_epochs=8", "training.batch_size=16")
OVERRIDES = (
    "relevance.name=malstm",
    "relevance.training.learning_rate=1e-2",
    *(f"relevance.{option}" for option in SMALL),
)
ADDED = [f"relevance.{name}" for name in COLUMNS]


@pytest.fixture(scope="module")
def run(tiny_runs: TinyRuns) -> TinyRun:
    return tiny_runs.train(overrides=OVERRIDES)


def test_the_columns_reach_the_reranker(run: TinyRun) -> None:
    assert json.loads((run.path / "rerank" / "model" / "features.json").read_bytes())[-3:] == ADDED
    figures = json.loads((run.path / "metrics.json").read_bytes())
    assert 0.65 < figures["rerank"]["relevance_auc"] <= 1
    assert figures["out_of_fold"]["score"] >= 0.8
    folders = {path.name for path in (run.path / "relevance").iterdir()}
    assert folders == {"folds", "model"}
    logged = [json.loads(line) for line in (run.path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    folds = [line["fold"] for line in logged if line.get("stage") == "relevance"]
    assert folds == [fold for fold in (0, 1, 2, None) for _ in range(8)]


@pytest.mark.slow
def test_workers_change_neither_models_nor_answers(
    tiny_runs: TinyRuns, run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    assert tiny_runs.train(overrides=OVERRIDES, workers=2).contents == run.contents
    one = tiny_runs.predict(run, tiny_data / "all.jsonl", tmp_path / "one.txt")
    assert tiny_runs.predict(run, tiny_data / "all.jsonl", tmp_path / "two.txt", workers=2) == one
    assert all(read_submission(tmp_path / "one.txt").values())


def test_missing_title_or_content_is_answered(cli: Cli, run: TinyRun, tmp_path: Path) -> None:
    rows = [("n1", "", "松果手机今天发布。松果手机很好。"), ("n2", "松果手机发布", ""), ("n3", "", "")]
    lines = [json.dumps({"newsId": i, "title": t, "content": c}, ensure_ascii=False) for i, t, c in rows]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = cli.run(
        "predict", "--run", run.name, "--input", tmp_path / "in.jsonl", "--output", tmp_path / "o.txt", cwd=run.cwd
    )
    assert done.code == 0, done.err
    assert [len(entities) > 0 for entities in read_submission(tmp_path / "o.txt").values()] == [True, True, False]


def test_predicting_twice_gives_the_same(run: TinyRun) -> None:
    predictor = Predictor.load(run.path)
    assert predictor.finder is not None
    assert predictor.finder.relevance is not None
    article = Article("n1", "松果手机发布", "云杉汽车今天发布。松果手机很好。")
    first, second = (predictor.trace([article])[0].ranked.probs for _ in range(2))
    assert np.array_equal(first, second)


def test_a_missing_matcher_is_an_artifact_error(run: TinyRun, tmp_path: Path) -> None:
    folder = run.copy_to(tmp_path)
    (folder / "relevance" / "model" / "matcher.json").unlink()
    with pytest.raises(ArtifactError, match=r"matcher\.json: cannot be read"):
        Predictor.load(folder)


def test_an_unknown_matcher_stops_before_training(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    options = ("--preset", "tiny", "--run", "x", "--train", tiny_data / "train.jsonl", "--set", "relevance.name=siam")
    done = cli.run("train", *options, cwd=tmp_path)
    assert (done.code, done.message) == (2, "unknown matcher 'siam' (have: malstm, soft_align)")


def make_articles() -> list[Article]:
    names = ["松果手机", "云杉汽车", "海棠茶社"]
    articles = []
    for index in range(12):
        core, other = names[index % 3], names[(index + 1) % 3]
        content = f"今天{core}受欢迎。{core}销量很好{index}。{other}也在现场。"
        articles.append(Article(f"a{index:02}", f"{core}发布", content, (Entity(core, Emotion.POS),)))
    return articles


def test_pairs_are_those_of_the_table(tmp_path: Path) -> None:
    articles = make_articles()
    folds = {article.news_id: index % 3 for index, article in enumerate(articles)}
    config: Config = load_config(preset="tiny", overrides=["workers=1", "candidates.dictionary=", *OVERRIDES])
    fit_extractor(articles, folds, config, tmp_path)
    pairs = build_pairs(articles, folds, config, tmp_path)
    scores = [np.linspace(0, 1, len(row)) for row in pairs]
    table, _ = build_table(articles, folds, config, tmp_path, store=tmp_path / "one", relevance=scores)
    plain, _ = build_table(articles, folds, config, tmp_path, store=tmp_path / "two")
    assert table.names == [*plain.names, *ADDED]
    for index, row in enumerate(pairs):
        assert row.news_id == table.news_ids[index]
        assert row.is_core.tolist() == [key in gold_keys(articles[index]) for key in table.keys[index]]
        assert table.matrices[index][:, -3].tolist() == pytest.approx(scores[index].tolist())
        assert np.array_equal(table.matrices[index][:, :-3], plain.matrices[index], equal_nan=True)


def test_labels_of_an_article_do_not_reach_what_is_read_of_it(tmp_path: Path) -> None:
    """Its texts stay the same; only the labels, which its own fold's model never sees, change."""
    articles = make_articles()
    folds = {article.news_id: index % 3 for index, article in enumerate(articles)}
    config = load_config(preset="tiny", overrides=["workers=1", "candidates.dictionary=", *OVERRIDES])
    fit_extractor(articles, folds, config, tmp_path)
    before = build_pairs(articles, folds, config, tmp_path)
    other = replace(articles[0], entities=(Entity("现场", Emotion.NEG),))
    after = build_pairs([other, *articles[1:]], folds, config, tmp_path)
    assert before[0].is_core.tolist() != after[0].is_core.tolist()
    for part in ("bounds", "pieces", "offsets"):
        assert np.array_equal(getattr(before[0], part), getattr(after[0], part))
    assert (before[0].text, before[0].title) == (after[0].text, after[0].title)

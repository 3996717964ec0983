"""The plan of a training: what is in the data, which stages, how much work; and that nothing is left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.data.read import iter_articles
from pipeline.errors import ArtifactError, ConfigError
from pipeline.workflow import budget
from pipeline.workflow.dry_run import plan_training
from pipeline.workflow.estimates import Costs, RerankCosts
from pipeline.workflow.train_request import TrainRequest
from tests.support.command_line import Cli
from tests.support.tiny_encoder import tiny_network, write_tiny_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_encoder(tmp_path_factory.mktemp("encoder")))


def request(tiny_data: Path, *overrides: str, preset: str = "tiny") -> TrainRequest:
    return TrainRequest([tiny_data / "train.jsonl"], load_config(preset=preset, overrides=overrides))


def test_without_an_encoder_only_data_and_stages_are_told(tiny_data: Path) -> None:
    plan = plan_training(request(tiny_data))
    articles = list(iter_articles(tiny_data / "train.jsonl", labelled=True))
    assert plan.n_articles == sum(plan.fold_sizes) == len(articles)
    assert plan.n_entities == sum(len(article.entities or ()) for article in articles)
    assert plan.n_characters == sum(len(article.title) + len(article.content) for article in articles)
    assert (len(plan.fold_sizes), plan.stages, plan.encoders) == (3, ("rerank", "sentiment"), ())


def test_work_of_each_encoder_worked_by_hand(tiny_data: Path, encoder: str) -> None:
    overrides = [
        *("tagger.name=bert", f"tagger.encoder={encoder}", "tagger.train_tokens=10", "tagger.train_window_tokens=20"),
        *("tagger.title_tokens=4", "tagger.training.batch_size=2", "tagger.training.max_epochs=5"),
        *("sentiment.members=[tfidf,pair]", f"head.encoder.name={encoder}", "head.encoder.training.max_epochs=1"),
    ]
    plan = plan_training(request(tiny_data, *overrides))
    assert plan.stages == ("tagger", "rerank", "sentiment")
    tagger, pair = plan.encoders
    network = tiny_network(n_layers=2)
    network.pooler = None
    n_parameters = sum(parameter.numel() for parameter in network.parameters())
    hidden, heads = network.config.hidden_size, network.config.num_attention_heads
    assert (tagger.stage, tagger.n_parameters, tagger.n_models) == ("tagger", n_parameters, 4)
    # Three fold models read two thirds each and the last one all: three times the data, in each of five epochs.
    assert tagger.tokens == plan.n_articles * 10 * 3 * 5
    activations = 2 * 2 * (2 * 24) * (34 * hidden + 5 * heads * 24)  # layers, bytes against 16 bits, tokens of a batch
    assert tagger.memory_bytes == n_parameters * 20 + activations
    assert (pair.stage, pair.tokens) == ("sentiment pair", plan.n_entities * 80 * 3)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["sentiment.choose=tfidf+ian"], ["emotions are answered by: tfidf+ian (sentiment.choose)"]),
        (["mode=joint", "tagger.name=lstm"], ["emotions are answered by: the votes of the joint tagger"]),
        (
            ["mode=fused", "tagger.name=lstm", "sentiment.members=[ian]"],
            [
                "emotion members: ian; majority is measured beside them",
                "emotions are answered by: ian, averaged with the votes of the joint tagger",
            ],
        ),
    ],
)
def test_the_plan_names_what_tells_emotions(tiny_data: Path, overrides: list[str], told: list[str]) -> None:
    lines = [line for line in plan_training(request(tiny_data, *overrides)).lines() if line.startswith("emotion")]
    assert lines[-len(told) :] == told


def test_what_would_stop_training_stops_the_plan(tiny_data: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown sentiment member 'tfidff' \(have: majority, tfidf, ") as caught:
        plan_training(request(tiny_data, "sentiment.members=[tfidff]"))
    assert caught.value.hint == "did you mean 'tfidf'?"
    with pytest.raises(ArtifactError, match="no such folder"):
        plan_training(request(tiny_data, "tagger.name=bert", "tagger.encoder=/no/such"))


def test_preset_full_asks_for_its_encoder_in_every_place(tiny_data: Path, encoder: str) -> None:
    places = ("tagger.encoder", "cross.encoder.name", "head.encoder.name")
    plan = plan_training(request(tiny_data, *(f"{place}={encoder}" for place in places), preset="full"))
    assert plan.stages == ("tagger", "rerank", "cross", "sentiment")
    assert [work.stage for work in plan.encoders] == ["tagger", "cross", "sentiment pair"]
    assert {work.encoder for work in plan.encoders} == {encoder}


def test_dry_run_prints_the_plan_and_leaves_nothing(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    train_file = tiny_data / "train.jsonl"
    done = cli.run("train", "--preset", "tiny", "--train", train_file, "--dry-run", cwd=tmp_path)
    assert done.code == 0, done.err
    *plan, last = plan_training(request(tiny_data)).lines()
    *lines, told = done.out.splitlines()
    assert (lines[: len(plan)], told) == (plan, last)
    assert [line.split(":")[0].strip() for line in lines[len(plan) + 1 :]] == ["rerank", "sentiment", "all"]
    assert all(re.search(r": \d+ s, \d+\.\d GB", line) for line in lines[len(plan) + 1 :])
    assert not list(tmp_path.iterdir())


def test_a_plan_within_a_budget_tells_the_folds_and_sizes_it_would_train(
    tiny_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerank = RerankCosts(
        1, 1, 1, 1, 1, n_gold=1.0, n_features=9, bin_row=1.0, tree=1.0, tree_row=1.0, mine=1, score=1, rule=1
    )
    monkeypatch.setattr(budget, "calibrate", lambda *_, **__: Costs(rerank=rerank))
    monkeypatch.setattr(budget, "ENOUGH_FOR_THREE", 10)
    plan = plan_training(request(tiny_data, "n_folds=4", "budget.minutes=1"), calibrated=True)
    assert len(plan.fold_sizes) == 3
    assert any(line.startswith("budget of 1 min: n_folds 4 -> 3: ") for line in plan.lines())
    assert "  not estimated: sentiment" in plan.lines()

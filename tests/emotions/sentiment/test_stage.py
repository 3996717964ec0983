from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from pipeline.config import Config, HeadConfig, SentimentConfig, TrainingConfig
from pipeline.emotions.sentiment import SentimentStage, make_target
from pipeline.emotions.sentiment.training import split_dev
from pipeline.errors import ArtifactError
from pipeline.schema import EMOTIONS, Article, Emotion, Target
from pipeline.text import Document
from tests.support.paths import ROOT
from tests.support.tiny_encoder import write_tiny_encoder

TELLING = {Emotion.POS: "广受夸赞", Emotion.NORM: "位于城东", Emotion.NEG: "遭到批评"}


def config(*members: str, choose: str = "auto", workers: int = 1) -> Config:
    return Config(
        workers=workers,
        sentiment=SentimentConfig(members=list(members), choose=choose, max_context_chars=40, dev_fraction=0.2),
        head=HeadConfig(embedding="random", embedding_dim=6, hidden_dim=5, dropout=0.1),
        training=TrainingConfig(max_epochs=2, batch_size=16, learning_rate=2e-2),
    )


def example(number: int, emotion: Emotion, says: str) -> Target:
    article = Article(f"n{number:03d}", "松果茶社", f"松果茶社{says}。")
    return make_target(Document.of(article), "松果茶社", max_chars=40, emotion=emotion)


EXAMPLES = [example(i, emotion, TELLING[emotion]) for i in range(36) for emotion in [EMOTIONS[i % 3]]]
FOLDS = {item.group: index // 3 % 3 for index, item in enumerate(EXAMPLES)}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> SentimentStage:
    return SentimentStage(config("tfidf", "ian")).fit(EXAMPLES, FOLDS, folder=tmp_path_factory.mktemp("both"))


def test_table_has_a_row_for_each_member_and_the_average(both: SentimentStage) -> None:
    assert [row.member for row in both.table_] == ["majority", "tfidf", "ian", "tfidf+ian"]
    assert both.table_[0].accuracy == pytest.approx(1 / 3, abs=0.2)
    assert both.table_[1].accuracy == 1.0
    assert all(row.seconds > 0 for row in both.table_)


def test_best_accuracy_is_chosen_and_the_earlier_at_a_tie(both: SentimentStage) -> None:
    best = max(row.accuracy for row in both.table_[1:])
    assert both.chosen_ == next(row.member for row in both.table_[1:] if row.accuracy == best) == "tfidf"


def test_a_member_below_the_baseline_answers_all_the_same(tmp_path: Path) -> None:
    noise = [example(i, Emotion.POS if i % 4 else Emotion.NEG, "字" * (1 + i % 5)) for i in range(36)]
    stage = SentimentStage(config("ian")).fit(noise, FOLDS, folder=tmp_path)
    assert stage.chosen_ == "ian"
    assert [*stage.models_] == ["ian"]


@pytest.mark.parametrize("choose", ["ian", "tfidf+ian", "tfidf"])
def test_configuration_may_choose(choose: str, tmp_path: Path) -> None:
    stage = SentimentStage(config("tfidf", "ian", choose=choose)).fit(EXAMPLES, FOLDS, folder=tmp_path)
    assert stage.chosen_ == choose
    assert {name: len(models) for name, models in stage.models_.items()} == {
        name: {"tfidf": 1, "ian": 3}[name] for name in choose.split("+")
    }


def test_majority_may_be_a_member_or_the_only_one(tmp_path: Path) -> None:
    stage = SentimentStage(config("majority")).fit(EXAMPLES, FOLDS, folder=tmp_path)
    assert [row.member for row in stage.table_] == ["majority"]
    assert stage.predict(EXAMPLES[:2]).shape == (2, 3)


def test_predictions_are_probabilities_in_the_order_of_the_examples(both: SentimentStage) -> None:
    probs = both.predict(EXAMPLES)
    np.testing.assert_allclose(probs.sum(1), 1)
    assert [EMOTIONS[column] for column in probs.argmax(1)] == [item.emotion for item in EXAMPLES]
    np.testing.assert_allclose(both.predict(EXAMPLES[::-1]), probs[::-1])
    assert both.predict([]).shape == (0, 3)


def test_out_of_fold_table_names_every_example(both: SentimentStage) -> None:
    table = both.oof_
    assert list(table.columns) == ["news_id", "name", "p_pos", "p_norm", "p_neg", "fold", "gold"]
    assert list(table.news_id) == [item.group for item in EXAMPLES]
    assert list(table.fold) == [FOLDS[item.group] for item in EXAMPLES]
    assert list(table.gold) == [item.emotion for item in EXAMPLES]
    np.testing.assert_allclose(table[["p_pos", "p_norm", "p_neg"]].sum(axis=1), 1)


@pytest.mark.parametrize("member", ["majority", "tfidf", "ian"])
def test_no_example_is_scored_by_a_model_that_saw_its_article(member: str, tmp_path: Path) -> None:
    """A token that occurs in one article tells its emotion; out-of-fold that must not help."""
    rng = np.random.default_rng(0)
    emotions = [EMOTIONS[i] for i in rng.integers(0, 3, 36)]
    secret = [example(i, emotion, chr(0x4E00 + 7 * i) * 6) for i, emotion in enumerate(emotions)]
    again = [example(i, emotion, chr(0x4E00 + 7 * i) * 5) for i, emotion in enumerate(emotions)]
    stage = SentimentStage(config(member, choose=member)).fit([*secret, *again], FOLDS, folder=tmp_path)
    assert stage.table_[-1].accuracy < 0.65
    if member == "tfidf":  # which sees through it at once where it may
        seen = [EMOTIONS[column] for column in stage.predict(secret).argmax(1)]
        assert np.mean([answer == gold for answer, gold in zip(seen, emotions, strict=True)]) > 0.9


def test_dev_split_keeps_groups_whole() -> None:
    items = [item for item in EXAMPLES for _ in range(2)]
    train, dev = split_dev(items, fraction=0.25, seed=4)
    assert len(train) + len(dev) == len(items)
    assert len({item.group for item in dev}) == 9
    assert not {item.group for item in train} & {item.group for item in dev}
    assert split_dev(items, fraction=0.25, seed=4) == (train, dev)
    assert split_dev(items, fraction=0.25, seed=5) != (train, dev)


def test_dev_split_of_one_group_is_the_group() -> None:
    assert split_dev(EXAMPLES[:1], fraction=0.1, seed=1) == (EXAMPLES[:1], EXAMPLES[:1])


@pytest.mark.parametrize("choose", ["majority", "tfidf", "tfidf+af_lstm"])
def test_saved_stage_predicts_the_same(choose: str, tmp_path: Path) -> None:
    options = config(*{"majority": 0, **dict.fromkeys(choose.split("+"))}, choose=choose)
    stage = SentimentStage(options).fit(EXAMPLES, FOLDS, folder=tmp_path)
    again = SentimentStage.load(tmp_path, options)
    np.testing.assert_array_equal(again.predict(EXAMPLES), stage.predict(EXAMPLES))
    assert again.table_ == stage.table_
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} <= {".json", ".gz", ".safetensors"}
    assert {file.relative_to(tmp_path).parts[0] for file in files} == {"stage.json", "majority", *choose.split("+")}


def test_load_says_what_is_missing(both: SentimentStage, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"stage\.json: cannot be read"):
        SentimentStage.load(tmp_path, both.config)
    SentimentStage(both.config).fit(EXAMPLES, FOLDS, folder=tmp_path)
    (tmp_path / "tfidf" / "model" / "model.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"tfidf/model/model\.safetensors: cannot be read"):
        SentimentStage.load(tmp_path, both.config)


def test_load_refuses_heads_of_another_size(tmp_path: Path) -> None:
    stage = SentimentStage(config("ian", choose="ian")).fit(EXAMPLES, FOLDS, folder=tmp_path)
    stage.config.head.hidden_dim = 7
    with pytest.raises(ArtifactError, match=r"model\.safetensors: does not fit the head ian"):
        SentimentStage.load(tmp_path, stage.config)


def test_log_holds_every_epoch_of_every_fold(tmp_path: Path) -> None:
    SentimentStage(config("ian"), log=tmp_path / "log.jsonl").fit(EXAMPLES, FOLDS, folder=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(line["stage"], line["model"]) for line in lines} == {("sentiment", "ian")}
    assert {line["fold"] for line in lines} == {0, 1, 2}


def fingerprint(*, workers: int) -> str:
    """Return every out-of-fold figure and prediction of a stage, to the last bit."""
    with TemporaryDirectory() as folder:
        options = config("tfidf", "ian", choose="tfidf+ian", workers=workers)
        stage = SentimentStage(options).fit(EXAMPLES, FOLDS, folder=Path(folder))
    return stage.predict(EXAMPLES).tobytes().hex() + stage.oof_.to_csv(index=False)


def test_result_does_not_depend_on_workers_or_hash_seed() -> None:
    script = (
        "import sys; from tests.emotions.sentiment import test_stage as t; sys.stdout.write(t.fingerprint(workers=2))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == fingerprint(workers=1)


@pytest.fixture
def with_encoder(tmp_path: Path) -> Config:
    characters = "".join([*TELLING.values(), "松果茶社"])
    options = config("tfidf", "pair", choose="tfidf+pair")
    options.head.encoder.name = str(write_tiny_encoder(tmp_path / "encoder", n_layers=1, characters=characters))
    return options


def test_trainings_of_a_member_on_an_encoder_are_saved_and_not_repeated(with_encoder: Config, tmp_path: Path) -> None:
    log, folder = tmp_path / "log.jsonl", tmp_path / "stage"
    first = SentimentStage(with_encoder, log=log).fit(EXAMPLES, FOLDS, folder=folder)
    n_lines = len(log.read_bytes().splitlines())
    assert n_lines == 4 * with_encoder.head.encoder.training.max_epochs
    again = SentimentStage(with_encoder, log=log).fit(EXAMPLES, FOLDS, folder=folder)
    assert len(log.read_bytes().splitlines()) == n_lines
    np.testing.assert_array_equal(again.predict(EXAMPLES), first.predict(EXAMPLES))
    assert sorted(path.name for path in (folder / "pair").iterdir()) == ["folds", "model"]
    np.testing.assert_array_equal(SentimentStage.load(folder, with_encoder).predict(EXAMPLES), first.predict(EXAMPLES))
    apart = SentimentStage(with_encoder).fit(EXAMPLES, FOLDS, folder=tmp_path / "apart")
    np.testing.assert_array_equal(apart.predict(EXAMPLES), first.predict(EXAMPLES))
    with_encoder.head.dropout = 0.2
    SentimentStage(with_encoder, log=log).fit(EXAMPLES, FOLDS, folder=folder)
    assert len(log.read_bytes().splitlines()) == 2 * n_lines


def test_members_are_weighed_by_how_likely_they_make_the_gold_emotions(both: SentimentStage, tmp_path: Path) -> None:
    stage = SentimentStage(config("tfidf", "ian", choose="tfidf+ian")).fit(EXAMPLES, FOLDS, folder=tmp_path)
    assert sum(stage.weights_) == pytest.approx(1)
    assert stage.weights_[0] > 0.9  # always right, and sure of it
    assert SentimentStage.load(tmp_path, stage.config).weights_ == stage.weights_
    state = json.loads((tmp_path / "stage.json").read_text(encoding="utf-8"))
    earlier = {**state, "n_models": {name: len(places) for name, places in state["models"].items()}}
    for name, places in state["models"].items():  # which lay in numbered folders
        for number, place in enumerate(places):
            (tmp_path / name / place).rename(tmp_path / name / str(number))
    del earlier["weights"], earlier["models"]
    (tmp_path / "stage.json").write_text(json.dumps(earlier), encoding="utf-8")
    again = SentimentStage.load(tmp_path, stage.config)
    assert again.weights_ == [1.0, 1.0]
    assert {name: len(models) for name, models in again.models_.items()} == {"tfidf": 1, "ian": 3}
    assert both.weights_ == [1.0]


def test_a_member_on_an_encoder_predicts_by_one_model_fitted_on_all(tmp_path: Path) -> None:
    characters = "".join([*TELLING.values(), "松果茶社"])
    folder = write_tiny_encoder(tmp_path / "encoder", n_layers=1, characters=characters)
    options = config("tfidf", "pair", choose="tfidf+pair", workers=2)
    options.head.encoder.name = str(folder)
    stage = SentimentStage(options, log=tmp_path / "log.jsonl").fit(EXAMPLES, FOLDS, folder=tmp_path / "saved")
    assert {name: len(models) for name, models in stage.models_.items()} == {"tfidf": 1, "pair": 1}
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["fold"] for line in lines].count(None) == options.head.encoder.training.max_epochs
    folder.rename(tmp_path / "moved")
    np.testing.assert_array_equal(
        SentimentStage.load(tmp_path / "saved", options).predict(EXAMPLES), stage.predict(EXAMPLES)
    )

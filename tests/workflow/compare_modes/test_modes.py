"""The three modes from training to answers, on a few invented articles and with a tiny tagger; and their comparison."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from opencc import OpenCC
from typer.testing import CliRunner

from pipeline.artifacts import RunFolder, read_json, read_table
from pipeline.cli.main import app
from pipeline.config import Config, TaggerConfig, TextConfig, load_config
from pipeline.data.read import read_training
from pipeline.errors import ConfigError
from pipeline.metric import Difference, article_scores
from pipeline.schema import EMOTIONS, Article, Emotion
from pipeline.text import match_key
from pipeline.workflow.compare_modes.compare import Data, compare_trained, train_modes
from pipeline.workflow.compare_modes.table import Comparison, ModeRow
from pipeline.workflow.modes import PROBS, StageSet
from pipeline.workflow.out_of_fold import gold_by_key, out_of_fold_predictions, score_out_of_fold
from pipeline.workflow.predict import Predictor
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest

NAMES = ("青禾科技", "云杉汽车", "银杏书店", "海棠茶社", "松果手机")
SAYS = {Emotion.POS: "广受夸赞", Emotion.NORM: "位于城东", Emotion.NEG: "遭到批评"}
FILLERS = ("今天有雨。", "记者来到现场。", "市民很多。", "交通正常。")
OPTIONS = (
    "n_folds=3",
    "workers=1",
    "sentiment.members=[tfidf]",
    "rerank.min_child_samples=2",
    "candidates.dictionary=",
    "joint.output=two_heads",
    "tagger.name=lstm",
    "tagger.embedding_dim=16",
    "tagger.hidden_dim=16",
    "tagger.dropout=0.0",
    "tagger.window_tokens=48",
    "tagger.overlap_tokens=8",
    "tagger.train_window_tokens=48",
    "tagger.title_tokens=8",
    "tagger.training.batch_size=2",
    "tagger.training.learning_rate=0.02",
    "tagger.training.max_epochs=25",
)


def options(*overrides: str) -> Config:
    return load_config(preset="tiny", overrides=[*OPTIONS, *overrides])


def row(index: int) -> dict[str, object]:
    name, emotion = NAMES[index % 5], EMOTIONS[index % 3]
    other, filler = NAMES[(index + 2) % 5], FILLERS[index % 4]
    content = f"{filler}《{name}》{SAYS[emotion]}。{other}也在。《{name}》{SAYS[emotion]}。第{index}期。"
    entities = [{"entity": name, "emotion": emotion.value}]
    return {"newsId": f"a{index:02}", "title": f"《{name}》{index}", "content": content, "coreEntityEmotions": entities}


@pytest.fixture(scope="module")
def train_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.jsonl"
    path.write_text("".join(f"{json.dumps(row(index), ensure_ascii=False)}\n" for index in range(30)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def articles(train_file: Path) -> list[Article]:
    return read_training([train_file])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work") / "models"


@pytest.fixture(scope="module")
def own(train_file: Path, models: Path) -> dict[str, RunFolder]:
    """Return a run of each mode, the joint tagger's own order of entities."""
    configs = [options(f"mode={mode}", "joint.ranking=own") for mode in ("two_stage", "joint", "fused")]
    runs = train_modes([TrainRequest([train_file], config) for config in configs], models, name="own")
    return dict(zip(("two_stage", "joint", "fused"), runs, strict=True))


@pytest.fixture(scope="module")
def reranked(own: dict[str, RunFolder], train_file: Path, models: Path) -> dict[str, RunFolder]:
    """Return the runs of both other modes with the reranker; they share stages with the first ones."""
    runs = {"two_stage": own["two_stage"]}
    for mode in ("joint", "fused"):
        runs[mode] = RunFolder.create(models, f"reranked-{mode}")
        config = options(f"mode={mode}")
        train(TrainRequest([train_file], config, reuse=tuple(own.values())), runs[mode])
    return runs


@pytest.fixture(params=["own", "reranked"])
def runs(request: pytest.FixtureRequest) -> dict[str, RunFolder]:
    return request.getfixturevalue(request.param)


def stages(run: RunFolder) -> set[str]:
    return set(read_json(run.progress))


def test_each_mode_has_the_stages_it_needs(own: dict[str, RunFolder], reranked: dict[str, RunFolder]) -> None:
    assert stages(own["two_stage"]) == {"tagger", "rerank", "sentiment"}
    assert stages(own["joint"]) == {"joint"}
    assert stages(reranked["joint"]) == {"joint", "rerank"}
    assert stages(own["fused"]) == stages(reranked["fused"]) == {"joint", "tagger", "rerank", "sentiment"}
    plain = StageSet(tagger=False, joint=False, reranker=True, cross=False, sentiment=True)
    assert StageSet.of(Config(tagger=TaggerConfig(name="none"))) == plain
    assert StageSet.of(Config()) == replace(plain, tagger=True)


def test_one_tagger_may_serve_both_halves(
    reranked: dict[str, RunFolder], train_file: Path, models: Path, articles: list[Article]
) -> None:
    run = RunFolder.create(models, "shared")
    config = options("mode=fused", "joint.shares_tagger=true")
    train(TrainRequest([train_file], config, reuse=tuple(reranked.values())), run)
    assert stages(run) == {"joint", "rerank", "sentiment"}
    # The same spans, so the same entities as mode joint; the emotions are averages.
    shared, joint = (read_table(one.oof("rerank")) for one in (run, reranked["joint"]))
    assert shared.equals(joint)
    assert run.stage_seconds()["joint"] == reranked["joint"].stage_seconds()["joint"]
    predicted = Predictor.load(run.path).predict(articles)
    alone = Predictor.load(reranked["joint"].path).predict(articles)
    names = [[[entity.name for entity in answer.entities] for answer in answers] for answers in (predicted, alone)]
    assert names[0] == names[1]


def test_nothing_is_trained_twice(own: dict[str, RunFolder], reranked: dict[str, RunFolder]) -> None:
    seconds = {stage: own["two_stage"].stage_seconds()[stage] for stage in ("tagger", "rerank", "sentiment")}
    seconds["joint"] = own["joint"].stage_seconds()["joint"]
    assert own["fused"].stage_seconds() == reranked["fused"].stage_seconds() == seconds
    assert reranked["joint"].stage_seconds()["joint"] == seconds["joint"]


def test_out_of_fold_answers_are_scored_in_every_mode(runs: dict[str, RunFolder], articles: list[Article]) -> None:
    for mode, run in runs.items():
        scored = score_out_of_fold(run, articles)
        assert scored.entity_f1 > 0.6, mode
        assert scored.emotion_f1 > 0.4, mode
        assert read_json(run.metrics)["out_of_fold"] == scored.to_dict()
        emotions = read_table(run.oof("sentiment"))
        assert len(emotions) == len(articles)
        assert emotions[list(PROBS)].astype(float).sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-6)


def test_fused_emotions_are_the_means_of_both(runs: dict[str, RunFolder]) -> None:
    tables = [read_table(runs[mode].oof("sentiment")) for mode in ("two_stage", "joint", "fused")]
    first, second, fused = (table[list(PROBS)].to_numpy().astype(float) for table in tables)
    assert fused == pytest.approx((first + second) / 2)
    assert tables[0]["name"].tolist() == tables[1]["name"].tolist() == tables[2]["name"].tolist()


def test_every_mode_answers(runs: dict[str, RunFolder], articles: list[Article]) -> None:
    for mode, run in runs.items():
        predictor = Predictor.load(RunFolder.load(run.path).path)
        predictions = predictor.predict(articles)
        assert [prediction.news_id for prediction in predictions] == [article.news_id for article in articles]
        right = 0
        for article, prediction in zip(articles, predictions, strict=True):
            for entity in prediction.entities:
                assert sum(entity.probs) == pytest.approx(1)
                assert entity.probs[EMOTIONS.index(entity.emotion)] == max(entity.probs)
                assert all(article.field(m.field)[m.start : m.end] == m.surface for m in entity.mentions)
            assert article.entities is not None
            right += any(entity.name == article.entities[0].name for entity in prediction.entities)
        assert right > 0.8 * len(articles), mode
        assert predictor.predict(articles[3:4]) == predictions[3:4]
        assert predictor.predict([]) == []
        nothing = Article("empty", "", "")
        assert predictor.predict([nothing])[0].entities == ()
        assert match_key(NAMES[0]) in predictor.trace(articles[:1])[0].offered.keys


def test_an_unfinished_run_is_resumed(own: dict[str, RunFolder], train_file: Path) -> None:
    run = own["joint"]
    before = read_json(run.manifest)["files"]
    train(
        TrainRequest([train_file], options("mode=joint", "joint.ranking=own")),
        RunFolder.create(run.path.parent, run.name, resume=True),
    )
    assert read_json(run.manifest)["files"] == before


@pytest.mark.parametrize("output", ["joined", "two_heads"])
def test_training_again_gives_the_same_scores(output: str, train_file: Path, tmp_path: Path) -> None:
    tables = []
    for name in ("one", "two"):
        run = RunFolder.create(tmp_path, name)
        config = options(
            "mode=joint",
            "joint.ranking=own",
            "joint.own_score=sum",
            f"joint.output={output}",
            "tagger.training.max_epochs=4",
        )
        train(TrainRequest([train_file], config, limit=12), run)
        tables.append(run.oof("joint").read_bytes() + run.oof("joint_entities").read_bytes())
    assert tables[0] == tables[1]


class TestCommand:
    COMMAND = ("compare", "modes", "--preset", "tiny", *(part for option in OPTIONS for part in ("--set", option)))

    def test_takes_finished_runs(
        self, own: dict[str, RunFolder], train_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(own["joint"].path.parents[1])
        files = ["--json", str(tmp_path / "table.json"), "--markdown", str(tmp_path / "table.md")]
        names = ",".join(run.name for run in own.values())
        done = CliRunner().invoke(app, ["compare", "modes", "--train", str(train_file), "--runs", names, *files])
        assert done.exit_code == 0, done.output
        figures = read_json(tmp_path / "table.json")
        assert figures["runs"] == {mode: [run.name] for mode, run in own.items()}
        table = (tmp_path / "table.md").read_text(encoding="utf-8")
        assert table in done.output
        assert figures["verdict"] in table
        assert len([line for line in table.splitlines() if line.startswith("| ")]) == 5

    def test_trains_the_modes_for_every_seed_and_goes_on(
        self, train_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        options = [
            "--limit",
            "12",
            "--modes",
            "two_stage,joint",
            "--seeds",
            "2",
            "--run",
            "c",
            "--train",
            str(train_file),
        ]
        command = [*self.COMMAND, "--set", "tagger.training.max_epochs=1", *options]
        first = CliRunner().invoke(app, command)
        assert first.exit_code == 0, first.output
        names = [f"c-{mode}-s{seed}" for seed in (7, 8) for mode in ("two_stage", "joint")]
        assert sorted(names) == sorted(path.name for path in (tmp_path / "models").iterdir())
        created = [read_json(tmp_path / "models" / name / "manifest.json")["created"] for name in names]
        assert {RunFolder(tmp_path / "models" / name).preset for name in names} == {"tiny"}
        again = CliRunner().invoke(app, [*command, "--resume"])
        assert again.exit_code == 0, again.output
        assert [read_json(tmp_path / "models" / name / "manifest.json")["created"] for name in names] == created
        assert "2 runs of each mode" in first.output

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--modes", "two_stage,threefold"], "mode: Invalid value 'threefold'"),
            (["--set", "tagger.name=none"], "needs a tagger: set tagger.name"),
            (["--resume"], "--resume needs --run NAME"),
        ],
    )
    def test_mistakes_stop_before_training(
        self, arguments: list[str], message: str, train_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(app, [*self.COMMAND, "--train", str(train_file), *arguments])
        assert isinstance(done.exception, ConfigError)
        assert message in done.exception.message
        assert not (tmp_path / "models").exists()


class TestErrors:
    def test_an_unknown_mode(self) -> None:
        with pytest.raises(ConfigError, match=r"mode.*threefold"):
            options("mode=threefold")

    @pytest.mark.parametrize("mode", ["joint", "fused"])
    def test_a_joint_tagger_without_a_network(self, mode: str) -> None:
        with pytest.raises(ConfigError, match=f"mode={mode} needs a tagger: set tagger.name to lstm, encoder or bert"):
            load_config(preset="tiny", overrides=[f"mode={mode}"])


class TestComparison:
    def test_gains_are_those_of_the_article_scores(self, own: dict[str, RunFolder], articles: list[Article]) -> None:
        comparison = compare_trained(list(own.values()), Data(articles, articles[:6]))
        gold = gold_by_key(articles)
        scores = {mode: article_scores(gold, out_of_fold_predictions(run))[1].mean(0) for mode, run in own.items()}
        for mode, found in comparison.out_of_fold.items():
            assert found.values["entity_f1"] == pytest.approx(scores[mode][0])
            assert found.values["score"] == pytest.approx(scores[mode].mean())
            assert 0.5 < found.values["candidate_recall"] <= 1
            if mode != "two_stage":
                gain = found.gains["emotion_f1"]
                assert gain.delta == pytest.approx(scores[mode][1] - scores["two_stage"][1])
                assert gain.low <= gain.delta + 1e-9
                assert gain.delta <= gain.high + 1e-9
        assert comparison.base == "two_stage"
        assert comparison.minutes["fused"] == pytest.approx(
            comparison.minutes["two_stage"] + comparison.minutes["joint"]
        )
        assert min(comparison.articles_a_second.values()) > 0
        assert comparison.to_dict()["verdict"] in comparison.to_markdown()
        assert comparison.verdict.startswith(
            "By the score on 30 training articles, out-of-fold, against two_stage: joint"
        )
        assert " By the score on 6 test articles, against two_stage: joint is " in comparison.verdict
        json.dumps(comparison.to_dict(), allow_nan=False)

    def test_runs_that_cannot_be_compared_are_refused(self, own: dict[str, RunFolder], articles: list[Article]) -> None:
        with pytest.raises(ConfigError, match="needs runs of two modes or more, got joint"):
            compare_trained([own["joint"]], Data(articles, ()))
        with pytest.raises(ConfigError, match="trained on 30 articles, --train and --limit give 29"):
            compare_trained(list(own.values()), Data(articles[:29], ()))
        with pytest.raises(ConfigError, match="differ in training files, n_folds, seeds or text"):
            compare_trained([own["two_stage"], own["joint"], own["joint"]], Data(articles, ()))

    def test_gold_names_are_read_in_the_script_of_the_runs(
        self, own: dict[str, RunFolder], articles: list[Article], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = [own["two_stage"], own["joint"]]
        want = compare_trained(runs, Data(articles, ()))
        simple = own["joint"].config

        def load(path: Path) -> Config:
            return replace(load_run_config(path), text=TextConfig(to_simplified=path != simple))

        monkeypatch.setattr("pipeline.workflow.compare_modes.compare.load_run_config", load)
        with pytest.raises(ConfigError, match=r"differ in training files, n_folds, seeds or text\.to_simplified"):
            compare_trained(runs, Data(articles, ()))
        simple = Path()
        convert = OpenCC("s2t").convert
        traditional = [
            replace(article, entities=tuple(replace(one, name=convert(one.name)) for one in article.entities or ()))
            for article in articles
        ]
        assert traditional != articles
        assert compare_trained(runs, Data(traditional, ())).out_of_fold == want.out_of_fold

    @pytest.mark.parametrize(
        ("gain", "said"),
        [((0.02, 0.01, 0.03), "better"), ((-0.02, -0.03, -0.01), "worse"), ((0.01, -0.01, 0.03), "not told apart")],
    )
    def test_the_verdict_follows_from_the_interval(self, gain: tuple[float, float, float], said: str) -> None:
        base = ModeRow({"score": 0.4}, {})
        other = ModeRow({"score": 0.4 + gain[0]}, {"score": Difference(*gain, 0.9)})
        rows = {"two_stage": base, "joint": other}
        names, costs = {"two_stage": ["a"], "joint": ["b"]}, {"two_stage": 1.0, "joint": 2.0}
        comparison = Comparison("two_stage", names, 9, 0, rows, {}, costs, costs)
        interval = f"({gain[0]:+.4f}, 95 % interval {gain[1]:+.4f} to {gain[2]:+.4f})"
        training = f"By the score on 9 training articles, out-of-fold, against two_stage: joint is {said} {interval}."
        assert comparison.verdict == training
        assert replace(comparison, n_test=4, test=rows).verdict == training + training.replace(
            "By the score on 9 training articles, out-of-fold", " By the score on 4 test articles"
        )
        assert "| two_stage | 0.4000 | 1.0 | 1.0 |" in comparison.to_markdown()

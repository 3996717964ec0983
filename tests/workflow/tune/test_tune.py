"""The search for options: it scores what training writes, and goes on as if never stopped."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts import RunFolder, inputs_kept, read_json, read_table
from pipeline.cli import main
from pipeline.config import Config, JointConfig, RelevanceConfig, TaggerConfig, load_config
from pipeline.errors import ConfigError, DataError
from pipeline.workflow.run_config import save_run_config
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from pipeline.workflow.tune import TuneRequest, tune
from pipeline.workflow.tune.data import RunData, check_run, load_run_data
from pipeline.workflow.tune.objective import FoldResult, Objective
from pipeline.workflow.tune.results import Trial, TrialLog
from pipeline.workflow.tune.search import falls_behind, suggest
from pipeline.workflow.tune.space import (
    BUILT_IN,
    Choices,
    make_space,
    option,
    read_space,
    with_options,
)
from tests.support.command_line import Done
from tests.support.paths import TINY_ARTICLES
from tests.support.pipes import piped

needs_optuna = pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
TRAIN = TINY_ARTICLES
OPTIONS = ("workers=1", "sentiment.members=[tfidf]", "candidates.dictionary=", "candidates.max_candidates=30")
TAGGER = ("tagger.name=lstm", "tagger.embedding_dim=8", "tagger.hidden_dim=8", "tagger.training.max_epochs=1")
SPACE = {
    "rerank.n_estimators": {"low": 5, "high": 40},
    "rerank.objective": {"choices": ["binary", "lambdarank"]},
    "sentiment.class_weight_power": {"low": 0.0, "high": 1.0},
}


def train_run(folder: Path, name: str, *overrides: str, file: Path | None = None) -> RunFolder:
    run = RunFolder.create(folder, name)
    config = load_config(preset="tiny", file=file, overrides=[*OPTIONS, *overrides])
    train(TrainRequest([TRAIN], config), run)
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return train_run(tmp_path_factory.mktemp("tune") / "models", "r")


@pytest.fixture(scope="module")
def data(run: RunFolder) -> RunData:
    return load_run_data(run, [TRAIN])


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, data: RunData) -> None:
    """Load the run's data once for all searches."""
    monkeypatch.setattr("pipeline.workflow.tune.search.load_run_data", lambda *_, **__: data)


@pytest.fixture
def space_file(tmp_path: Path) -> Path:
    path = tmp_path / "space.json"
    path.write_text(json.dumps(SPACE))
    return path


def search(run: RunFolder, folder: Path, space: Path, n_trials: int, **options: Any) -> list[Trial]:
    folder.mkdir(exist_ok=True)
    tune(TuneRequest([TRAIN], space=space, n_trials=n_trials, **options), run, RunFolder(folder))
    return trials_of(folder)


def trials_of(folder: Path) -> list[Trial]:
    """Return the finished trials, without what differs from run to run."""
    return [Trial(**{**trial, "seconds": 0.0}) for trial in read_json(folder / "search.json")["trials"]]


# --- what is scored


def test_the_last_fold_gives_the_figures_of_the_training(run: RunFolder, data: RunData) -> None:
    written = read_json(run.metrics)["out_of_fold"]
    for with_emotions in (False, True):
        results = list(Objective(data, "score", with_emotions=with_emotions).folds(data.config))
        assert [len(result.scores) for result in results] == [18, 36, 54]
        assert results[-1].value == pytest.approx(written["score"], abs=1e-6)
        assert results[-1].scores.mean(0) == pytest.approx([written["entity_f1"], written["emotion_f1"]], abs=1e-6)


def test_a_run_with_a_tagger_gives_the_figures_of_its_training(tmp_path: Path) -> None:
    run = train_run(tmp_path, "tagged", *TAGGER)
    data = load_run_data(run, [TRAIN])
    *_, result = Objective(data, "entity_f1", with_emotions=False).folds(data.config)
    assert any(name.startswith("tagger.") for name in data.table.names)
    assert result.value == pytest.approx(read_json(run.metrics)["out_of_fold"]["entity_f1"], abs=1e-6)


def test_a_training_with_the_options_found_has_the_score_found(tmp_path: Path, data: RunData) -> None:
    """Trials chosen by hand, without Optuna: the log writes the file, and the training reads it."""
    from pipeline.workflow.tune.results import summarise

    objective = Objective(data, "score", with_emotions=True)
    log = TrialLog.open(tmp_path, {})
    tried = [{"rerank.n_estimators": 3, "sentiment.max_context_chars": 16}]
    tried += [{"rerank.n_estimators": 25, "sentiment.max_context_chars": 200}]
    for number, options in enumerate(tried):
        results = list(objective.folds(with_options(data.config, options)))
        log.add(Trial(number, options, True, [result.value for result in results], 0.0), results[-1].scores)
    result = summarise(log, data.config, "score", searches_emotions=True)
    assert result.best.number == 1
    assert result.changes == {"rerank.n_estimators": (3, 25), "sentiment.max_context_chars": (16, 200)}
    again = RunFolder.create(tmp_path, "again")
    config = load_config(preset="fast", file=tmp_path / "best.yaml")
    assert train(TrainRequest([TRAIN], config), again)["out_of_fold"]["score"] == pytest.approx(
        result.best.value, abs=1e-6
    )
    assert config.rerank.n_estimators == 25


# --- the search


@needs_optuna
@pytest.mark.usefixtures("loaded")
def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(
    run: RunFolder, space_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search(run, tmp_path / "whole", space_file, 3)
    assert [trial.number for trial in whole] == [0, 1, 2]
    config = check_run(run)
    assert whole[0].options == {name: option(config, name) for name in SPACE}
    assert whole[0].value == pytest.approx(read_json(run.metrics)["out_of_fold"]["score"], abs=1e-6)

    parts = tmp_path / "parts"
    folds, n_calls = Objective.folds, 0

    def interrupted(self: Objective, options: Config) -> Iterator[FoldResult]:
        nonlocal n_calls
        n_calls += 1
        for number, result in enumerate(folds(self, options)):
            if n_calls == 2 and number == 1:
                raise KeyboardInterrupt
            yield result

    with monkeypatch.context() as patch:
        patch.setattr(Objective, "folds", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search(run, parts, space_file, 3)
    assert trials_of(parts) == whole[:1]
    assert (parts / "best.yaml").is_file()
    assert search(run, parts, space_file, 3) == whole
    for name in ("best.yaml", "trials.csv"):
        texts = [(folder / name).read_text() for folder in (parts, tmp_path / "whole")]
        if name == "best.yaml":
            assert texts[0] == texts[1]
        assert len(texts[0].splitlines()) == len(texts[1].splitlines())


@needs_optuna
@pytest.mark.usefixtures("loaded")
def test_the_folder_holds_text_and_numbers_alone(run: RunFolder, space_file: Path, tmp_path: Path) -> None:
    found = search(run, tmp_path / "s", space_file, 2)
    files = {str(path.relative_to(tmp_path / "s")) for path in (tmp_path / "s").rglob("*") if path.is_file()}
    scores = {f"scores/{trial.number:04}.safetensors" for trial in found}
    assert files == {".lock", "best.yaml", "result.json", "search.json", "trials.csv", *scores}
    table = read_table(tmp_path / "s" / "trials.csv")
    assert table["rerank.n_estimators"].tolist() == [str(trial.options["rerank.n_estimators"]) for trial in found]
    assert read_json(tmp_path / "s" / "result.json")["n_trials"] == 2


@needs_optuna
@pytest.mark.usefixtures("loaded")
def test_another_search_in_the_same_folder_is_refused(run: RunFolder, space_file: Path, tmp_path: Path) -> None:
    search(run, tmp_path / "s", space_file, 1)
    with pytest.raises(ConfigError, match="s: holds a search with another seed"):
        search(run, tmp_path / "s", space_file, 2, seed=3)
    with pytest.raises(ConfigError, match="s: holds a search with another metric"):
        search(run, tmp_path / "s", space_file, 2, metric="emotion_f1")


@needs_optuna
@pytest.mark.usefixtures("loaded")
def test_no_trial_begins_after_the_minutes(run: RunFolder, space_file: Path, tmp_path: Path) -> None:
    assert len(search(run, tmp_path / "s", space_file, 50, minutes=1e-6)) == 1


@needs_optuna
def test_what_is_tried_next_depends_on_trials_and_seed_alone() -> None:
    space = make_space(BUILT_IN, Config())
    base = {name: option(Config(), name) for name in space}
    trials = [Trial(0, base, True, [0.4, 0.45], 1.0), Trial(1, {**base, "rerank.num_leaves": 9}, False, [0.3], 1.0)]
    first = suggest(trials, space, seed=1)
    assert first == suggest(trials, space, seed=1)
    assert first != suggest(trials, space, seed=2)
    assert first != suggest(trials[:1], space, seed=1)
    for name, part in space.items():
        inside = first[name] in part.choices if isinstance(part, Choices) else part.low <= first[name] <= part.high
        assert inside, name
    with_options(Config(), first)


@pytest.mark.parametrize(
    ("folds", "expected"),
    [
        ([0.1], False),  # too early
        ([0.9, 0.24], True),  # the median after two folds is 0.25
        ([0.1, 0.25], False),
        ([0.1, 0.9, 0.34], True),
    ],
)
def test_a_trial_is_given_up_below_the_median(folds: list[float], expected: bool) -> None:
    full = [Trial(number, {}, True, [0.5, 0.1 * number + 0.1, 0.35], 0.0) for number in range(4)]
    full.append(Trial(4, {}, False, [0.5, 9.0], 0.0))
    assert falls_behind(folds, full) is expected
    assert not falls_behind(folds, full[1:])  # too few to compare with


# --- what the command refuses


def test_a_run_whose_answers_need_other_models(tmp_path: Path) -> None:
    tagger = TaggerConfig(name="lstm")
    for config, piece in (
        (Config(mode="joint", tagger=tagger, joint=JointConfig()), "has mode=joint"),
        (Config(relevance=RelevanceConfig(name="malstm")), "has relevance.name=malstm"),
    ):
        save_run_config(tmp_path / "config.yaml", config)
        with pytest.raises(ConfigError, match=piece):
            check_run(RunFolder(tmp_path))


def test_other_files_than_those_of_the_training(run: RunFolder, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(TRAIN.read_bytes() + b"\n")
    for files, piece in (
        ([other], r"other\.jsonl: not what .*r was trained on: tiny\.jsonl \(54 rows\)"),
        ([TRAIN, TRAIN], r"tiny\.jsonl: not what"),
        ([tmp_path / "none"], "none: no such file"),
    ):
        with pytest.raises(DataError, match=piece):
            load_run_data(run, files)


def test_articles_and_space_may_come_from_pipes(run: RunFolder, data: RunData) -> None:
    with inputs_kept(), piped(TRAIN.read_bytes()) as path:
        assert load_run_data(run, [path], workers=1).articles == data.articles
    with piped(b"rerank.num_leaves: {choices: [4, 8]}") as path:
        assert [*read_space(path, data.config)] == ["rerank.num_leaves"]


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Done:
    code = main(["tune", *map(str, arguments)])
    return Done(code, *capsys.readouterr())


def test_without_optuna_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = command(capsys)
    assert (done.code, done.message) == (2, "tune needs Optuna, which is not installed")
    assert "pip install -r requirements-tune.txt" in done.err


@needs_optuna
def test_the_command_from_end_to_end(
    run: RunFolder,
    space_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(run.path.parents[1])
    arguments = ("--train", TRAIN, "--space", space_file, "--out", tmp_path / "s", "--trials", 2)
    done = command(capsys, *arguments)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "2 trials, 0 of them given up before the last fold; best: trial " + str(
        max(trials_of(tmp_path / "s"), key=lambda trial: trial.value).number
    )
    assert done.out.splitlines()[-1] == str(tmp_path / "s" / "best.yaml")
    assert command(capsys, *arguments).message == f"{tmp_path / 's'}: the search exists already"
    again = command(capsys, *arguments, "--resume")
    assert (again.code, again.out) == (0, done.out)
    assert "something else than a search" in command(capsys, "--train", TRAIN, "--out", run.path).message
    entity = ("--metric", "entity_f1", "--out", tmp_path / "e")
    refused = command(capsys, "--train", TRAIN, "--space", space_file, *entity)
    assert (refused.code, "cannot search sentiment.class_weight_power" in refused.message) == (2, True)

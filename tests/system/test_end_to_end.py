"""Train, predict, check and evaluate as a user does: scores, identical bytes, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest

from pipeline.data.read import iter_articles
from pipeline.submission import read_submission, read_table
from tests.support.command_line import Cli, Done, TinyRun, TinyRuns

SCORE_FLOOR = 0.8
"""On articles whose entities and emotions follow a simple pattern; a broken stage falls far below it."""
POLL_S = 0.05
WAIT_S = 120


@pytest.fixture(scope="module")
def answer(tiny_runs: TinyRuns, tiny_run: TinyRun, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return upload file, CSV and details of all tiny articles, in one; more than one chunk of articles."""
    return tiny_runs.predict(tiny_run, tiny_data / "all.jsonl", tmp_path_factory.mktemp("answer") / "all.txt")


def interrupt(process: Popen[bytes], ready: Callable[[], object]) -> Done:
    """Press Ctrl-C, which reaches every process of the group, as soon as ``ready`` says so."""
    deadline = time.monotonic() + WAIT_S
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(POLL_S)
    assert process.poll() is None, process.communicate()[1].decode()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    return Done(process.returncode, out.decode(), err.decode())


def temporary_files(folder: Path) -> list[Path]:
    return list(folder.rglob("*.tmp"))


# --- the job


def test_train_predict_check_evaluate(cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    test_file = tiny_data / "test.jsonl"
    done = cli.run("predict", "--input", test_file, "--details", "details.jsonl", cwd=tmp_path)  # newest run, its name
    assert (done.code, done.out) == (0, "submissions/tiny.txt\n")
    checked = cli.run("check", "--submission", "submissions/tiny.txt", "--input", test_file, cwd=tmp_path)
    assert (checked.code, checked.out) == (0, "submissions/tiny.txt: valid\n")
    arguments = ("--gold", test_file, "--submission", "submissions/tiny.txt", "--json", "figures.json")
    evaluated = cli.run("evaluate", *arguments, cwd=tmp_path)
    assert evaluated.code == 0
    figures = json.loads((tmp_path / "figures.json").read_bytes())
    assert figures["n_articles"] == 10
    assert figures["score"] >= SCORE_FLOOR
    assert f"score{figures['score']:>23.4f}" in evaluated.out

    answers = read_submission(tmp_path / "submissions" / "tiny.txt")
    table = read_table(tmp_path / "submissions" / "tiny.csv")
    assert [(row.newsId, row.entity, row.emotion) for row in table.itertuples()] == [
        (news_id, entity.name, entity.emotion) for news_id, entities in answers.items() for entity in entities
    ]
    articles = {article.news_id: article for article in iter_articles(test_file, labelled=False)}
    for line in (tmp_path / "details.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert [entity["entity"] for entity in row["entities"]] == [e.name for e in answers[row["newsId"]]]
        assert row["candidates"]
        for entity in row["entities"]:
            assert sum(entity["probs"].values()) == pytest.approx(1, abs=1e-5)
            assert entity["mentions"]
            for mention in entity["mentions"]:
                field = articles[row["newsId"]].field(mention["field"])
                assert field[mention["start"] : mention["end"]] == mention["surface"]
    assert not temporary_files(tmp_path)


def test_a_run_folder_holds_what_it_should(tiny_run: TinyRun) -> None:
    figures = json.loads((tiny_run.path / "metrics.json").read_bytes())
    manifest = json.loads((tiny_run.path / "manifest.json").read_bytes())
    assert figures["out_of_fold"]["score"] >= SCORE_FLOOR
    assert figures["rerank"]["candidate_recall"] >= 0.97
    assert figures["data"]["articles"] == 44
    assert manifest["seed"] == 7
    assert manifest["command"][:2] == ["run.py", "train"]
    assert manifest["preset"] == figures["preset"] == "tiny"
    assert manifest["data"][0]["rows"] == 44
    assert not [path for path in tiny_run.path.rglob("*") if path.suffix in {".pkl", ".pickle", ".joblib", ".pt"}]
    assert not temporary_files(tiny_run.path)


@pytest.mark.slow
def test_demo_runs_the_whole_job_on_the_sample(cli: Cli, tmp_path: Path) -> None:
    done = cli.run("demo", "--preset", "tiny", cwd=tmp_path)
    assert done.code == 0, done.err
    headlines = [line for line in done.out.splitlines() if line.startswith("== ")]
    assert headlines == [f"== {name} ==" for name in DEMO_STEPS]
    results = [line.split(": ")[1] for line in done.out.splitlines() if line.split(":")[0] in DEMO_RESULTS]
    assert len(results) == len(DEMO_RESULTS)
    assert [name for name in results if not (tmp_path / name).exists()] == []
    (report,) = tmp_path.glob("models/*/report/report.json")
    assert json.loads(report.read_bytes())["run"]["preset"] == "tiny"


DEMO_STEPS = ("audit", "train", "predict", "check", "evaluate", "report")
DEMO_RESULTS = ("run folder", "upload file", "table", "details", "figures", "page", "report", "errors")


# --- identical bytes


@pytest.mark.parametrize(
    ("workers", "env"),
    [
        pytest.param(2, {}, id="two workers"),
        pytest.param(
            1,
            {
                "PYTHONHASHSEED": "123",
                "OMP_NUM_THREADS": "2",
                "LC_ALL": "C",
                "PYTHONUTF8": "0",
                "PYTHONIOENCODING": "gbk",
            },
            id="hash seed, threads and locale",
        ),
    ],
)
def test_predict_gives_the_same_bytes(
    tiny_runs: TinyRuns,
    tiny_run: TinyRun,
    tiny_data: Path,
    tmp_path: Path,
    answer: bytes,
    workers: int,
    env: dict[str, str],
) -> None:
    found = tiny_runs.predict(tiny_run, tiny_data / "all.jsonl", tmp_path / "all.txt", workers=workers, env=env)
    assert found == answer


def test_a_moved_run_predicts_the_same(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path, answer: bytes
) -> None:
    folder = tmp_path / "另一 台机器"
    tiny_run.copy_to(folder, name="renamed")
    (folder / "输入.jsonl").write_bytes((tiny_data / "all.jsonl").read_bytes())
    arguments = ("--run", "renamed", "--input", "输入.jsonl", "--output", "a/b/all.txt", "--details", "c.jsonl")
    done = cli.run("predict", *arguments, "--workers", "1", cwd=folder)
    assert done.code == 0, done.err
    paths = (folder / name for name in ("a/b/all.txt", "a/b/all.csv", "c.jsonl"))
    assert b"".join(path.read_bytes() for path in paths) == answer


SETTINGS = {
    "hash seed": {"hash_seed": "123"},
    "shuffled file, two threads": {"shuffle": 1, "env": {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}},
    "two workers": {"workers": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_training_again_gives_the_same_models(tiny_runs: TinyRuns, tiny_run: TinyRun, name: str) -> None:
    runs = dict(zip(SETTINGS, tiny_runs.train_all(list(SETTINGS.values())), strict=True))
    assert runs[name].contents == tiny_run.contents


def test_a_shuffled_training_file_and_two_threads_give_the_same_submission(
    tiny_runs: TinyRuns, tiny_data: Path, tmp_path: Path, answer: bytes
) -> None:
    again = tiny_runs.train(**SETTINGS["shuffled file, two threads"])
    assert tiny_runs.predict(again, tiny_data / "all.jsonl", tmp_path / "all.txt") == answer


@pytest.mark.slow
def test_another_seed_gives_other_models(tiny_runs: TinyRuns, tiny_run: TinyRun) -> None:
    """Were the seed without effect, the tests above would say nothing."""
    assert tiny_runs.train(seed=8).contents != tiny_run.contents


# --- Ctrl-C


def test_an_interrupted_training_resumes_to_the_same_models(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    options = ("--preset", "tiny", "--set", "workers=1", "--run", "broken", "--train", tiny_data / "train.jsonl")
    broken = TinyRun(tmp_path, "broken")
    process = cli.start("train", *options, cwd=tmp_path)
    done = interrupt(process, (broken.path / "progress.json").is_file)
    assert done.code == 130
    assert done.message == "interrupted"
    assert "go on with: python run.py train --run broken --resume" in done.err
    assert done.out == ""
    assert not (broken.path / "manifest.json").exists()
    assert not temporary_files(tmp_path)
    unfinished = cli.run("predict", "--run", "broken", "--input", tiny_data / "test.jsonl", cwd=tmp_path)
    assert (unfinished.code, unfinished.message) == (4, "models/broken: the run is unfinished (no manifest.json)")
    resumed = cli.run("train", "--run", "broken", "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert "stage rerank: done before" in resumed.err
    assert broken.contents == tiny_run.contents


def test_other_options_of_the_reranker_leave_the_emotions_as_they_are(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    (tiny_run.copy_to(tmp_path) / "manifest.json").unlink()
    options = ("--preset", "tiny", "--set", "workers=1", "--run", "tiny", "--train", tiny_data / "train.jsonl")
    done = cli.run("train", *options, "--resume", "--set", "rerank.n_estimators=20", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "stage rerank runs again" in done.err
    assert "stage sentiment: done before" in done.err


@pytest.mark.parametrize(
    "ready",
    [
        pytest.param("candidates/settings.json", id="while workers start"),
        pytest.param("progress.json", id="while folds are trained", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_training_with_workers_says_one_line(
    cli: Cli, tiny_data: Path, tmp_path: Path, ready: str
) -> None:
    options = ("--preset", "tiny", "--set", "workers=2", "--run", "broken", "--train", tiny_data / "train.jsonl")
    process = cli.start("train", *options, cwd=tmp_path)
    done = interrupt(process, (tmp_path / "models" / "broken" / ready).is_file)
    assert done.code == 130
    assert done.message == "interrupted"
    assert not temporary_files(tmp_path)


def test_an_interrupted_prediction_leaves_no_file(cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    (tmp_path / "answer.csv").write_bytes(b"earlier\n")
    arguments = ("--input", tiny_data / "all.jsonl", "--output", "answer.txt", "--force")
    process = cli.start("predict", *arguments, "--workers", 2, cwd=tmp_path)
    done = interrupt(process, lambda: temporary_files(tmp_path))
    assert done.code == 130
    assert done.message == "interrupted"
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.csv", "models"]
    assert (tmp_path / "answer.csv").read_bytes() == b"earlier\n"
    again = cli.run("predict", *arguments, cwd=tmp_path)
    assert again.code == 0
    assert len(read_submission(tmp_path / "answer.txt")) == 54

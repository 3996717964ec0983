"""The commands as processes: help, one line for everything that can be wrong, and no half-written file."""

from __future__ import annotations

import gzip
import json
import logging
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.cli import main
from pipeline.config import load_config
from pipeline.errors import ConfigError
from pipeline.submission import read_submission
from pipeline.workflow.train import TrainRequest
from tests.support.command_line import Cli, Done, TinyRun
from tests.support.paths import ROOT

COMMANDS = ("demo", "audit", "train", "predict", "check", "evaluate", "report", "explain", "tune")
SLOW_IMPORTS = ("accelerate", "joblib", "lightgbm", "numpy", "omegaconf", "pandas", "sklearn", "torch", "transformers")
MAX_HELP_SECONDS = 0.5
"""Of processor time, so that a busy machine does not count."""

GOOD = {
    "newsId": "a1",
    "coreEntityEmotions": [{"entity": "砚台超市", "emotion": "POS"}],
    "title": "砚台超市开业",
    "content": "砚台超市今天开业，砚台超市好评如潮。",
}


def rows(*items: object) -> bytes:
    """Return JSON lines of objects; strings stand for themselves."""
    return b"".join(f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n".encode() for x in items)


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name != key}


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file but locks, which a run folder keeps."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """Run a command in this process, with the temporary folder as working folder: spares seconds of imports."""
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    yield run
    root.handlers[:] = handlers
    package.setLevel(level)
    signal.signal(signal.SIGTERM, on_term)


# --- help


def test_help_lists_the_commands_in_half_a_second(cli: Cli, tmp_path: Path) -> None:
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = cli.run("--help", cwd=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert done.code == 0
    assert done.err == ""
    assert [command for command in COMMANDS if f"  {command} " in done.out] == list(COMMANDS)
    assert min(seconds) < MAX_HELP_SECONDS


def test_help_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    code = "import sys; from pipeline.cli import main; main(['train', '--help']); print(*sys.modules, file=sys.stderr)"
    done = cli.run(cwd=tmp_path, code=code)
    assert done.code == 0
    assert not set(SLOW_IMPORTS) & set(done.err.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli: Cli, tmp_path: Path, command: str) -> None:
    done = cli.run(command, "--help", cwd=tmp_path)
    assert done.code == 0
    assert f"Example: python run.py {command}" in done.out


def test_no_argument_shows_help(cli: Cli, tmp_path: Path) -> None:
    done = cli.run(cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "Commands:" in done.out


def test_version(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("--version", cwd=tmp_path).out == f"{__version__}\n"


# --- bad input, exit codes 2 and 3

TRAIN = ("train", "--preset", "tiny", "--run", "new", "--train", "rows.jsonl")
BAD_TRAINING = {
    "missing file": (None, 3, ["rows.jsonl: no such file"]),
    "empty file": (b"", 3, ["rows.jsonl: the file is empty"]),
    "blank lines only": (b"\n\n", 3, ["rows.jsonl: the file is empty"]),
    "no newsId": (rows(GOOD, without("newsId")), 3, ["rows.jsonl:2: no newsId"]),
    "wrong emotion": (
        rows(GOOD, GOOD | {"coreEntityEmotions": [{"entity": "砚台超市", "emotion": "GOOD"}]}),
        3,
        ["rows.jsonl:2: emotion 'GOOD' is not one of POS, NORM, NEG"],
    ),
    "unlabelled row": (rows(GOOD, GOOD, without("coreEntityEmotions")), 3, ["rows.jsonl:3: no coreEntityEmotions"]),
    "not JSON": (rows(GOOD, '{"newsId": "b"'), 3, ["rows.jsonl:2: not JSON"]),
    "not UTF-8": (rows(GOOD) + "标题\n".encode("gbk"), 3, ["rows.jsonl:2: not UTF-8"]),
    "title is a number": (rows(GOOD | {"title": 7}), 3, ["rows.jsonl:1: title is not text but 7"]),
    "damaged gzip": (gzip.compress(rows(GOOD))[:-9], 3, ["rows.jsonl: damaged or not gzip"]),
    "many bad rows": (rows(*[without("newsId")] * 30), 3, ["rows.jsonl:1: no newsId", "and at least 19 more bad rows"]),
    "too few articles": (rows(GOOD), 3, ["1 articles in 1 groups", "too few for 3 folds"]),
}


@pytest.mark.parametrize("name", BAD_TRAINING)
def test_train_refuses_bad_data(run_here: Callable[..., Done], tmp_path: Path, name: str) -> None:
    content, code, pieces = BAD_TRAINING[name]
    if content is not None:
        (tmp_path / "rows.jsonl").write_bytes(content)
    before = files_in(tmp_path)
    done = run_here(*TRAIN)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert files_in(tmp_path) == before


BAD_OPTIONS = {
    "unknown preset": (["--preset", "huge"], 2, ["unknown preset 'huge'", "best, cpu, fast, full, tiny"]),
    "no rows to learn from first": (["--set", "sentiment.transfer=[none.jsonl]"], 3, ["none.jsonl", "no such file"]),
    "unknown key": (["--set", "rerank.num_leafs=3"], 2, ["num_leafs", "Did you mean: 'num_leaves'"]),
    "unknown group": (["--set", "rank.num_leaves=3"], 2, ["rank.num_leaves"]),
    "not a number": (["--set", "rerank.num_leaves=many"], 2, ["rerank.num_leaves=many", "Integer"]),
    "out of range": (["--set", "rerank.num_leaves=0"], 2, ["rerank.num_leaves must lie between"]),
    "no value": (["--set", "rerank.num_leaves"], 2, ["want key=value"]),
    "unknown head": (["--set", "sentiment.members=[tfidf,iann]"], 2, ["'iann'", "af_lstm"]),
    "no config file": (["--config", "nowhere.yaml"], 2, ["nowhere.yaml: no such configuration file"]),
    "config with unknown key": (["--config", "strange.yaml"], 2, ["strange.yaml", "colour"]),
    "config not YAML": (["--config", "broken.yaml"], 2, ["broken.yaml: not valid YAML"]),
    "unknown option": (["--bogus", "1"], 2, ["No such option: --bogus"]),
    "run name with a path": (["--run", "../outside"], 2, ["run name '../outside'"]),
    "existing run": (["--run", "old"], 2, ["models/old: the run exists already"]),
    "no dictionary": (["--set", "candidates.dictionary=nowhere.txt"], 3, ["nowhere.txt: no such dictionary file"]),
    "no dev file": (["--dev", "nowhere.jsonl"], 3, ["nowhere.jsonl: no such file"]),
    "bad dev file": (["--dev", "bad.jsonl"], 3, ["bad.jsonl:1: no newsId"]),
    "nothing to resume": (["--resume", "--run", "old", "--train", "nowhere"], 3, ["nowhere: no such file"]),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_train_refuses_bad_options(run_here: Callable[..., Done], tiny_data: Path, tmp_path: Path, name: str) -> None:
    options, code, pieces = BAD_OPTIONS[name]
    (tmp_path / "rows.jsonl").write_bytes((tiny_data / "train.jsonl").read_bytes())
    (tmp_path / "bad.jsonl").write_bytes(rows(without("newsId")))
    (tmp_path / "strange.yaml").write_text("colour: red\n")
    (tmp_path / "broken.yaml").write_text("rerank: [1\n")
    (tmp_path / "models" / "old").mkdir(parents=True)
    (tmp_path / "models" / "old" / "log.txt").touch()
    before = files_in(tmp_path)
    done = run_here(*TRAIN, *options)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert files_in(tmp_path) == before


def test_train_says_that_its_output_folder_is_not_writable(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    (tmp_path / "models").touch()
    done = cli.run("train", "--preset", "tiny", "--run", "new", "--train", tiny_data / "train.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert "models/new: cannot be written" in done.message


def test_the_process_answers_as_the_function_does(cli: Cli, tmp_path: Path) -> None:
    """Bad data twice under one name: the first failure leaves nothing that stands in the way."""
    for content, piece in ((rows(without("newsId")), "no newsId"), (rows(GOOD), "too few for 3 folds")):
        (tmp_path / "rows.jsonl").write_bytes(content)
        done = cli.run(*TRAIN, cwd=tmp_path)
        assert done.code == 3
        assert piece in done.message


@pytest.mark.parametrize(
    ("arguments", "code", "piece"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["check"], 2, "Missing option"),
        (["audit"], 2, "Missing argument"),
        (["demo", "--preset", "huge"], 2, "unknown preset 'huge'"),
        (["audit", "nowhere.jsonl"], 3, "nowhere.jsonl: no such file"),
        (["audit", "rows.jsonl", "--json", "rows.jsonl"], 2, "rows.jsonl: would overwrite rows.jsonl"),
        (["audit", "rows.jsonl", "--json", "blocker/a.json"], 2, "blocker/a.json: cannot be written"),
        (["check", "--submission", "nowhere.txt", "--input", "rows.jsonl"], 3, "nowhere.txt: cannot be read"),
        (["check", "--submission", "rows.jsonl", "--input", "nowhere"], 3, "nowhere: no such file"),
        (["evaluate", "--gold", "rows.jsonl", "--submission", "blocker"], 3, "blocker: holds no line"),
        (["evaluate", "--gold", "rows.jsonl", "--submission", "rows.jsonl"], 3, "rows.jsonl:1: wrong number of tab"),
        (["evaluate", "--gold", "test.jsonl", "--submission", "blocker"], 3, "test.jsonl:1: no coreEntityEmotions"),
    ],
)
def test_other_commands_refuse(cli: Cli, tmp_path: Path, arguments: list[str], code: int, piece: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD))
    (tmp_path / "test.jsonl").write_bytes(rows(without("coreEntityEmotions")))
    (tmp_path / "blocker").touch()
    before = files_in(tmp_path)
    done = cli.run(*arguments, cwd=tmp_path)
    assert done.code == code, done.err
    assert piece in done.message
    assert files_in(tmp_path) == before


def test_check_lists_every_problem_and_exits_3(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD, GOOD | {"newsId": "a2"}))
    (tmp_path / "answer.txt").write_bytes("a1\t砚台超市\tGOOD\na3\t\t\n".encode())
    done = cli.run("check", "--submission", "answer.txt", "--input", "rows.jsonl", cwd=tmp_path)
    assert done.code == 3
    assert done.err == ""
    lines = done.out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["line 1", "line 2", "missing id a2", "answer.txt"]
    assert lines[-1] == "answer.txt: 3 problem(s)"


def test_audit_of_the_tiny_articles_matches_the_golden_file(
    cli: Cli, tiny_data: Path, golden: Callable[[str, str], None]
) -> None:
    done = cli.run("audit", "train.jsonl", "test.jsonl", cwd=tiny_data)
    assert (done.code, done.err) == (0, "")
    golden("audit.txt", done.out)


# --- predict: what is wrong with a run, or with where the answer goes


def tamper(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def set_schema_version(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"schema_version": 0}))


BAD_RUNS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "model changed": ("rerank/model/model.txt", tamper, "models/tiny/rerank/model/model.txt: changed since"),
    "weights changed": ("candidates/pruners.json", tamper, "models/tiny/candidates/pruners.json: changed"),
    "features missing": ("rerank/model/features.json", Path.unlink, "models/tiny/rerank/model/features.json: missing"),
    "other schema version": ("manifest.json", set_schema_version, "manifest.json: saved with schema version 0"),
    "manifest not JSON": ("manifest.json", lambda path: path.write_text("{"), "manifest.json: not valid JSON"),
    "unfinished": ("manifest.json", Path.unlink, "models/tiny: the run is unfinished"),
}


@pytest.mark.parametrize("name", BAD_RUNS)
def test_predict_refuses_a_run_that_is_not_as_saved(
    run_here: Callable[..., Done], tiny_run: TinyRun, tiny_data: Path, tmp_path: Path, name: str
) -> None:
    file, damage, piece = BAD_RUNS[name]
    damage(tiny_run.copy_to(tmp_path) / file)
    arguments = ("--input", tiny_data / "test.jsonl", "--output", "answer.txt")
    done = run_here("predict", "--run", "tiny", *arguments)
    assert done.code == 4, done.err
    assert piece in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


BAD_PREDICTIONS = {
    "no run of that name": (["--run", "other"], 4, "models/other: no such run folder"),
    "run name with a path": (["--run", "../tiny"], 2, "run name '../tiny'"),
    "missing input": (["--input", "nowhere.jsonl"], 3, "nowhere.jsonl: no such file"),
    "empty input": (["--input", "blocker"], 3, "blocker: the file is empty"),
    "input is a folder": (["--input", "models"], 3, "models: is a folder"),
    "bad row in the middle": (["--input", "bad.jsonl"], 3, "bad.jsonl:2: no newsId"),
    "output below a file": (["--output", "blocker/answer.txt"], 2, "blocker/answer.txt: cannot be written"),
    "output is a folder": (["--output", "models"], 2, "models: is a folder or device"),
    "output is this folder": (["--output", "."], 2, ".: is a folder or device"),
    "output is the input": (["--output", "rows.jsonl"], 2, "rows.jsonl: would overwrite rows.jsonl"),
    "output is its own table": (["--output", "answer.csv"], 2, "answer.csv: would overwrite answer.csv"),
    "details are the output": (["--details", "answer.txt"], 2, "answer.txt: would overwrite answer.txt"),
    "no article": (["--limit", "0"], 2, "--limit"),
    "no worker": (["--workers", "0"], 2, "--workers"),
}


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_predict_refuses(run_here: Callable[..., Done], tiny_run: TinyRun, tmp_path: Path, name: str) -> None:
    options, code, piece = BAD_PREDICTIONS[name]
    tiny_run.copy_to(tmp_path)
    (tmp_path / "blocker").touch()
    (tmp_path / "rows.jsonl").write_bytes(rows(GOOD))
    (tmp_path / "bad.jsonl").write_bytes(rows(GOOD, without("newsId"), GOOD | {"newsId": "a2"}))
    before = files_in(tmp_path)
    articles = [] if "--input" in options else ["--input", "rows.jsonl"]
    done = run_here("predict", "--run", "tiny", *articles, "--output", "answer.txt", *options)
    assert done.code == code, done.err
    assert piece in done.message
    assert files_in(tmp_path) == before


def test_strange_articles_all_get_their_line(run_here: Callable[..., Done], tiny_run: TinyRun, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    rows = [
        {"newsId": "007", "title": "", "content": ""},
        {"newsId": "NA", "title": None, "content": "　\n\t"},
        {"newsId": "emoji", "title": "😀", "content": "😀😀🎉"},
        {"newsId": "../../outside/x", "title": "/etc/x", "content": "../x"},
        {"newsId": "latin", "title": "Only Latin", "content": "nova pad x2, nova pad x2!"},
        {"newsId": "one line", "title": "长", "content": "没有标点的一句话" * 2000},
        {"newsId": "marks", "title": "《》", "content": "。。。，，，“”"},
        {"newsId": "comma", "title": "《云上,座城》口碑", "content": "《云上,座城》今晚开播，好评如潮。"},
        {
            "newsId": "html",
            "title": "&nbsp;&amp;",
            "content": "<p>砚台超市&nbsp;&nbsp;被罚</p>https://a.example.com/b?c=1",
        },
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = run_here("predict", "--input", "rows.jsonl", "--output", "answer.txt")
    assert done.code == 0, done.err
    lines = (tmp_path / "answer.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert [line.split("\t")[0] for line in lines] == [row["newsId"] for row in rows]
    assert lines[:2] == ["007\t\t", "NA\t\t"]
    assert run_here("check", "--submission", "answer.txt", "--input", "rows.jsonl").code == 0
    names = [".answer.txt.json", "answer.csv", "answer.txt", "models", "rows.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_limit_and_bad_rows(run_here: Callable[..., Done], tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    tiny_run.copy_to(tmp_path)
    lines = (tiny_data / "test.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join([lines[0], b"not JSON\n", *lines[1:]]))
    arguments = ("--input", "rows.jsonl", "--output", "answer.txt", "--skip-bad-rows", "--limit", "3")
    done = run_here("predict", *arguments)
    assert done.code == 0
    assert "1 malformed rows left out (first: rows.jsonl:2: not JSON" in done.err
    assert list(read_submission(tmp_path / "answer.txt")) == ["tiny044", "tiny045", "tiny046"]


def test_the_official_files_are_read_where_none_is_named(run_here: Callable[..., Done], tmp_path: Path) -> None:
    for command in (("train", "--preset", "tiny"), ("train", "--dry-run"), ("predict",)):
        done = run_here(*command)
        assert done.code == 3
        assert done.message.startswith("data/coreEntityEmotion_")
        assert "python run.py demo" in done.err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coreEntityEmotion_train.txt").write_bytes(rows(GOOD))
    done = run_here("train", "--preset", "tiny", "--run", "few")
    assert (done.code, "too few for 3 folds" in done.message) == (3, True)
    assert "training file: data/coreEntityEmotion_train.txt" in done.err


@pytest.mark.parametrize(
    ("arguments", "preset"),
    [
        (["train"], "cpu"),
        (["train", "--preset", "tiny"], "tiny"),
        (["train", "--preset=tiny"], "tiny"),
        (["train", "--preset", "fast", "--preset=tiny"], "tiny"),
        (["train", "--preset=best", "--set", "candidates.dictionary=--preset"], "best"),
        (["demo"], "fast"),
        (["demo", "--preset=tiny"], "tiny"),
    ],
)
def test_a_training_is_told_its_preset_however_it_is_spelled(
    run_here: Callable[..., Done],
    tiny_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    preset: str,
) -> None:
    asked = []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coreEntityEmotion_train.txt").write_bytes((tiny_data / "train.jsonl").read_bytes())

    def stop(request: TrainRequest, run: object) -> None:
        asked.append(request)
        raise ConfigError("far enough")

    monkeypatch.setattr("pipeline.workflow.train.train", stop)
    done = run_here(*arguments)
    assert (done.code, done.message) == (2, "far enough")
    assert [request.preset for request in asked] == [preset]
    want = load_config(preset=preset)
    assert [replace(request.config, candidates=want.candidates) for request in asked] == [want]


def test_predict_without_any_run_says_how_to_train(cli: Cli, tmp_path: Path) -> None:
    done = cli.run("predict", "--input", ROOT / "data" / "sample" / "test.jsonl", cwd=tmp_path)
    assert done.code == 4
    assert done.message == "models: no finished run"
    assert "hint: python run.py train" in done.err


def test_a_traceback_is_shown_on_demand_alone(cli: Cli, tmp_path: Path) -> None:
    plain = cli.run("audit", "nowhere.jsonl", cwd=tmp_path)
    debug = cli.run("--debug", "audit", "nowhere.jsonl", cwd=tmp_path)
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert plain.code == debug.code == 3


def test_a_reader_that_went_away_is_told_by_the_exit_code_alone(cli: Cli, tiny_data: Path) -> None:
    process = cli.start("audit", "all.jsonl", cwd=tiny_data)  # as in "audit FILE | head"
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")

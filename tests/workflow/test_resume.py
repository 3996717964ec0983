"""``train --resume``: with the run's own files and options; a command that fails spoils no run and leaves no folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder, read_json
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.workflow.begun import Begun, stored_config
from pipeline.workflow.run_config import load_run_config
from tests.support.command_line import Cli, Done, TinyRun


@pytest.fixture
def run(tiny_run: TinyRun, tmp_path: Path) -> RunFolder:
    return RunFolder(tiny_run.copy_to(tmp_path, "first"))


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder but the log."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name not in (".lock", "log.txt")
    }


def test_a_run_goes_on_by_its_name_alone(cli: Cli, tiny_run: TinyRun, run: RunFolder, tmp_path: Path) -> None:
    run.manifest.unlink()
    shutil.rmtree(run.stage("rerank"))
    done = cli.run("train", "--run", "first", "--resume", cwd=tmp_path)
    assert (done.code, done.out) == (0, "models/first\n"), done.err
    assert "going on with models/first: preset tiny, " in done.err
    assert "stage sentiment: done before" in done.err
    assert TinyRun(tmp_path, "first").contents == tiny_run.contents
    assert RunFolder(run.path).preset == "tiny"


def test_what_a_run_was_begun_with_is_kept(run: RunFolder, tiny_data: Path) -> None:
    begun = Begun.load(run)
    assert begun.files(run) == [tiny_data / "train.jsonl"]
    assert (begun.preset, begun.limit, begun.dev, begun.skip_bad_rows) == ("tiny", None, None, False)
    assert "request.json" not in read_json(run.manifest)["files"]  # its paths are those of this machine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--set", "rerank.n_estimators=3"],
            r"rerank.n_estimators=3: models/first was begun with rerank.n_estimators=",
        ),
        (["--preset", "fast"], "was begun with"),
        (["--limit", "5"], "--limit 5: models/first was begun with no limit"),
        (["--skip-bad-rows"], "--skip-bad-rows: models/first was begun without it"),
        (["--set", "seed=8", "--dry-run"], "seed=8: models/first was begun with seed=7"),
    ],
    ids=["option", "preset", "limit", "bad rows", "dry run"],
)
def test_other_options_are_refused(
    run_here: Callable[..., Done], run: RunFolder, options: list[str], message: str
) -> None:
    before = contents(run.path)
    done = run_here("train", "--run", "first", "--resume", *options)
    assert done.code == 2
    assert message in done.message
    assert contents(run.path) == before


def test_the_same_options_and_other_workers_are_accepted(run: RunFolder) -> None:
    begun, stored = Begun.load(run), load_run_config(run.config)
    alike = ["rerank.n_estimators=" + str(stored.rerank.n_estimators), "seed=7"]
    assert stored_config(run, begun, preset=None, file=None, overrides=alike) == stored
    other = stored_config(run, begun, preset="tiny", file=None, overrides=["workers=5"])
    assert other.workers == 5
    with pytest.raises(ConfigError, match=r"num_leafs"):
        stored_config(run, begun, preset=None, file=None, overrides=["rerank.num_leafs=3"])


def test_files_that_are_given_leave_the_options_as_they_are(run_here: Callable[..., Done], run: RunFolder) -> None:
    """The default preset once took the place of the run's options, and every stage ran again."""
    before, (train,) = load_run_config(run.config), Begun.load(run).files(run)
    done = run_here("train", "--run", "first", "--resume", "--train", train)
    assert done.code == 0, done.err
    assert "runs again" not in done.err
    assert (load_run_config(run.config), Begun.load(run).preset) == (before, "tiny")
    changed = ["--set", f"sentiment.dev_fraction={before.sentiment.dev_fraction + 0.1}"]
    done = run_here("train", "--run", "first", "--resume", "--train", train, *changed, "--dry-run")
    assert done.code == 0, done.err
    done = run_here("train", "--run", "first", "--resume", "--train", train, *changed)
    assert done.code == 0, done.err
    assert "stage rerank: done before" in done.err
    assert "stage sentiment runs again" in done.err
    after = load_run_config(run.config)
    assert after.sentiment.dev_fraction == pytest.approx(before.sentiment.dev_fraction + 0.1)
    assert after.rerank == before.rerank


def test_files_that_are_gone_or_changed_are_told(run: RunFolder, tmp_path: Path) -> None:
    begun = Begun.load(run)
    moved = tmp_path / "moved.jsonl"
    other = Begun((str(moved),), begun.sha256)
    with pytest.raises(DataError, match=r"moved\.jsonl: no such file; .*first was begun with it"):
        other.files(run)
    moved.write_bytes(b"{}\n")
    with pytest.raises(DataError, match=r"moved\.jsonl: changed since .*first was begun with it"):
        other.files(run)


@pytest.mark.parametrize(
    ("content", "message"), [("{}", "cannot be read"), ("[]", "cannot be read"), ("{", "not valid")]
)
def test_a_damaged_request_is_told(run: RunFolder, content: str, message: str) -> None:
    run.request.write_text(content)
    with pytest.raises(ArtifactError, match=rf"request\.json: {message}"):
        Begun.load(run)


def test_a_run_that_does_not_say_or_is_not_there(run_here: Callable[..., Done], run: RunFolder) -> None:
    run.request.unlink()
    done = run_here("train", "--run", "first", "--resume")
    assert (done.code, done.message) == (4, "models/first: does not say what it was begun with")
    assert run.manifest.is_file()
    done = run_here("train", "--run", "second", "--resume")
    assert (done.code, done.message) == (4, "models/second: no such run folder")
    assert not (run.path.parent / "second").exists()


BAD = {
    "member": (["--set", "sentiment.members=[tfidff]"], "unknown sentiment member 'tfidff'"),
    "matcher": (["--set", "relevance.name=mal"], "mal"),
    "tagger": (["--set", "tagger.name=lstmm"], "lstmm"),
    "encoder": (["--set", "tagger.name=bert", "--set", "tagger.encoder=builtin:x"], "unknown encoder 'builtin:x'"),
    "dictionary": (["--set", "candidates.dictionary=none.txt"], "none.txt: no such dictionary file"),
    "dictionary in another encoding": (
        ["--set", "candidates.dictionary=names.txt"],
        "names.txt:1: not UTF-8 at byte 0",
    ),
    "dictionary without names": (["--set", "candidates.dictionary=blank.txt"], "blank.txt: holds no name of"),
    "development file": (["--dev", "none.jsonl"], "none.jsonl: no such file"),
    "bad rows": (["--train", "bad.jsonl"], "bad.jsonl:1: "),
    "bad rows to score": (["--dev", "bad.jsonl"], "bad.jsonl:1: "),
    "too few": (["--limit", "1"], "too few for 3 folds"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_command_that_fails_leaves_everything_as_it_was(
    run_here: Callable[..., Done], run: RunFolder, tiny_data: Path, tmp_path: Path, name: str
) -> None:
    options, message = BAD[name]
    (tmp_path / "bad.jsonl").write_text('{"title": 3}\n')
    (tmp_path / "names.txt").write_bytes(b"\xff\xff\x80names\n")
    (tmp_path / "blank.txt").write_text("\n\n")
    common = ("train", "--preset", "tiny", "--train", tiny_data / "train.jsonl", *options)
    before = contents(tmp_path)
    for arguments in (["--run", "new"], ["--run", "new", "--dry-run"], ["--run", "first", "--resume"]):
        done = run_here(*common, *arguments)
        assert done.code in (2, 3, 4), done.err
        assert message in done.message
        assert contents(tmp_path) == before
    RunFolder.load(run.path)

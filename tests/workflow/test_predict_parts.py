"""Prediction of partitioned input on Ray Data: the bytes of one file, part by part, whatever happens to a worker."""

from __future__ import annotations

import gzip
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from pipeline.artifacts import RunFolder, StoredFolder, open_run
from pipeline.data.read import BadRowPolicy, iter_articles
from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.runtime.ray_engine import ADDRESS, started_ray
from pipeline.submission import SubmissionWriter
from pipeline.workflow import predict_parts as module
from pipeline.workflow.predict_parts import Part, PartsRequest, PartWorker, join_parts, predict_parts
from pipeline.workflow.predict_stream import CHUNK_SIZE, predict_stream, predictor_load
from tests.support.command_line import Cli, Done, TinyRun
from tests.support.on_ray import PROGRAM_PATH, needs_ray, ray_actors

pytest.importorskip("pyarrow", reason="pyarrow is not installed (requirements-cluster.txt)")


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)


@pytest.fixture
def folder(tiny_run: TinyRun, tmp_path: Path) -> Path:
    tiny_run.copy_to(tmp_path)
    return tmp_path


@pytest.fixture
def lines(tiny_data: Path) -> list[bytes]:
    return (tiny_data / "all.jsonl").read_bytes().splitlines(keepends=True)


def answer_one_file(folder: Path, lines: list[bytes]) -> list[bytes]:
    """Return upload file, CSV and details of the local engine."""
    source, target = folder / "one.jsonl", folder / "one.txt"
    source.write_bytes(b"".join(lines))
    articles = iter_articles(source, labelled=False)
    with SubmissionWriter(target, details=folder / "one.details") as writer:
        for prediction in predict_stream(open_run(folder / "models", "tiny"), articles, workers=1):
            writer.write(prediction)
    return [(folder / name).read_bytes() for name in ("one.txt", "one.csv", "one.details")]


def write_parts(folder: Path, lines: list[bytes], cuts: list[int]) -> list[Path]:
    """Write the lines to ``parts/part-N.jsonl``, cut at these places."""
    (folder / "parts").mkdir()
    files = []
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
        files.append(folder / f"parts/part-{number:02}.jsonl")
        files[-1].write_bytes(b"".join(lines[start:stop]))
    return files


def predict(cli: Cli, folder: Path, *options: object) -> Done:
    return cli.run("predict", "--engine", "ray", "--workers", 2, *options, cwd=folder, env=PROGRAM_PATH)


@needs_ray
def test_parts_have_the_bytes_of_one_file(cli: Cli, folder: Path, lines: list[bytes]) -> None:
    upload, table, details = answer_one_file(folder, lines)
    first, second = write_parts(folder, lines, [CHUNK_SIZE + 7])
    second.with_name("part-01.jsonl.gz").write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()
    (folder / "parts/_SUCCESS").touch()
    done = predict(cli, folder, "--input", "parts", "--output", "answers", "--join", "joined.txt")
    assert (done.code, done.out, done.errors) == (0, "joined.txt\n", [])
    names = sorted(path.name for path in (folder / "answers").iterdir())
    assert names == ["_SUCCESS", "_job.json", "part-00.jsonl", "part-01.jsonl"]
    parts = [(folder / "answers" / name).read_bytes() for name in names[2:]]
    assert [part.count(b"\n") for part in parts] == [CHUNK_SIZE + 7, len(lines) - CHUNK_SIZE - 7]
    assert b"".join(parts) == details
    assert [(folder / name).read_bytes() for name in ("joined.txt", "joined.csv")] == [upload, table]
    assert not list(first.parent.glob(".*"))


def test_a_run_at_a_uri_answers_as_the_run_itself(cli: Cli, folder: Path, lines: list[bytes], tmp_path: Path) -> None:
    upload, table, _ = answer_one_file(folder, lines)
    (tmp_path / "empty").mkdir()
    uri = f"file://{folder}/models/tiny"
    done = cli.run("predict", "--run", uri, "--input", folder / "one.jsonl", cwd=tmp_path / "empty")
    assert (done.code, done.out, done.errors) == (0, "submissions/tiny.txt\n", [])
    found = [(tmp_path / "empty/submissions" / name).read_bytes() for name in ("tiny.txt", "tiny.csv")]
    assert found == [upload, table]
    assert not (tmp_path / "empty/models").exists()


@needs_ray
def test_a_malformed_row_is_named_with_its_part(cli: Cli, folder: Path, lines: list[bytes]) -> None:
    _, second = write_parts(folder, lines, [30])
    second.write_bytes(b"".join([*lines[30:34], b"{broken\n", *lines[34:]]))
    done = predict(cli, folder, "--input", f"file://{folder}/parts/part-*.jsonl", "--output", "answers")
    assert (done.code, done.out) == (3, "")
    assert done.message.startswith(f"file://{folder}/parts/part-01.jsonl:5: not JSON")
    assert not (folder / "answers").exists()


@needs_ray
def test_a_killed_actor_costs_nothing(folder: Path, lines: list[bytes]) -> None:
    lines = lines * 8
    n_parts = 8
    _, _, details = answer_one_file(folder, lines)
    write_parts(folder, lines, [number * len(lines) // n_parts for number in range(1, n_parts)])
    killed: list[int] = []

    def kill_one() -> None:
        while not list((folder / "answers").glob("part-*")):
            time.sleep(0.02)
        process = ray_actors("PartWorker")[0]
        os.kill(process.pid, signal.SIGKILL)
        killed.append(len(list((folder / "answers").glob("part-*"))))

    run = open_run(folder / "models", "tiny")
    with started_ray(2) as ray:
        killer = Thread(target=kill_one)
        killer.start()
        request = PartsRequest(run, [str(folder / "parts")], str(folder / "answers"), workers=2)
        parts = predict_parts(request, ray)
        killer.join()

        assert killed
        assert killed[0] < n_parts
        assert b"".join(Path(part.output.path).read_bytes() for part in parts) == details
        assert not list((folder / "answers").glob(".*"))

        # The same command again, with half of the answers: only the others are found anew.
        kept, lost = Path(parts[0].output.path), Path(parts[-1].output.path)
        kept.write_bytes(b"kept\n")
        wanted = lost.read_bytes()
        lost.unlink()
        again = PartsRequest(run, request.inputs, request.output, workers=2, resume=True)
        predict_parts(again, ray)
        assert (kept.read_bytes(), lost.read_bytes()) == (b"kept\n", wanted)

        (folder / "parts/part-03.jsonl").write_bytes(lines[0])
        with pytest.raises(ConfigError, match=r"answers: its answers rest on another run, input or options"):
            predict_parts(again, ray)


@pytest.fixture
def local_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the work of Ray in this process."""

    def on_ray(ray: object, numbers, work, arguments, workers) -> Iterator[tuple[int, object]]:
        worker = work(*arguments)._answer if work is PartWorker else work.keywords["work"]
        for number in numbers:
            yield number, worker(number)

    monkeypatch.setattr(module, "_map_on_ray", on_ray)


def request_of(folder: Path, output: str = "answers", **options: object) -> PartsRequest:
    run = open_run(folder / "models", "tiny")
    return PartsRequest(run, [str(folder / "parts")], str(folder / output), workers=1, **options)


@pytest.mark.parametrize("cuts", [[1], [0, 5, 5, 40], [CHUNK_SIZE], list(range(1, 50, 3))], ids=len)
def test_answers_do_not_depend_on_the_cut(
    folder: Path, lines: list[bytes], cuts: list[int], local_map: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []
    answer = module.Predictor.trace

    def noted(self, articles, **options):
        seen.append(tuple(article.news_id for article in articles))
        return answer(self, articles, **options)

    upload, table, details = answer_one_file(folder, lines)
    monkeypatch.setattr(module.Predictor, "trace", noted)
    write_parts(folder, lines, cuts)
    parts = predict_parts(request_of(folder), ray=None)
    assert b"".join(Path(part.output.path).read_bytes() for part in parts) == details
    join_parts(parts, folder / "joined.txt")
    assert [(folder / name).read_bytes() for name in ("joined.txt", "joined.csv")] == [upload, table]
    ids = [article.news_id for article in iter_articles(folder / "one.jsonl", labelled=False)]
    chunks = {tuple(ids[start : start + CHUNK_SIZE]) for start in range(0, len(ids), CHUNK_SIZE)}
    assert set(seen) == chunks  # probabilities may depend on who shares a chunk: it is the same everywhere


def test_limit_and_skipped_rows_count_over_all_parts(
    folder: Path, lines: list[bytes], local_map: None, caplog: pytest.LogCaptureFixture
) -> None:
    write_parts(folder, [*lines[:5], b"{broken\n", *lines[5:]], [4, 8])
    parts = predict_parts(request_of(folder, limit=9, policy=BadRowPolicy.SKIP), ray=None)
    assert [(part.start, part.stop) for part in parts] == [(0, 4), (4, 7), (7, 9)]
    assert [Path(part.output.path).read_bytes().count(b"\n") for part in parts] == [4, 3, 2]
    assert f"{folder}/parts/part-01.jsonl: 1 malformed rows left out" in caplog.text


def test_an_interrupted_job_goes_on(
    folder: Path,
    lines: list[bytes],
    local_map: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, _, details = answer_one_file(folder, lines)
    write_parts(folder, lines, [10, 40])
    answer, asked = PartWorker._answer, []

    def interrupted(self: PartWorker, number: int) -> list[tuple[str, str]]:
        asked.append(number)
        if asked == [0, 1]:
            raise KeyboardInterrupt
        return answer(self, number)

    monkeypatch.setattr(PartWorker, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        predict_parts(request_of(folder), ray=None)
    assert "answers: finished parts are kept; go on with the same command and --resume" in caplog.text
    assert not (folder / "answers/_SUCCESS").exists()
    with pytest.raises(ConfigError, match=r"answers: holds files already") as error:
        predict_parts(request_of(folder), ray=None)
    assert "--resume" in str(error.value.hint)
    parts = predict_parts(request_of(folder, resume=True), ray=None)
    assert asked == [0, 1, 1, 2]
    assert b"".join(Path(part.output.path).read_bytes() for part in parts) == details
    assert (folder / "answers/_SUCCESS").exists()


def test_an_article_that_cannot_be_answered_ends_nothing(
    folder: Path,
    lines: list[bytes],
    local_map: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_parts(folder, lines, [3])
    offered = module.Predictor._offered
    bad = "tiny002"

    def fail(self, article, heard):
        if article.news_id == bad and article.content:
            raise IndexError("planted")
        return offered(self, article, heard)

    monkeypatch.setattr(module.Predictor, "_offered", fail)
    predict_parts(request_of(folder), ray=None)
    third = (folder / "answers/part-00.jsonl").read_text().splitlines()[2]
    assert f'"{bad}"' in third
    assert '"entities": []' in third
    assert caplog.messages[-2:] == [
        f"article {bad!r} cannot be answered, its answer is empty (IndexError: planted)",
        "articles that could not be answered: 1",
    ]
    with pytest.raises(PipelineError, match=f"article {bad!r} cannot be answered: IndexError: planted"):
        predict_parts(request_of(folder, "strict", strict=True), ray=None)


def test_an_output_that_holds_files_is_left_alone(folder: Path, lines: list[bytes], local_map: None) -> None:
    write_parts(folder, lines, [4])
    (folder / "answers").mkdir()
    (folder / "answers/mine.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(ConfigError, match=r"answers: holds files already"):
            predict_parts(request_of(folder, resume=resume), ray=None)
    assert [path.name for path in (folder / "answers").iterdir()] == ["mine.txt"]


def test_an_output_that_is_the_input_is_refused(folder: Path, lines: list[bytes]) -> None:
    write_parts(folder, lines, [4])
    with pytest.raises(ConfigError, match="parts: holds the input"):
        predict_parts(request_of(folder, output="parts"), ray=None)


def test_answers_below_the_input_are_no_input(folder: Path, lines: list[bytes], local_map: None) -> None:
    write_parts(folder, lines, [4])
    for resume in (False, True):
        parts = predict_parts(request_of(folder, output="parts/answers", resume=resume), ray=None)
        assert [Path(part.source.path).name for part in parts] == ["part-00.jsonl", "part-01.jsonl"]


def test_two_parts_of_one_name_are_refused(folder: Path, lines: list[bytes], local_map: None) -> None:
    first, _ = write_parts(folder, lines, [4])
    first.with_name("part-00.jsonl.gz").write_bytes(gzip.compress(lines[0]))
    with pytest.raises(ConfigError, match=r"part-00.jsonl: two parts"):
        predict_parts(request_of(folder), ray=None)


def test_parts_without_an_article(folder: Path, local_map: None) -> None:
    write_parts(folder, [], [])
    with pytest.raises(DataError, match=r"parts: no article in 1 files"):
        predict_parts(request_of(folder), ray=None)


def test_a_part_that_changes_after_it_was_counted(folder: Path, lines: list[bytes], local_map: None) -> None:
    write_parts(folder, lines, [4])
    parts = predict_parts(request_of(folder), ray=None)
    (folder / "parts/part-00.jsonl").write_bytes(lines[0])
    worker = PartWorker(folder, predictor_load(RunFolder(folder / "models/tiny")), parts, BadRowPolicy.STOP)
    with pytest.raises(DataError, match=r"parts/part-00.jsonl: changed while it was read"):
        worker._answer(0)


def test_a_damaged_answer_is_named_when_joined(tmp_path: Path) -> None:
    place = StoredFolder.at(str(tmp_path))
    (tmp_path / "a.jsonl").write_text('{"newsId": "1", "entities": [], "candidates": []}\n{"newsId": "2"}\n')
    part = Part(place.file("a.jsonl"), place.file("a.jsonl"), 0, 2, "")
    with pytest.raises(DataError, match=r"a.jsonl:2: not an answer as predict writes it \(KeyError: 'entities'\)"):
        join_parts([part], tmp_path / "joined.txt")
    assert not (tmp_path / "joined.txt").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--input", "parts", "--details", "d.jsonl", "--engine", "ray"), "--details d.jsonl: the answers to parts"),
        (("--input", "one.jsonl", "--join", "j.txt", "--engine", "ray"), "--join j.txt: only answers to parts"),
        (("--input", "parts", "--join", "j.txt"), "--join j.txt: only answers to parts"),
        (("--input", "one.jsonl", "--input", "two.jsonl"), "--input is given several times"),
    ],
)
def test_options_that_do_not_fit(cli: Cli, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "one.jsonl").touch()
    done = cli.run("predict", *options, cwd=tmp_path)
    assert done.code == 2
    assert done.message.startswith(message)


def test_a_folder_needs_ray(cli: Cli, folder: Path, lines: list[bytes]) -> None:
    write_parts(folder, lines, [4])
    done = cli.run("predict", "--input", "parts", cwd=folder)
    assert done.code == 3
    assert done.message == "parts: is a folder, not a file"
    assert "hint: predict --engine ray reads a folder of parts" in done.err

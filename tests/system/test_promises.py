"""What SECURITY.md and docs/RELIABILITY.md promise and no other test holds."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.invented_report import view
from pipeline.artifacts import RunFolder, atomic_write_json, atomic_write_text, files, packed, read_json
from pipeline.cli import main
from pipeline.config import load_config
from pipeline.data import read
from pipeline.data.read import parse_article
from pipeline.emotions.classifier import word_vectors
from pipeline.errors import ArtifactError, ConfigError, DataError, PipelineError
from pipeline.nn.encoders.loading import load_encoder
from pipeline.report.html.data_files import write_data
from pipeline.schema import Prediction
from pipeline.submission import SubmissionWriter
from pipeline.text import dictionary
from pipeline.text.dictionary import read_dictionary
from tests.support.paths import ROOT
from tests.support.tiny_encoder import TOKENS, write_tiny_encoder

# --- limits

MIB = 2**20
LIMITS = {
    "200 times its size": (packed.MAX_RATIO, 200),
    "256 MiB": (packed.FREE_BYTES, 256 * MIB),
    "16 MiB": (read.MAX_LINE_BYTES, 16 * MIB),
    "dictionary: 4 KiB": (dictionary.MAX_LINE_BYTES, 4096),
    "word vectors: 4 MiB": (word_vectors.MAX_LINE_BYTES, 4 * MIB),
    "1 GiB": (files.MAX_JSON_BYTES, 1024 * MIB),
    "20 million names": (dictionary.MAX_NAMES, 20_000_000),
}


@pytest.mark.parametrize("words", LIMITS)
def test_limits_are_those_of_the_page(words: str) -> None:
    found, said = LIMITS[words]
    assert found == said
    assert words in (ROOT / "docs" / "RELIABILITY.md").read_text(encoding="utf-8")


def test_a_dictionary_of_too_many_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "MAX_NAMES", 3)
    path = tmp_path / "names.txt"
    path.write_text("松果\n云杉\n银杏\n松果\n", encoding="utf-8")
    assert len(read_dictionary(path)) == 3
    path.write_text("松果\n云杉\n银杏\n松果\n海棠\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"names\.txt:5: more than 3 names"):
        read_dictionary(path)


def test_options_nested_too_deeply_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"deep\.yaml: not readable as YAML options"):
        load_config(file=path)


# --- whole or absent


@pytest.mark.parametrize("write", [atomic_write_text, lambda path, text: atomic_write_json(path, text)])
def test_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, str], None]
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(handle: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        sync(handle)

    def noted_replace(source: Any, target: Any) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write(tmp_path / "answer.txt", "content")
    assert done == ["file", "rename", "folder"]


# --- no path leaves its folder

HOSTILE_IDS = ("../../up", "/tmp/absolute", "a/b", "..", "c:\\d", "'; rm -rf *", "<script>")


def test_ids_of_articles_never_become_names_of_files(tmp_path: Path) -> None:
    answers = tmp_path / "deep" / "er" / "answers"
    with SubmissionWriter(answers / "answer.txt", details=answers / "details.jsonl") as writer:
        for news_id in HOSTILE_IDS:
            assert parse_article({"newsId": news_id, "title": "甲"}).news_id == news_id  # they are good ids
            writer.write(Prediction(news_id, (), ()))
    page = tmp_path / "deep" / "er" / "page"
    page.mkdir()
    write_data(page, [{**view(number), "id": news_id} for number, news_id in enumerate(HOSTILE_IDS)])
    found = {path.relative_to(tmp_path / "deep" / "er").as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {
        *("answers/answer.txt", "answers/answer.csv", "answers/details.jsonl"),
        *("page/articles-0.js", "page/index-0.js"),
    }


# --- run folders and encoders


def saved_run(folder: Path, name: str = "r", *, seed: int = 7) -> RunFolder:
    run = RunFolder.create(folder, name)
    atomic_write_text(run.config, f"seed: {seed}\n")
    run.finish(command=["run.py", "train"], seed=seed, threads=1)
    return run


def test_a_manifest_of_before_it_had_a_checksum_is_read(tmp_path: Path) -> None:
    run = saved_run(tmp_path)
    content = read_json(run.manifest)
    del content["sha256"]
    atomic_write_json(run.manifest, content)
    assert RunFolder.load(run.path) == run


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


def test_pickled_weights_of_an_encoder_run_nothing(tmp_path: Path) -> None:
    folder, ran = write_tiny_encoder(tmp_path / "encoder"), tmp_path / "ran"
    (folder / "model.safetensors").unlink()
    content = pickle.dumps(Evil(ran))
    (folder / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        load_encoder(folder, n_tokens=len(TOKENS))
    assert not ran.exists()
    pickle.loads(content)
    assert ran.exists()  # the trap works


# --- what a stopped prediction rests on


@pytest.fixture
def key_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the key under which ``predict`` would note its answers."""
    keys: list[str] = []

    class Noting:
        def __init__(self, *arguments: Any, key: str, **options: Any) -> None:
            keys.append(key)
            raise PipelineError("far enough")

    monkeypatch.setattr("pipeline.submission.PredictionJournal", Noting)
    monkeypatch.chdir(tmp_path)
    saved_run(tmp_path / "models", "one")
    saved_run(tmp_path / "models", "two", seed=8)
    for name, title in (("a.jsonl", "甲"), ("b.jsonl", "乙")):
        (tmp_path / name).write_text(f'{{"newsId":"a","title":"{title}"}}\n', encoding="utf-8")

    def key(*options: str, run: str = "one", source: str = "a.jsonl", output: str = "out.txt") -> str:
        main(["predict", "--run", run, "--input", source, "--output", output, *options])
        return keys.pop()

    return key


def test_answers_rest_on_run_input_options_and_version(
    key_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = key_of()
    assert key_of() == usual
    assert key_of("--workers", "2") == usual  # may change
    others = [key_of(run="two"), key_of(source="b.jsonl"), key_of("--limit", "1"), key_of("--skip-bad-rows")]
    monkeypatch.setattr("pipeline.cli.predict.__version__", "99.0")
    others.append(key_of())
    assert len({usual, *others}) == 6

"""Nothing that is read may act: no pickle, no code, no path out of a folder, no file that swells without bound."""

from __future__ import annotations

import ast
import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.artifacts import BoundedGzip, RunFolder, atomic_write_json, atomic_write_text, files, packed, read_json
from pipeline.data.read import count_rows, iter_articles
from pipeline.emotions.classifier import word_vectors
from pipeline.emotions.classifier.word_vectors import read_word_vectors
from pipeline.errors import ArtifactError, DataError, PipelineError
from pipeline.nn.encoders.loading import load_encoder, load_tokenizer, restore_encoder
from pipeline.text.dictionary import read_dictionary
from tests.support.paths import ROOT
from tests.support.tiny_encoder import TOKENS, write_tiny_encoder

# --- no code

BANNED_IMPORTS = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "code", "codeop", "runpy"}
BANNED_CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "torch.jit.load", "joblib.load"),
    *("yaml.load", "yaml.unsafe_load", "pd.read_pickle", "pandas.read_pickle", "np.load", "numpy.load"),
}


def test_no_module_unpickles_or_runs_what_it_reads() -> None:
    modules = [ROOT / "run.py", *(ROOT / "pipeline").rglob("*.py")]
    assert len(modules) > 150
    found = []
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").split(".")[0]]
            elif isinstance(node, ast.Call):
                names = [ast.unparse(node.func)]
                names += [keyword.arg for keyword in node.keywords if keyword.arg == "shell"]
            banned = BANNED_CALLS | {"shell"} if isinstance(node, ast.Call) else BANNED_IMPORTS
            found += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in names if name in banned]
    assert found == []


def test_every_call_of_from_pretrained_refuses_remote_code() -> None:
    n_calls, trusting = 0, []
    for path in (ROOT / "pipeline").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name.startswith("transformers.") and name.endswith((".from_pretrained", ".from_config")):
                n_calls += 1
                said = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                if said.get("trust_remote_code") != "False" and said.get(None) != "options":
                    trusting.append(f"{path}:{node.lineno}")
    assert n_calls >= 5
    assert trusting == []


def test_code_in_an_encoders_folder_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny_encoder(tmp_path)
    ran = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n")
    for name, classes in {
        "config.json": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},
        "tokenizer_config.json": {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]},
    }.items():
        path = tmp_path / name
        content = json.loads(path.read_bytes()) if path.exists() else {}
        content["auto_map"] = classes
        content["model_type" if name == "config.json" else "tokenizer_class"] = "evil"
        path.write_text(json.dumps(content))
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt="": asked.append(prompt) or "y")
    for load in (load_tokenizer, lambda folder: load_encoder(folder, n_tokens=len(TOKENS)), restore_encoder):
        with pytest.raises(PipelineError):
            load(tmp_path)
    assert not ran.exists()
    assert asked == []


# --- a run folder


def saved_run(folder: Path) -> RunFolder:
    run = RunFolder.create(folder, "run-1")
    atomic_write_text(run.config, "seed: 7\n")
    atomic_write_text(run.stage("rerank") / "model.txt", "tree\n")
    atomic_write_json(run.stage("rerank") / "features.json", ["count", "length"])
    run.finish(command=["run.py", "train"], seed=7, threads=1)
    return run


def change_manifest(change: Callable[[dict[str, object]], object]) -> Callable[[RunFolder], None]:
    def damage(run: RunFolder) -> None:
        content = read_json(run.manifest)
        change(content)
        atomic_write_json(run.manifest, content)

    return damage


DAMAGE: dict[str, tuple[Callable[[RunFolder], object], str]] = {
    "weights": (
        lambda run: (run.stage("rerank") / "model.txt").write_text("Tree\n"),
        r"rerank/model\.txt: changed since",
    ),
    "features": (
        lambda run: (run.stage("rerank") / "features.json").write_text("[]"),
        r"rerank/features\.json: changed since",
    ),
    "configuration": (lambda run: run.config.write_text("seed: 8\n"), r"config\.yaml: changed since"),
    "seed of the manifest": (change_manifest(lambda content: content.update(seed=8)), r"manifest\.json: changed since"),
    "file taken off the list": (
        change_manifest(lambda content: content["files"].pop("rerank/model.txt")),
        r"manifest\.json: changed since",
    ),
    "path out of the run": (
        change_manifest(lambda content: (content.pop("sha256"), content["files"].update({"../../x": "0"}))),
        r"manifest\.json: names '\.\./\.\./x', which lies outside the run",
    ),
    "absolute path": (
        change_manifest(lambda content: (content.pop("sha256"), content["files"].update({"/etc/passwd": "0"}))),
        r"manifest\.json: names '/etc/passwd', which lies outside the run",
    ),
    "deep manifest": (lambda run: run.manifest.write_text("[" * 10**6), r"manifest\.json: not valid JSON \(nested"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_tampered_run_is_refused_by_the_name_of_the_file(tmp_path: Path, name: str) -> None:
    run = saved_run(tmp_path)
    assert RunFolder.load(run.path) == run
    damage, message = DAMAGE[name]
    damage(run)
    with pytest.raises(ArtifactError, match=message):
        RunFolder.load(run.path)


def test_a_huge_json_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 10)
    (tmp_path / "v.json").write_text('{"a": 1234567}')
    with pytest.raises(ArtifactError, match=r"v\.json: 14 bytes, more than the 10 that are read"):
        read_json(tmp_path / "v.json")


# --- files that swell


def bomb(path: Path, line: bytes, n_lines: int) -> Path:
    """Write one line over and over, packed; the content is never held."""
    packer = zlib.compressobj(9, wbits=31)
    block = line * (2**20 // len(line))
    with path.open("wb") as file:
        for _ in range(n_lines * len(line) // len(block) + 1):
            file.write(packer.compress(block))
        file.write(packer.flush())
    return path


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda path: list(iter_articles(path)), id="articles"),
        pytest.param(count_rows, id="count of rows"),
        pytest.param(read_dictionary, id="dictionary"),
        pytest.param(lambda path: read_word_vectors(path, set()), id="word vectors"),
    ],
)
@pytest.mark.parametrize("line", [b"ab 1.0\n", b"\0" * 1024], ids=["lines", "no line end"])
def test_a_decompression_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object], line: bytes
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 2**18)
    monkeypatch.setattr(packed, "MAX_RATIO", 50)
    path = bomb(tmp_path / "bomb.gz", line, 4 * 2**20 // len(line))
    assert path.stat().st_size < 2**16
    with pytest.raises(DataError, match=r"bomb\.gz") as caught:
        read(path)
    reasons = ("unpacks to more than 50 times", "malformed", "not JSON", "line of over", "longer than", "blank")
    assert any(reason in caught.value.message for reason in reasons)


def test_the_bound_counts_what_was_read_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 2**18)
    path = bomb(tmp_path / "bomb.gz", b"\n", 2**21)
    for read in (BoundedGzip.read, lambda file: [*file], lambda file: [*iter(lambda: file.read(2**16), b"")]):
        with (
            path.open("rb") as raw,
            BoundedGzip(path, raw) as file,
            pytest.raises(DataError, match="unpacks to more than 200 times its size"),
        ):
            read(file)


def test_honest_text_that_packs_well_is_read(tmp_path: Path) -> None:
    content = b"the same line over and over\n" * 50_000
    (tmp_path / "t.gz").write_bytes(gzip.compress(content))
    with (tmp_path / "t.gz").open("rb") as raw, BoundedGzip(tmp_path / "t.gz", raw) as file:
        assert file.read() == content


def test_a_text_line_of_vectors_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "MAX_LINE_BYTES", 50)
    (tmp_path / "v.txt").write_text("ab 1 2\n" + "cd " + "1 " * 100 + "\n")
    with pytest.raises(DataError, match=r"v\.txt:2: line of over 50 bytes"):
        read_word_vectors(tmp_path / "v.txt", {"ab"})


@pytest.mark.parametrize("row", ["[" * 10**5, '{"a":' * 10**5, '{"newsId":' + "9" * 10**5 + "}"])
def test_deep_rows_and_endless_numbers_are_malformed_rows(tmp_path: Path, row: str) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{row}\n")
    with pytest.raises(DataError, match=r"rows\.jsonl:1: (nested too deeply|not JSON)"):
        list(iter_articles(tmp_path / "rows.jsonl"))

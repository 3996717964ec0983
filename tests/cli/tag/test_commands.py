"""``tag train``, ``tag predict``, ``tag evaluate``: a planted signal end to end."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from pipeline.cli.main import app
from tests.cli.tag.rows import SMALL, figures, lines
from tests.support.command_line import Cli, Done

SLOW_IMPORTS = ("accelerate", "numpy", "omegaconf", "torch", "transformers")


def test_a_planted_signal_is_learnt_and_scored_alike_on_every_way(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path
) -> None:
    gold = data / "dev.jsonl"
    done = run_here("predict", "--model", models / "ner", "--input", gold, "--output", "found.jsonl")
    assert (done.code, done.out) == (0, "found.jsonl\n")
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, source in zip(found, map(json.loads, gold.read_text(encoding="utf-8").splitlines()), strict=True):
        assert {**row, "entities": None} == {**source, "entities": None}
        assert all(row["text"][item["from"] : item["to"]] == item["entity"] for item in row["entities"])
    for name, way in (("file", ("--pred", "found.jsonl")), ("model", ("--model", models / "ner"))):
        done = run_here("evaluate", "--gold", gold, *way, "--json", f"{name}.json")
        assert done.code == 0, done.err
        assert re.search(r"^micro +1\.0000", done.out, re.MULTILINE)
    assert figures(tmp_path / "file.json") == figures(tmp_path / "model.json")
    scored = figures(tmp_path / "model.json")
    assert scored.pop("overlap")["exact"]["f1"] == 1.0  # type: ignore[attr-defined, index]
    assert scored["n_rows"] == 12


def test_training_again_gives_the_same_bytes(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path
) -> None:
    first, second = models / "ner", models / "again"
    assert sorted(path.name for path in second.iterdir()) == [
        *("log.jsonl", "model.safetensors", "seen.json", "tagger.json", "tagging.json", "vocab.json")
    ]
    for name in ("model.safetensors", "tagger.json", "vocab.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    answers = []
    for model in (first, second):
        output = f"{model.name}.jsonl.gz"
        assert run_here("predict", "--model", model, "--input", data / "dev.jsonl", "--output", output).code == 0
        answers.append((tmp_path / output).read_bytes())
    assert answers[0] == answers[1]
    assert gzip.decompress(answers[0]).count(b"\n") == 12


def test_parts_of_speech_come_back_as_tags_with_their_accuracy(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path
) -> None:
    gold = data / "pos_dev.jsonl"
    predict = ("predict", "--model", models / "pos", "--input", gold, "--output", "found.jsonl")
    assert run_here(*predict, "--no-confidence").code == 0
    assert (tmp_path / "found.jsonl").read_bytes() == gold.read_bytes()
    done = run_here("evaluate", "--gold", gold, "--pred", "found.jsonl", "--json", "a.json")
    assert "tag accuracy 1.0000 (36 of 36 tokens)" in done.out
    assert figures(tmp_path / "a.json")["tag_accuracy"] == 1.0


def test_a_token_without_a_span_counts_in_the_accuracy(run_here: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(lines({"tokens": ["青禾", "来", "了"], "tags": ["NR", "VV", "O"]}))
    (tmp_path / "pred.jsonl").write_text(lines({"tokens": ["青禾", "来", "了"], "tags": ["S", "VV", "O"]}))
    done = run_here("evaluate", "--gold", "gold.jsonl", "--pred", "pred.jsonl")
    assert "tag accuracy 0.6667 (2 of 3 tokens)" in done.out


def test_tables_and_plain_text_are_tagged_in_their_own_form(
    run_here: Callable[..., Done], models: Path, tmp_path: Path
) -> None:
    text = "今天青禾科技访问砚台镇。"
    table = io.StringIO(newline="")
    csv.writer(table).writerows([("id", "text", "label"), ("007", text, ""), ("008", f"{text}\r\n今天", "")])
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbf" + table.getvalue().encode())
    (tmp_path / "in.txt").write_text(f"{text}\n\n{text}\n", encoding="utf-8")
    for name in ("csv", "txt"):
        done = run_here(
            "predict", "--model", models / "ner", "--input", f"in.{name}", "--output", f"out.{name}", "--no-confidence"
        )
        assert done.code == 0, done.err
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["007", "008"]
    assert rows[1]["text"] == f"{text}\r\n今天"
    regions = [
        {"start": 2, "end": 6, "text": "青禾科技", "labels": ["公司"]},
        {"start": 8, "end": 11, "text": "砚台镇", "labels": ["地点"]},
    ]
    assert [json.loads(row["label"]) for row in rows] == [regions, regions]
    entities = [
        {"entity": region["text"], "type": label, "from": region["start"], "to": region["end"]}
        for region, label in zip(regions, ("公司", "地点"), strict=True)
    ]
    expected = {"text": text, "entities": entities}
    assert [json.loads(line) for line in (tmp_path / "out.txt").read_bytes().splitlines()] == [expected] * 2
    (tmp_path / "gold.jsonl").write_text(lines(expected, {**expected, "text": f"{text}\r\n今天"}))
    assert "micro                 1.0000" in run_here("evaluate", "--gold", "gold.jsonl", "--pred", "out.csv").out


def test_a_name_at_the_end_of_a_long_text_is_found(run_here: Callable[..., Done], models: Path, tmp_path: Path) -> None:
    """Articles are read up to tagger.predict_chars, 600 by default; rows once were too, and lost what came after."""
    text = "今天" * 400 + "青禾科技访问砚台镇。"
    (tmp_path / "in.jsonl").write_text(lines({"text": text}), encoding="utf-8")
    done = run_here("predict", "--model", models / "ner", "--input", "in.jsonl", "--output", "out.jsonl")
    assert done.code == 0, done.err
    assert "reads the first" not in done.err
    (row,) = (json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines())
    assert "砚台镇" in [item["entity"] for item in row["entities"]]


def test_odd_texts_are_tagged_without_a_word(run_here: Callable[..., Done], models: Path, tmp_path: Path) -> None:
    texts = ["", " \u200b", "😀" * 700, "Nova" * 300, "\ud800青", "<br>http://a.example/x 今天"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = run_here("predict", "--model", models / "ner", "--input", "in.jsonl", "--output", "out.jsonl")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [row["text"] for row in rows] == texts
    assert rows[0]["entities"] == []


def test_rows_of_several_files_are_joined_and_some_held_out(
    run_here: Callable[..., Done], data: Path, tmp_path: Path
) -> None:
    files = ("--train", data / "dev.jsonl", "--train", data / "dev.jsonl")
    done = run_here("train", *files, "--model", "new", *SMALL, "--set", "tagger.dev_fraction=0.25")
    assert done.code == 0, done.err
    assert [file["rows"] for file in figures(tmp_path / "new" / "tagging.json")["data"]] == [12, 12]  # type: ignore[attr-defined]
    assert "trained on 18 texts" in done.err


def test_rows_with_errors_are_shown_first(run_here: Callable[..., Done], tmp_path: Path) -> None:
    entity = {"entity": "青禾", "type": "公司", "from": 0, "to": 2}
    gold = [{"text": "青禾一", "entities": [entity]}, {"text": "青禾二", "entities": [entity]}]
    (tmp_path / "gold.jsonl").write_text(lines(*gold))
    (tmp_path / "pred.jsonl").write_text(lines(gold[0], {"text": "青禾二", "entities": []}))
    evaluate = ("evaluate", "--gold", "gold.jsonl", "--pred", "pred.jsonl")
    views = run_here(*evaluate, "--show", 5).out.split("\n\n")[3:]
    assert views == [
        "gold.jsonl:2\ntext  青禾二\ngold  青禾＊\npred  ＊＊＊\nmissed 公司 青禾",
        "gold.jsonl:1\ntext  青禾一\ngold  青禾＊\npred  青禾＊\nright  公司 青禾\n",
    ]
    assert "text " not in run_here(*evaluate).out
    assert "\x1b" not in run_here(*evaluate, "--show", 1, "--color", "never").out
    assert "gold  \x1b[32;4m青禾\x1b[0m＊" in run_here(*evaluate, "--show", 1, "--color", "always").out


# --- help


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_the_example_in_the_help_parses(command: str) -> None:
    group = get_command(app).commands["tag"]  # type: ignore[attr-defined]
    example = re.search(r"Example: python run\.py tag (.+)", group.commands[command].help)
    assert example
    name, *arguments = shlex.split(example[1])
    assert name == command
    assert group.commands[name].make_context(name, arguments).params


def test_help_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    code = (
        "import sys; from pipeline.cli import main; main(['tag', 'train', '-h']); print(*sys.modules, file=sys.stderr)"
    )
    done = cli.run(cwd=tmp_path, code=code)
    assert done.code == 0
    assert not set(SLOW_IMPORTS) & set(done.err.split())

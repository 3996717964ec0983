"""``tag train``, ``tag predict``, ``tag evaluate``: a planted signal end to end, and everything that can be wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import random
import re
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
from command_line import Cli, Done
from tiny_encoder import write_tiny_encoder
from typer.main import get_command

from pipeline.cli import main
from pipeline.cli.main import app

SLOW_IMPORTS = ("accelerate", "numpy", "omegaconf", "torch", "transformers")
SMALL = (
    *("--tagger", "lstm", "--set", "workers=1", "--set", "tagger.training.max_epochs=6"),
    *(
        "--set",
        "tagger.training.learning_rate=0.02",
        "--set",
        "tagger.embedding_dim=16",
        "--set",
        "tagger.hidden_dim=16",
    ),
)
COMPANIES, PLACES, VERBS = ("青禾科技", "云杉汽车", "Nova Motors"), ("砚台镇", "银杏湾"), ("访问", "进驻")


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def entity_row(rng: random.Random) -> dict[str, object]:
    company, verb, place = rng.choice(COMPANIES), rng.choice(VERBS), rng.choice(PLACES)
    text = f"今天{company}{verb}{place}。"
    start, last = 2, len(text) - 1
    return {
        "id": rng.randint(1, 99),
        "text": text,
        "entities": [
            {"entity": company, "type": "公司", "from": start, "to": start + len(company)},
            {"entity": place, "type": "地点", "from": last - len(place), "to": last},
        ],
    }


def token_row(rng: random.Random) -> dict[str, object]:
    tagged = [(rng.choice(PLACES), "NR"), (rng.choice(VERBS), "VV"), (str(rng.randint(2, 99)), "CD"), ("次", "M")]
    return {"tokens": [token for token, _ in tagged], "tags": [tag for _, tag in tagged]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows to train on and to score, of entities and of parts of speech."""
    folder = tmp_path_factory.mktemp("rows")
    rng = random.Random(3)
    for name, make, count in (
        ("train", entity_row, 80),
        ("dev", entity_row, 12),
        ("pos_train", token_row, 60),
        ("pos_dev", token_row, 9),
    ):
        (folder / f"{name}.jsonl").write_text(lines(*(make(rng) for _ in range(count))), encoding="utf-8")
    return folder


@contextmanager
def in_this_process(folder: Path) -> Iterator[Callable[..., int]]:
    """Lend a function that runs a command of ``tag`` in a folder, as a process would but for the imports."""
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder):
            yield lambda *arguments: main(["tag", *map(str, arguments)])
    finally:
        root.handlers[:] = handlers
        package.setLevel(level)
        signal.signal(signal.SIGTERM, on_term)


@pytest.fixture(scope="module")
def models(cli: Cli, data: Path) -> Path:
    """Return a folder with a tagger of entities (``ner``), the same again (``again``), and one of tags (``pos``)."""
    done = cli.run(
        *("tag", "train", "--train", "train.jsonl", "--dev", "dev.jsonl", "--model", "models/ner", *SMALL), cwd=data
    )
    assert (done.code, done.out) == (0, "models/ner\n"), done.err
    with in_this_process(data) as run:
        assert run("train", "--train", "train.jsonl", "--model", "models/again", *SMALL) == 0
        assert run("train", "--train", "pos_train.jsonl", "--model", "models/pos", *SMALL) == 0
    return data / "models"


@pytest.fixture
def run_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Done]]:
    """Run a command of ``tag`` with the temporary folder as working folder."""
    with in_this_process(tmp_path) as run:
        yield lambda *arguments: Done(run(*arguments), *capsys.readouterr())


def figures(path: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads(path.read_bytes())
    return values


# --- it works


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
    assert figures(models / "ner" / "metrics.json")["dev"] == figures(tmp_path / "model.json")


def test_training_again_gives_the_same_bytes(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path
) -> None:
    first, second = models / "ner", models / "again"
    assert sorted(path.name for path in second.iterdir()) == [
        *("log.jsonl", "model.safetensors", "tagger.json", "tagging.json", "vocab.json")
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
    assert run_here("predict", "--model", models / "pos", "--input", gold, "--output", "found.jsonl").code == 0
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
        done = run_here("predict", "--model", models / "ner", "--input", f"in.{name}", "--output", f"out.{name}")
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
    views = run_here(*evaluate, "--show", 5).out.split("\n\n")[2:]
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


# --- bad input

TRAIN = ("train", "--model", "new", *SMALL)
PREDICT = ("predict", "--model", "ner", "--output", "out.jsonl")
OTHER = {"text": "青禾", "entities": [{"from": 0, "to": 2, "type": "品牌"}]}
REFUSED = {
    "unknown tagger": ((*TRAIN, "--train", "dev.jsonl", "--tagger", "lstn"), 2, ["unknown tagger 'lstn'", "lstm"]),
    "option out of range": ((*TRAIN, "--train", "dev.jsonl", "--set", "tagger.dropout=2"), 2, ["tagger.dropout must"]),
    "no training file": (TRAIN, 2, ["Missing option '--train'"]),
    "missing training file": ((*TRAIN, "--train", "nowhere.jsonl"), 3, ["nowhere.jsonl: no such file"]),
    "missing dev file": ((*TRAIN, "--train", "dev.jsonl", "--dev", "nowhere"), 3, ["nowhere: no such file"]),
    "bad row": ((*TRAIN, "--train", "bad.jsonl"), 3, ["bad.jsonl:1: an entity lies at [0, 9)"]),
    "plain text": ((*TRAIN, "--train", "plain.txt"), 3, ["plain.txt:1: plain text, want entities"]),
    "nothing marked": ((*TRAIN, "--train", "unmarked.jsonl"), 3, ["unmarked.jsonl: no row has a marked span"]),
    "dev of other types": (
        (*TRAIN, "--train", "dev.jsonl", "--dev", "other.jsonl"),
        3,
        ["the training rows have 公司, 地点; other.jsonl has also 品牌"],
    ),
    "model exists": (("train", "--model", "ner", *SMALL, "--train", "dev.jsonl"), 2, ["ner: exists already"]),
    "model below a file": (
        ("train", "--model", "dev.jsonl/m", *SMALL, "--train", "dev.jsonl"),
        2,
        ["cannot be written"],
    ),
    "no model": (
        ("predict", "--model", "m", "--input", "plain.txt", "--output", "o"),
        4,
        ["m: no folder of a trained"],
    ),
    "missing input": ((*PREDICT, "--input", "nowhere"), 3, ["nowhere: no such file"]),
    "empty input": ((*PREDICT, "--input", "empty.jsonl"), 3, ["empty.jsonl: the file is empty"]),
    "output is the input": ((*PREDICT, "--input", "out.jsonl"), 2, ["out.jsonl: would overwrite out.jsonl"]),
    "output is a folder": (
        ("predict", "--model", "ner", "--input", "dev.jsonl", "--output", "ner"),
        2,
        ["ner: is a folder"],
    ),
    "bad row in the middle": ((*PREDICT, "--input", "late.jsonl"), 3, ["late.jsonl:13: no text"]),
    "neither pred nor model": (("evaluate", "--gold", "dev.jsonl"), 2, ["want either --pred FILE or --model FOLDER"]),
    "both": (("evaluate", "--gold", "dev.jsonl", "--pred", "dev.jsonl", "--model", "ner"), 2, ["want either"]),
    "gold without labels": (("evaluate", "--gold", "plain.txt", "--model", "ner"), 3, ["plain.txt:1: plain text"]),
    "gold of other types": (
        ("evaluate", "--gold", "other.jsonl", "--model", "ner"),
        4,
        ["the model tags 公司, 地点; other.jsonl has also 品牌"],
    ),
    "other rows": (
        ("evaluate", "--gold", "dev.jsonl", "--pred", "other.jsonl"),
        3,
        ["other.jsonl:1: its text is not that of dev.jsonl:1"],
    ),
    "fewer rows": (
        ("evaluate", "--gold", "twice.jsonl", "--pred", "other.jsonl"),
        3,
        ["other.jsonl: has 1 rows, twice.jsonl has 2"],
    ),
    "figures over gold": (
        ("evaluate", "--gold", "dev.jsonl", "--pred", "dev.jsonl", "--json", "dev.jsonl"),
        2,
        ["dev.jsonl: would overwrite dev.jsonl"],
    ),
    "no such colour": (("evaluate", "--gold", "dev.jsonl", "--model", "ner", "--color", "red"), 2, ["--color"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(models / "ner", tmp_path / "ner")
    dev = (data / "dev.jsonl").read_text(encoding="utf-8")
    for file, content in {
        "dev.jsonl": dev,
        "out.jsonl": dev,
        "late.jsonl": dev + lines({"tokens": []}),
        "other.jsonl": lines(OTHER),
        "twice.jsonl": lines(OTHER, OTHER),
        "bad.jsonl": lines({"text": "青禾", "entities": [{"from": 0, "to": 9}]}),
        "unmarked.jsonl": lines({"text": "青禾", "entities": []}),
        "plain.txt": "青禾\n",
        "empty.jsonl": "\n",
    }.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, code, pieces = REFUSED[name]
    done = run_here(*arguments)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert done.out == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(figures(path) | values), encoding="utf-8")


def add_token(model: Path) -> None:
    path = model / "vocab.json"
    path.write_text(json.dumps([*json.loads(path.read_bytes()), "鑫"]), encoding="utf-8")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (lambda model: (model / "model.safetensors").unlink(), "ner: holds no weights (model.safetensors)"),
    "weights cut off": (lambda model: (model / "model.safetensors").write_bytes(b"\0"), "does not fit the network"),
    "no settings": (lambda model: (model / "tagging.json").unlink(), "ner: no folder of a trained tagger"),
    "no vocabulary": (lambda model: (model / "vocab.json").unlink(), "vocab.json: cannot be read"),
    "other version": (lambda model: change(model / "tagging.json", schema_version=0), "not of this version"),
    "damaged settings": (lambda model: change(model / "tagging.json", labels=5), "damaged, labels cannot be read"),
    "other labels": (
        lambda model: change(model / "tagger.json", labels=["公司", "品牌"]),
        "tags 公司, 品牌, want 公司, 地点",
    ),
    "more labels": (
        lambda model: [
            change(model / name, labels=["公司", "品牌", "地点"]) for name in ("tagger.json", "tagging.json")
        ],
        "does not fit the network",
    ),
    "other vocabulary": (add_token, "size mismatch for tokens.weight"),
    "another number of tokens": (lambda model: change(model / "tagging.json", n_tokens=5), "it was trained with 5"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_model_that_is_not_as_saved_is_refused(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(models / "ner", tmp_path / "ner")
    damage, piece = DAMAGES[name]
    damage(tmp_path / "ner")
    done = run_here("predict", "--model", "ner", "--input", data / "dev.jsonl", "--output", "out.jsonl")
    assert done.code == 4, done.err
    assert piece in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["ner"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (ValueError, 1)])
def test_training_that_breaks_off_leaves_no_folder(
    run_here: Callable[..., Done],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    code: int,
) -> None:
    def fit(*_: object) -> None:
        raise error

    monkeypatch.setattr("pipeline.taggers.model.TaggerModel.fit", fit)
    assert run_here(*TRAIN, "--train", data / "dev.jsonl").code == code
    assert list(tmp_path.iterdir()) == []


# --- a pre-trained encoder

ENCODER = (
    *("train", "--train", "train.jsonl", "--model", "new", "--tagger", "bert", "--set", "workers=1"),
    *("--set", "tagger.window_tokens=64", "--set", "tagger.train_window_tokens=64", "--set", "tagger.title_tokens=0"),
    *("--set", "tagger.training.max_epochs=1"),
)


def test_a_tagger_on_an_encoder_needs_the_encoder_for_training_alone(
    run_here: Callable[..., Done], data: Path, tmp_path: Path
) -> None:
    shutil.copy(data / "train.jsonl", tmp_path)
    write_tiny_encoder(tmp_path / "encoder")
    done = run_here(*ENCODER, "--set", "tagger.encoder=encoder")
    assert done.code == 0, done.err
    shutil.rmtree(tmp_path / "encoder")
    predict = ("predict", "--model", "new", "--input", "train.jsonl", "--output", "out.jsonl")
    assert run_here(*predict).code == 0
    change(tmp_path / "new" / "tagging.json", n_tokens=7)
    assert re.search(r"vocabulary has \d+ tokens, it was trained with 7", run_here(*predict).message)


@pytest.mark.parametrize(
    ("damage", "piece"),
    [
        (shutil.rmtree, "encoder 'encoder': no such folder"),
        (lambda folder: (folder / "model.safetensors").unlink(), "encoder encoder: holds no weights"),
        (lambda folder: write_tiny_encoder(folder, n_rows=5), "its weights 5"),
    ],
)
def test_an_encoder_that_cannot_be_had_is_refused(
    run_here: Callable[..., Done],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], object],
    piece: str,
) -> None:
    monkeypatch.setattr("pipeline.encoders.folders._hub_is_known", lambda: False)
    shutil.copy(data / "train.jsonl", tmp_path)
    damage(write_tiny_encoder(tmp_path / "encoder"))
    done = run_here(*ENCODER, "--set", "tagger.encoder=encoder")
    assert done.code == 4, done.err
    assert piece in done.message
    assert not (tmp_path / "new").exists()

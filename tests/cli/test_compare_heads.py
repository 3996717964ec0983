"""``compare heads``: a planted signal in each form of rows, kept results, and everything that can be wrong."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from pipeline.cli import main
from pipeline.cli.main import app
from pipeline.errors import PipelineError
from pipeline.standalone.heads import compare as compare_heads
from pipeline.standalone.heads import training
from pipeline.standalone.heads.results import HeadResult
from tests.support.command_line import Cli, Done

SLOW_IMPORTS = ("accelerate", "joblib", "numpy", "omegaconf", "torch", "transformers")
SMALL = (
    *("--preset", "tiny", "--seeds", "2", "--set", "training.max_epochs=8", "--set", "training.learning_rate=0.02"),
    *("--set", "training.batch_size=8", "--set", "head.dropout=0"),
)
QUICK = ("--preset", "tiny", "--seeds", "2", "--set", "training.max_epochs=1", "--set", "training.batch_size=32")
"""Where it does not matter what is learnt."""
NAMES, GOOD, BAD = ("云杉", "青禾", "砚台", "银杏"), ("很好", "出色"), ("很差", "糟糕")


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def target_rows(n_rows: int, seed: int) -> list[dict[str, object]]:
    """Return texts that praise one name and blame another: only a head that sees the target can tell."""
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(n_rows):
        good, bad = rng.sample(NAMES, 2)
        parts = [(good, rng.choice(GOOD), "POS"), (bad, rng.choice(BAD), "NEG")]
        rng.shuffle(parts)
        text = "".join(f"{name}{word}。" for name, word, _ in parts) + str(number)
        name, _, polarity = rng.choice(parts)
        start = text.index(name)
        rows.append({"text": text, "target": name, "from": start, "to": start + 2, "polarity": polarity})
    return rows


def document_rows(n_rows: int, seed: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    picks = [
        (rng.choice(NAMES), good, rng.choice(GOOD if good else BAD)) for good in rng.choices((True, False), k=n_rows)
    ]
    return [
        {"text": f"{name}{word}。{number}", "label": "好评" if good else "差评"}
        for number, (name, good, word) in enumerate(picks)
    ]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Done]]:
    """Run ``compare heads`` in the temporary folder, as a process would but for the imports."""
    (tmp_path / "train.jsonl").write_text(lines(*target_rows(60, 1)), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text(lines(*target_rows(20, 2)), encoding="utf-8")
    (tmp_path / "reviews.jsonl").write_text(lines(*document_rows(60, 3)), encoding="utf-8")
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    try:
        with chdir(tmp_path):
            yield lambda *arguments: Done(main(["compare", "heads", *map(str, arguments)]), *capsys.readouterr())
    finally:
        root.handlers[:] = handlers
        package.setLevel(level)
        signal.signal(signal.SIGTERM, on_term)


def kept(path: Path) -> list[dict[str, object]]:
    (comparison,) = json.loads(path.read_bytes())["comparisons"].values()
    results: list[dict[str, object]] = comparison["results"]
    return results


# --- it works


def test_target_heads_see_what_a_document_baseline_cannot(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text(lines(*target_rows(160, 4)), encoding="utf-8")
    files = ("--data", "many.jsonl", "--test", "test.jsonl")
    done = run(
        *(*files, "--heads", "td_lstm,fast_text", *SMALL, "--json", "a.json", "--markdown", "a.md", "--attention", 1),
    )
    assert done.code == 0, done.err
    assert "train: 160 examples, test: 20 examples, classes: POS, NEG" in done.err
    accuracy = {(row["head"], row["seed"]): row["accuracy"] for row in kept(tmp_path / "a.json")}
    assert set(accuracy) == {(head, seed) for head in ("td_lstm", "fast_text") for seed in (7, 8)}
    assert min(accuracy["td_lstm", 7], accuracy["td_lstm", 8]) >= 0.95  # type: ignore[type-var]
    assert max(accuracy["fast_text", 7], accuracy["fast_text", 8]) <= 0.8  # type: ignore[type-var]
    table = done.out.splitlines()
    assert [line.split()[0] for line in table] == ["head", "majority", "td_lstm", "fast_text"]
    assert re.fullmatch(r"td_lstm +2 +[01]\.\d{4} ± 0\.\d{4} .* [\d,]+ +\d+\.\d", table[2])
    rows = (tmp_path / "a.md").read_text(encoding="utf-8").splitlines()
    assert rows[1] == "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert len(rows) == 5


def test_attention_is_shown_for_heads_that_have_it(run: Callable[..., Done], tmp_path: Path) -> None:
    done = run("--data", "train.jsonl", "--test", "test.jsonl", "--heads", "atae_lstm,lstm", *QUICK, "--attention", 2)
    views = done.out.split("\n\n")[1:]
    assert len(views) == 2
    text = target_rows(20, 2)[0]["text"]
    head, shown, digits = views[0].splitlines()
    assert re.fullmatch(r"atae_lstm: (POS|NEG) \(gold (POS|NEG)\)", head)
    assert shown == text
    assert "9" in digits
    colored = run(
        *("--data", "train.jsonl", "--heads", "atae_lstm", *QUICK, "--attention", 1, "--color", "always"),
    )
    assert "\x1b[48;5;" in colored.out


def test_rows_without_targets_are_for_the_document_baselines(run: Callable[..., Done], tmp_path: Path) -> None:
    done = run(
        "--data", "reviews.jsonl", *SMALL, "--heads", "text_cnn,fast_text", "--held-out", 0.25, "--json", "a.json"
    )
    assert done.code == 0, done.err
    assert "train: 45 examples, test: 15 examples, classes: 好评, 差评" in done.err
    assert done.out.splitlines()[0].split()[4:8] == ["F1", "好评", "F1", "差评"]
    assert all(row["accuracy"] == 1.0 for row in kept(tmp_path / "a.json"))


@pytest.mark.parametrize(("name", "expected"), [("reviews.jsonl", False), ("train.jsonl", True)])
def test_every_head_that_fits_is_the_default(
    run: Callable[..., Done], tmp_path: Path, name: str, expected: bool
) -> None:
    comparison = compare_heads.load_comparison(
        tmp_path / name, None, config=compare_heads.Config(), n_seeds=1, held_out=0.3
    )
    assert comparison.heads == compare_heads.fitting_heads(compare_heads.Config(), has_targets=expected)
    assert {"ian" if expected else "text_cnn"} <= set(comparison.heads) <= set(compare_heads.HEADS) - {"pair"}


def test_heads_that_need_an_encoder_are_a_default_where_all_read_one() -> None:
    config = compare_heads.Config()
    without = compare_heads.fitting_heads(config, has_targets=True)
    config.head.embedding = "encoder"
    assert set(compare_heads.fitting_heads(config, has_targets=True)) == {*without, "pair"}


def test_dev_rows_of_their_own_choose_the_epoch(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    class Spy(training.HeadClassifier):
        def fit(self, examples, labels, dev=(), dev_labels=()):  # type: ignore[no-untyped-def]
            seen.append([example.text for example in dev])
            return super().fit(examples, labels, dev, dev_labels)

    monkeypatch.setattr(training, "HeadClassifier", Spy)
    rows = target_rows(9, 5)
    (tmp_path / "dev.jsonl").write_text(lines(*rows), encoding="utf-8")
    files = ("--data", "train.jsonl", "--test", "test.jsonl")
    assert run(*files, "--dev", "dev.jsonl", "--heads", "ian", *QUICK).code == 0
    assert seen == [[row["text"] for row in rows]] * 2
    seen.clear()
    assert run(*files, "--heads", "ian", *QUICK).code == 0
    train, test = ({row["text"] for row in target_rows(n, seed)} for n, seed in ((60, 1), (20, 2)))
    assert [len(dev) for dev in seen] == [7, 7]  # 12 % of the texts
    assert seen[0] != seen[1]
    assert all(set(dev) <= train and not set(dev) & test for dev in seen)


def test_articles_are_accepted(run: Callable[..., Done], tiny_data: Path) -> None:
    done = run("--data", tiny_data / "train.jsonl", "--test", tiny_data / "test.jsonl", "--heads", "ian", *QUICK)
    assert done.code == 0, done.err
    assert "classes: POS, NORM, NEG" in done.err


# --- results are kept


def test_kept_results_are_not_computed_again(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--data", "train.jsonl", "--heads", "ian", *QUICK, "--json", "a.json")
    first = run(*arguments)
    before = (tmp_path / "a.json").read_bytes()

    def fail(*_: object) -> HeadResult:
        raise AssertionError

    monkeypatch.setattr(compare_heads, "train_and_score", fail)
    again = run(*arguments)
    assert (again.code, again.out) == (0, first.out)
    assert "2 of 2 trainings are done already" in again.err
    assert (tmp_path / "a.json").read_bytes() == before
    assert run(*arguments, "--set", "head.hidden_dim=5").code == 1  # other options are another comparison
    with (tmp_path / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines(*target_rows(1, 9)))
    assert run(*arguments).code == 1  # and so are other rows


def test_ctrl_c_loses_no_finished_training(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = compare_heads.train_and_score

    def stop(comparison: compare_heads.HeadComparison, head: str, seed: int) -> HeadResult:
        if seed == 8:
            raise KeyboardInterrupt
        return real(comparison, head, seed)

    arguments = ("--data", "train.jsonl", "--heads", "ian", *QUICK, "--json", "a.json")
    monkeypatch.setattr(compare_heads, "train_and_score", stop)
    done = run(*arguments)
    assert (done.code, done.out) == (130, "")
    assert "trainings finished so far are kept in a.json" in done.err
    assert [row["seed"] for row in kept(tmp_path / "a.json")] == [7]
    monkeypatch.setattr(compare_heads, "train_and_score", real)
    assert run(*arguments).code == 0
    assert [row["seed"] for row in kept(tmp_path / "a.json")] == [7, 8]


def test_figures_do_not_depend_on_the_number_of_workers(run: Callable[..., Done], tmp_path: Path) -> None:
    arguments = ("--data", "train.jsonl", "--heads", "ian,text_cnn", *QUICK)
    assert run(*arguments, "--json", "one.json").code == 0
    done = run(*arguments, "--json", "two.json", "--workers", 2)
    assert done.code == 0, done.err
    one, two = ([{**row, "seconds": 0} for row in kept(tmp_path / name)] for name in ("one.json", "two.json"))
    assert one == two


class Deadly:
    """Ends the process that receives it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


def test_a_worker_that_dies_is_told_in_one_line() -> None:
    with pytest.raises(PipelineError, match="a worker process died"):
        list(compare_heads._run(Deadly(), [("ian", 1), ("ian", 2)], workers=2))  # type: ignore[arg-type]


# --- help


def test_the_example_in_the_help_parses() -> None:
    command = get_command(app).commands["compare"].commands["heads"]  # type: ignore[attr-defined]
    example = re.search(r"Example: python run\.py compare heads (.+)", command.help)
    assert example
    assert command.make_context("heads", shlex.split(example[1])).params["seeds"] == 2


def test_help_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    show = "print(*sys.modules, file=sys.stderr)"
    code = f"import sys; from pipeline.cli import main; main(['compare', 'heads', '-h']); {show}"
    done = cli.run(cwd=tmp_path, code=code)
    assert done.code == 0
    assert not set(SLOW_IMPORTS) & set(done.err.split())


# --- bad input

DATA = ("--data", "train.jsonl", *QUICK)
TARGET = {"text": "云杉很好", "target": "云杉", "from": 0, "to": 2, "polarity": "POS"}
REFUSED: dict[str, tuple[tuple[object, ...], int, str]] = {
    "no data": ((), 2, "Missing option '--data'"),
    "missing data": (("--data", "nowhere"), 3, "nowhere: no such file"),
    "missing test": ((*DATA, "--test", "nowhere"), 3, "nowhere: no such file"),
    "unknown head": ((*DATA, "--heads", "ian,iam"), 2, "unknown head 'iam' (have: "),
    "no head": ((*DATA, "--heads", "ian,"), 2, "--heads ian,: want names joined by commas"),
    "target head on documents": (
        ("--data", "reviews.jsonl", "--heads", "text_cnn,ian"),
        2,
        "reviews.jsonl: rows of texts and labels name no target, which ian must have",
    ),
    "target not in the text": (("--data", "absent.jsonl"), 3, "absent.jsonl: none of its 1 targets is in its text"),
    "offsets that do not match": (("--data", "moved.jsonl"), 3, "moved.jsonl:1: the text reads '杉很' at [1, 3)"),
    "unknown polarity": (("--data", "mixed.jsonl"), 3, "mixed.jsonl:1: label 'conflict' is not one of POS, NORM"),
    "dev of another form": ((*DATA, "--dev", "reviews.jsonl"), 3, "reviews.jsonl document"),
    "missing dev": ((*DATA, "--dev", "nowhere"), 3, "nowhere: no such file"),
    "another form": ((*DATA, "--test", "reviews.jsonl"), 3, "train.jsonl holds target rows, reviews.jsonl document"),
    "one class": (("--data", "same.jsonl", "--test", "same.jsonl"), 3, "same.jsonl: every training row is POS"),
    "one text": (("--data", "same.jsonl"), 3, "same.jsonl:1: all rows are of one text"),
    "label that nobody learns": (
        ("--data", "reviews.jsonl", "--test", "other.jsonl"),
        3,
        "other.jsonl:1: label '中评' is in no training row (好评, 差评)",
    ),
    "output over the data": ((*DATA, "--json", "train.jsonl"), 2, "train.jsonl: would overwrite train.jsonl"),
    "outputs over each other": ((*DATA, "--json", "a", "--markdown", "a"), 2, "a: would overwrite a"),
    "results of something else": ((*DATA, "--json", "else.json"), 4, "else.json: holds no results"),
    "missing vectors": (
        (*DATA, "--set", "head.embedding=vectors", "--set", "head.vectors=none.txt"),
        3,
        "none.txt: word vectors cannot be read",
    ),
    "options that do not go together": (
        (*DATA, "--set", "head.embedding=vectors", "--set", "head.vectors=n", "--set", "head.vectors_mode=two_channel"),
        2,
        "head.vectors_mode=two_channel is for text_cnn, not for",
    ),
    "option out of range": ((*DATA, "--set", "head.dropout=2"), 2, "head.dropout must"),
    "no seed": ((*DATA, "--seeds", 0), 2, "--seeds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    run: Callable[..., Done], tmp_path: Path, name: str
) -> None:
    for file, content in {
        "absent.jsonl": lines(TARGET, {"text": "云杉", "target": "青禾", "polarity": "POS"}),
        "moved.jsonl": lines({**TARGET, "from": 1, "to": 3}),
        "mixed.jsonl": lines({**TARGET, "polarity": "conflict"}),
        "same.jsonl": lines(TARGET, TARGET),
        "other.jsonl": lines({"text": "云杉", "label": "中评"}),
        "else.json": "[]",
    }.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, code, piece = REFUSED[name]
    done = run(*arguments)
    assert done.code == code, done.err
    assert piece in done.message
    assert done.out == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_rows_that_dev_and_test_share_with_training_are_told(run_here: Callable[..., Done], tmp_path: Path) -> None:
    """Each with its file: what chooses the epoch, and what is scored."""
    rows = target_rows(12, seed=1)
    for name, part in (("train", rows[:8]), ("dev", rows[7:10]), ("test", rows[6:12])):
        (tmp_path / f"{name}.jsonl").write_text(lines(*part), encoding="utf-8")
    files = ("--data", "train.jsonl", "--dev", "dev.jsonl", "--test", "test.jsonl")
    done = run_here("compare", "heads", *files, "--heads", "ian", *QUICK, "--save", "best")
    assert done.code == 0, done.err
    too_good = "; figures on such rows are too good\n"
    assert f"dev.jsonl: 1 of 3 rows have the text of a training row{too_good}" in done.err
    assert f"test.jsonl: 2 of 6 test rows have the text of a training row{too_good}" in done.err
    assert f"test.jsonl: 3 of 6 test rows have the text of a row of --dev{too_good}" in done.err
    done = run_here("heads", "evaluate", "--model", "best/ian", "--data", "test.jsonl")
    assert f"test.jsonl: 2 of 6 rows have the text of a training row{too_good}" in done.err

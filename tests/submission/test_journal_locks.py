"""Outputs that two predictions share, links under the journal's name, and what a journal says it rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.schema import Prediction
from pipeline.submission import PredictionJournal


def journal(folder: Path, output: str, *others: str, **options: object) -> PredictionJournal:
    settings = {"key": "k", "chunk_size": 1, **options}
    return PredictionJournal(folder / output, others=[folder / name for name in others], **settings)


def stop(folder: Path, output: str, *others: str, **options: object) -> None:
    """Be stopped after two answers."""
    with pytest.raises(KeyboardInterrupt), journal(folder, output, *others, **options) as unfinished:  # noqa: PT012
        unfinished.note(Prediction("a1", (), ()))
        unfinished.note(Prediction("a2", (), ()))
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (("a.txt", "a.csv", "d.jsonl"), ("b.txt", "b.csv", "d.jsonl"), "d.jsonl"),
        (("a.txt", "a.csv"), ("a.jsonl", "a.csv"), "a.csv"),
        (("a.txt", "a.csv"), ("b.txt", "b.csv", "a.txt"), "a.txt"),
        (("a.txt", "a.csv", "b.txt"), ("b.txt", "b.csv"), "b.txt"),
    ],
    ids=["details", "table", "upload file as details", "details as upload file"],
)
def test_of_two_predictions_that_share_a_file_the_second_is_refused_at_once(
    tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...], shared: str
) -> None:
    with journal(tmp_path, *first):
        with pytest.raises(ConfigError, match=f"{shared}: another prediction is writing this file"):
            journal(tmp_path, *second).__enter__()
        with journal(tmp_path, "other.txt", "other.csv"):
            pass
    with journal(tmp_path, *second):  # free again
        pass
    assert list(tmp_path.iterdir()) == []


def test_kept_answers_outlive_another_prediction_that_writes_beside_them(tmp_path: Path) -> None:
    stop(tmp_path, "a.txt", "a.csv")
    with journal(tmp_path, "b.txt", "b.csv", "a.txt"):  # a.txt is only its details
        pass
    with journal(tmp_path, "a.txt", "a.csv", resume=True) as again:
        assert again.n_done == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".out.txt.part", ".out.csv.part"])
def test_a_link_under_the_name_of_the_journal_is_refused(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "precious"
    victim.write_bytes(b"precious\n")
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(ConfigError, match=rf"cannot be written \({name} is a symbolic link\)"):
        journal(tmp_path, "out.txt", "out.csv").__enter__()
    assert victim.read_bytes() == b"precious\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "precious"])


def test_a_journal_names_what_it_rests_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    about = {"run": "spring", "input": "day1.jsonl", "limit": "None"}
    stop(tmp_path, "out.txt", about=about)
    caplog.clear()
    with journal(tmp_path, "out.txt", about=about, resume=True) as again:
        again.note(Prediction("a3", (), ()))
    assert "going on after 2 articles (run spring, input day1.jsonl, limit None)" in caplog.text
    stop(tmp_path, "out.txt", about=about)
    caplog.clear()
    other = about | {"input": "day2.jsonl"}
    with journal(tmp_path, "out.txt", about=other, key="k2", resume=True) as again:
        assert again.n_done == 0
    assert "rests on another run, input or options (input day1.jsonl); starting anew" in caplog.text

"""No article ends a run: it gets an empty answer and a warning, or with ``strict`` an error that names it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from pipeline.artifacts import open_run
from pipeline.cli.engine import Engine
from pipeline.cli.predict import write_predictions
from pipeline.data.read import iter_articles
from pipeline.entities.candidates import CandidateSet
from pipeline.errors import ArtifactError, PipelineError
from pipeline.report.build import build_report, explain_article
from pipeline.schema import Article
from pipeline.workflow.predict import Predictor
from pipeline.workflow.traces import Heard
from pipeline.workflow.unanswered import FAULT_OF_THE_RUN, answer_each
from tests.support.command_line import TinyRun

POISON = "毒"


@dataclass(frozen=True)
class Answer:
    article: Article
    text: str
    failure: str = ""


def fails_on_poison(error: BaseException, articles: Sequence[Article]) -> list[Answer]:
    if any(POISON in article.content for article in articles):
        raise error
    return [Answer(article, article.content) for article in articles]


def articles_of(*contents: str) -> list[Article]:
    return [Article(f"a{number}", "题", content) for number, content in enumerate(contents)]


def test_only_the_article_that_fails_is_empty() -> None:
    articles = articles_of("甲", POISON, "乙", "丙" + POISON)
    found = answer_each(partial(fails_on_poison, ValueError("no such\nplace")), articles)
    assert [answer.text for answer in found] == ["甲", "", "乙", ""]
    assert [answer.article for answer in found] == articles
    assert [answer.failure for answer in found] == ["", "ValueError: no such", "", "ValueError: no such"]


def test_strict_names_the_article() -> None:
    with pytest.raises(PipelineError, match=r"^article 'a1' cannot be answered: RecursionError$") as caught:
        answer_each(partial(fails_on_poison, RecursionError()), articles_of("甲", POISON), strict=True)
    assert caught.value.hint == "without --strict its answer is empty"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ArtifactError("a model is missing"),
        KeyboardInterrupt(),
        OSError("disk"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeWarning("asked to raise"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("contents", [(POISON,), ("甲", POISON)])
def test_what_is_not_the_fault_of_an_article_is_raised(error: BaseException, contents: Sequence[str]) -> None:
    with pytest.raises(type(error)) as caught:
        answer_each(partial(fails_on_poison, error), articles_of(*contents))
    assert caught.value is error


def test_a_run_that_answers_nothing_is_a_fault_of_the_run() -> None:
    work = partial(fails_on_poison, ValueError("broken"))
    few = answer_each(work, articles_of(*[POISON] * (FAULT_OF_THE_RUN - 1)))
    assert all(answer.failure for answer in few)
    with pytest.raises(PipelineError, match=r"^none of 32 articles can be answered, first 'a0': ValueError: broken$"):
        answer_each(work, articles_of(*[POISON] * FAULT_OF_THE_RUN))


def test_a_run_that_fails_without_text_is_a_fault_of_the_run() -> None:
    def work(articles: Sequence[Article]) -> list[Answer]:
        raise ValueError("always")

    with pytest.raises(ValueError, match="always"):
        answer_each(work, articles_of("甲"))


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the predictor fail at articles with the poison in them."""
    offered: Callable[..., CandidateSet] = Predictor._offered

    def fail(self: Predictor, article: Article, heard: Heard) -> CandidateSet:
        if POISON in article.content:
            raise IndexError("planted")
        return offered(self, article, heard)

    monkeypatch.setattr(Predictor, "_offered", fail)


@pytest.fixture
def run_folder(tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with a run and two articles, the second of them poisoned."""
    tiny_run.copy_to(tmp_path)
    rows = ('{"newsId": "good", "title": "砚台超市开业", "content": "砚台超市今天开业。"}',)
    rows += (f'{{"newsId": "bad", "title": "砚台超市开业", "content": "{POISON}"}}',)
    (tmp_path / "in.jsonl").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*, strict: bool = False) -> None:
    args = ("tiny", Path("in.jsonl"), Path("out.txt"), None, 1, Engine.LOCAL, None, False)
    write_predictions(*args, strict=strict)


@pytest.mark.usefixtures("poisoned")
def test_predict_goes_on_and_tells_the_number(run_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write()
    good, bad = (run_folder / "out.txt").read_text().splitlines()
    assert good.startswith("good\t砚台超市")
    assert bad == "bad\t\t"
    assert caplog.messages == [
        "article 'bad' cannot be answered, its answer is empty (IndexError: planted)",
        "articles that could not be answered: 1",
    ]


@pytest.mark.usefixtures("poisoned")
def test_strict_predict_writes_nothing(run_folder: Path) -> None:
    with pytest.raises(PipelineError, match="article 'bad' cannot be answered: IndexError: planted"):
        write(strict=True)
    assert not (run_folder / "out.txt").exists()


@pytest.mark.usefixtures("poisoned")
def test_the_report_counts_the_article_as_missed(
    run_folder: Path, tiny_data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, other = list(iter_articles(tiny_data / "test.jsonl", labelled=True))[:2]
    bad = Article("bad", other.title, other.content + POISON, other.entities)
    run = open_run(run_folder / "models", "tiny")
    report = build_report(run, [good, bad], workers=1)
    view = list(report.views)[1]
    assert view["pred"] == []
    assert view["entity_f1"] == 0.0
    assert "articles that could not be answered: 1" in caplog.messages
    with pytest.raises(PipelineError, match="article 'bad'"):
        explain_article(run, bad)


@pytest.mark.usefixtures("poisoned")
def test_the_predictor_answers_the_others_as_without_the_article(run_folder: Path, tiny_data: Path) -> None:
    predictor = Predictor.load(run_folder / "models" / "tiny")
    articles = list(iter_articles(tiny_data / "test.jsonl", labelled=False))
    bad = Article("bad", "题", POISON)
    want = predictor.predict(articles)
    assert predictor.predict([*articles[:3], bad, *articles[3:]]) == [
        *want[:3],
        *predictor.predict([Article("bad", "", "")]),
        *want[3:],
    ]

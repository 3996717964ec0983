"""The Python interface: what it takes, what it gives, and what it refuses."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

import pipeline
from pipeline import Article, ArtifactError, ConfigError, DataError, Emotion, Entity
from pipeline.metric import evaluate
from pipeline.schema import ChosenEntity, Prediction
from pipeline.submission import read_submission
from pipeline.submission.details import details_line
from tests.cli.tag.rows import entity_row, lines
from tests.support.command_line import TinyRun, TinyRuns
from tests.support.paths import ROOT

POS, NORM, NEG = Emotion
SLOW = ("torch", "lightgbm", "pandas", "numpy", "transformers", "omegaconf", "typer")


@pytest.fixture(scope="module")
def run(tiny_run: TinyRun) -> pipeline.Run:
    return pipeline.load_run(tiny_run.path)


def chosen(name: str, emotion: Emotion) -> ChosenEntity:
    return ChosenEntity(name, emotion, 0.5, (0.4, 0.3, 0.3))


# --- names


def test_every_public_name_is_there_and_the_package_is_quick_to_import() -> None:
    code = (
        "import sys, pipeline\n"
        f"slow = set({SLOW}) & set(sys.modules)\n"
        "assert not slow, slow\n"
        "assert set(pipeline.__all__) <= set(dir(pipeline))\n"
        "for name in pipeline.__all__:\n"
        "    assert getattr(pipeline, name), name\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, check=True)


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'pipeline' has no attribute 'laod_run'"):
        pipeline.laod_run  # noqa: B018


def test_public_names_are_documented_and_homes_agree_with_what_is_listed() -> None:
    assert set(pipeline._HOMES) <= set(pipeline.__all__)
    for name in set(pipeline.__all__) - {"__version__"}:
        assert getattr(pipeline, name).__doc__, name


# --- runs


def test_a_run_is_found_by_name_by_path_and_as_the_newest(
    tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_run.copy_to(tmp_path, "first")
    monkeypatch.chdir(tmp_path)
    found = [
        pipeline.load_run(),
        pipeline.load_run("first"),
        pipeline.load_run("models/first"),
        pipeline.load_run(folder),
        pipeline.load_run("first", models=tmp_path / "models"),
    ]
    assert {one.path.resolve() for one in found} == {folder.resolve()}
    assert [one.name for one in found] == ["first"] * 5
    assert repr(found[1]) == "Run('models/first')"
    assert found[0].config.n_folds == 3


def test_runs_that_cannot_be_loaded(tiny_run: TinyRun, tmp_path: Path) -> None:
    folder = tiny_run.copy_to(tmp_path)
    (folder / "config.yaml").write_bytes((folder / "config.yaml").read_bytes() + b"\n")
    with pytest.raises(ArtifactError, match="changed since the run was saved"):
        pipeline.load_run(folder)
    with pytest.raises(ArtifactError, match="no such run folder"):
        pipeline.load_run("second", models=tmp_path)
    with pytest.raises(ArtifactError, match="no finished run"):
        pipeline.load_run(models=tmp_path / "empty")
    with pytest.raises(ConfigError, match="run name"):
        pipeline.load_run("a b")


def test_a_stream_is_answered_as_the_command_does(
    run: pipeline.Run, tiny_run: TinyRun, tiny_runs: TinyRuns, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_runs.predict(tiny_run, tiny_data / "all.jsonl", tmp_path / "answer.txt")
    predictions = list(run.stream(pipeline.read_articles(tiny_data / "all.jsonl")))
    assert len(predictions) > 32  # several chunks
    details = "".join(details_line(one, [(entity.name, entity) for entity in one.entities]) for one in predictions)
    assert details == (tmp_path / "answer.details.jsonl").read_text(encoding="utf-8")
    gold = list(pipeline.read_articles(tiny_data / "all.jsonl"))
    figures = pipeline.evaluate(gold, predictions, n_resamples=0)
    submitted = read_submission(tmp_path / "answer.txt")
    expected = evaluate({one.news_id: one.entities or () for one in gold}, submitted, n_resamples=0)
    assert figures == expected
    assert figures.n_missing == 0


def test_an_endless_stream_is_answered_as_it_comes(run: pipeline.Run) -> None:
    taken = []

    def articles():
        for number in count(1):
            taken.append(number)
            yield {"title": f"云杉汽车第{number}次发布新车"}

    answers = run.stream(articles())
    assert [next(answers).news_id for _ in range(3)] == ["1", "2", "3"]
    assert len(taken) < 100
    assert list(run.stream([])) == []


def test_mentions_and_probabilities_of_one_article(run: pipeline.Run) -> None:
    article = {"newsId": 7, "title": "云杉汽车发布新车", "content": "车主喜欢云杉汽车。", "source": "unknown keys"}
    answer = run.predict(article)
    assert answer.news_id == "7"
    assert 1 <= len(answer.entities) <= 3
    for entity in answer.entities:
        assert sum(entity.probs) == pytest.approx(1)
        assert entity.mentions
        for mention in entity.mentions:
            assert article[mention.field][mention.start : mention.end] == mention.surface  # type: ignore[literal-required]
    assert run.predict(Article("7", article["title"], article["content"])) == answer  # type: ignore[arg-type]


def test_labels_do_not_reach_the_answer(run: pipeline.Run) -> None:
    title, content = "云杉汽车发布新车", "车主喜欢云杉汽车。"
    plain = run.predict(Article("1", title, content))
    assert run.predict(Article("1", title, content, (Entity("车主", NEG),))) == plain
    assert run.predict({"title": title, "content": content, "coreEntityEmotions": "nonsense"}) == plain


def test_an_empty_article_has_no_entity(run: pipeline.Run) -> None:
    assert run.predict({"title": None, "content": ""}).entities == ()
    assert run.predict({"title": None}).news_id == "1"


@pytest.mark.parametrize(
    ("article", "message"),
    [
        ({"headline": "a", "body": "b"}, r"neither title nor content \(have: headline, body\)"),
        ({}, r"neither title nor content \(have: no key\)"),
        ({"title": 3}, "title is not text but 3"),
        ({"title": "a", "newsId": " "}, "newsId is empty"),
        ("云杉汽车", "neither an Article nor a mapping but '云杉汽车'"),
        (Article("a\tb", "t", "c"), "newsId 'a.+b' holds a tab"),
    ],
)
def test_what_is_no_article_is_refused(run: pipeline.Run, article: object, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        run.predict(article)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=f"^article 2: {message}"):
        list(run.stream([{"title": "a"}, article]))  # type: ignore[list-item]


def test_a_lone_surrogate_is_mended_as_in_a_file(run: pipeline.Run) -> None:
    broken = Article("1", "云杉汽车\ud83d发布新车", "云杉汽车。")
    assert run.predict(broken) == run.predict({"title": "云杉汽车\ufffd发布新车", "content": "云杉汽车。"})


# --- files and scores


def test_articles_of_a_file_with_and_without_labels(tiny_data: Path, tmp_path: Path) -> None:
    path = str(tiny_data / "test.jsonl")
    assert all(article.entities for article in pipeline.read_articles(path))
    assert all(article.entities is None for article in pipeline.read_articles(path, labelled=False))
    (tmp_path / "plain.jsonl").write_text(json.dumps({"newsId": "1", "title": "标题"}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"plain.jsonl:1: no coreEntityEmotions"):
        list(pipeline.read_articles(tmp_path / "plain.jsonl", labelled=True))


def test_names_are_scored_as_the_upload_file_has_them() -> None:
    gold = [Article("1", "", "", (Entity("甲,乙", POS),)), Article("2", "", "", (Entity("丙", NEG),))]
    given = [Prediction("2", (chosen(" 丙\t", NEG), chosen("丙", POS))), Prediction("1", (chosen("甲,乙", POS),))]
    figures = pipeline.evaluate(gold, given)
    assert (figures.entity_f1, figures.emotion_f1, figures.score) == (0.5, 0.5, 0.5)  # the comma is not written
    assert set(figures.intervals) == {"entity_f1", "emotion_f1", "score"}
    assert pipeline.evaluate(gold, given, n_resamples=0).intervals == {}
    assert pipeline.evaluate(gold, given[:1]).n_missing == 1


@pytest.mark.parametrize(
    ("gold", "given", "message"),
    [
        ([], [], "no gold article"),
        ([Article("1", "t", "c")], [], "article 1 has no labels"),
        ([Article("1", "t", "c", ())] * 2, [], "gold article 1 occurs twice"),
        ([Article("1", "t", "c", ())], [Prediction("1", ())] * 2, "prediction 1 occurs twice"),
    ],
)
def test_what_cannot_be_scored(gold: list[Article], given: list[Prediction], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pipeline.evaluate(gold, given)


# --- heads and taggers


def test_a_target_is_found_in_its_text() -> None:
    example = pipeline.make_target("　Ｎｏｖａ很好，Nova", "Ｎｏｖａ")
    assert example.text[example.start : example.stop] == "nova"
    assert (example.name, example.emotion) == ("Ｎｏｖａ", None)
    assert pipeline.make_target("很好").start == pipeline.make_target("很好").stop == 0
    with pytest.raises(DataError, match="is not in the text"):
        pipeline.make_target("很好", "云杉汽车")
    with pytest.raises(DataError, match="text is empty"):
        pipeline.make_target(" ")


@pytest.fixture(scope="module")
def tagger_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    rng = random.Random(3)
    for name, n_rows in (("train", 60), ("dev", 6)):
        (folder / f"{name}.jsonl").write_text(lines(*(entity_row(rng) for _ in range(n_rows))), encoding="utf-8")
    sizes = ["tagger.embedding_dim=16", "tagger.hidden_dim=16", "tagger.training.max_epochs=6"]
    config = pipeline.load_config(
        overrides=["tagger.name=lstm", "tagger.training.learning_rate=0.02", "workers=1", *sizes]
    )
    files = [folder / "train.jsonl"]
    tagger = pipeline.train_tagger(files, folder / "model", config=config, dev=folder / "dev.jsonl")
    assert repr(tagger) == "Tagger(公司, 地点)"
    return folder


def test_a_trained_tagger_finds_spans(tagger_folder: Path) -> None:
    tagger = pipeline.load_tagger(str(tagger_folder / "model"))
    assert tagger.labels == ("公司", "地点")
    text = "　今天青禾科技访问砚台镇。"
    spans = tagger.tag(text)
    assert [(text[start:stop], label) for start, stop, label in spans] == [("青禾科技", "公司"), ("砚台镇", "地点")]
    assert isinstance(spans[0], pipeline.Span)
    assert list(tagger.stream([text, "", text])) == [spans, (), spans]
    assert json.loads((tagger_folder / "model" / "metrics.json").read_bytes())["dev"]
    with pytest.raises(DataError, match="text 2 is not text but 3"):
        list(tagger.stream(["a", 3]))  # type: ignore[list-item]


def test_taggers_that_cannot_be_trained_or_loaded(tagger_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exists"):
        pipeline.train_tagger(tagger_folder / "train.jsonl", tagger_folder / "model")
    with pytest.raises(DataError, match="no such file"):
        pipeline.train_tagger(tmp_path / "none.jsonl", tmp_path / "model")
    with pytest.raises(ArtifactError, match="no folder of a trained tagger"):
        pipeline.load_tagger(tmp_path)

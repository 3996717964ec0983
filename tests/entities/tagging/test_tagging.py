from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import Config, TaggerConfig, TrainingConfig
from pipeline.entities.taggers.settings import TaggerSettings
from pipeline.entities.tagging import (
    COLUMNS,
    TaggerStage,
    article_text,
    gold_text,
    mention_spans,
    out_of_fold_spans,
    tagger_columns,
    tagger_keys,
)
from pipeline.entities.tagging.stage import drawn
from pipeline.errors import ArtifactError, DataError
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import Document
from pipeline.text.spans import LabelledText, ScoredSpan, Span
from tests.support.located import located
from tests.support.tiny_encoder import write_tiny_encoder


def document(content: str, *names: str, title: str = "", truncated: bool = False) -> Document:
    entities = tuple(Entity(name, Emotion.POS) for name in names)
    return Document.of(Article("a1", title, content, entities, truncated))


def texts_of(doc: Document, spans: Sequence[Span]) -> list[str]:
    return [doc.text[span.start : span.stop] for span in spans]


class TestMentions:
    def test_every_mention_is_found_whatever_its_case_and_width(self) -> None:
        doc = document("ＮＯＶＡＰＡＤ 涨价,novapad好,novapads不是。", title="NovaPad上手")
        assert texts_of(doc, mention_spans(doc, {"novapad": "x"})) == ["novapad"] * 3
        assert {span.label for span in mention_spans(doc, {"novapad": "x"})} == {"x"}

    def test_of_two_spellings_of_one_name_the_first_gives_the_label(self) -> None:
        doc = document("青禾a")
        assert mention_spans(doc, {"青禾A": "POS", "青禾a": "NEG", " ": "NORM"}) == [Span(1, 4, "POS")]

    def test_overlapping_names_are_all_marked(self) -> None:
        doc = document("青禾科技园", "青禾", "青禾科技", "科技园")
        assert texts_of(doc, gold_text(doc).spans) == ["青禾", "青禾科技", "科技园"]

    def test_the_title_is_told_apart(self) -> None:
        text = gold_text(document("很好", "青禾", title="青禾上市"))
        assert (text.text, text.title_stop, text.spans) == ("青禾上市\n很好", 4, (Span(0, 2),))
        assert article_text(document("青禾", "青禾")).spans == ()

    def test_an_end_that_may_begin_a_name_is_unknown_in_a_truncated_article(self) -> None:
        assert gold_text(document("来到青禾科", "青禾科技", truncated=True)).unknown == ((3, 6),)
        assert gold_text(document("来到青禾科", "青禾科技")).unknown == ()
        assert gold_text(document("来到青禾科技", "青禾科技", truncated=True)).unknown == ()

    @given(st.text(st.sampled_from("青禾ＡaA \u200b。"), max_size=20))
    def test_mentions_map_to_slices_of_the_untouched_field(self, content: str) -> None:
        doc = document(content)
        for span in mention_spans(doc, {"青a": ""}):
            mention = doc.mention(span.start, span.stop)
            assert mention.surface == content[mention.start : mention.end]


SPANS = [
    ScoredSpan(0, 2, 0.8),
    ScoredSpan(5, 7, 0.5),
    ScoredSpan(5, 9, 0.25),
    ScoredSpan(10, 12, 0.1),
]
DOC = document("青禾科技,青禾", title="青禾上市")  # 0 青禾上市 4 | 5 青禾科技 9 , 10 青禾


class TestColumns:
    def test_scores_are_gathered_by_name(self) -> None:
        candidates = located(DOC, ["青禾", "青禾科技", "上市"])
        columns = tagger_columns(candidates, SPANS)
        assert tuple(columns) == COLUMNS
        rows = {key: [round(float(columns[name][i]), 4) for name in COLUMNS] for i, key in enumerate(candidates.keys)}
        #                    max   sum   mean    n  title lead  share   rival
        assert rows == {
            "青禾": [0.8, 1.4, 0.4667, 3, 0.8, 0.5, 1.0, 0.25],
            "青禾科技": [0.25, 0.25, 0.25, 1, 0.0, 0.25, 0.3125, 0.5],
            "上市": [0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0],
        }

    def test_scores_of_several_labels_add_up(self) -> None:
        candidates = located(DOC, ["青禾"])
        spans = [ScoredSpan(0, 2, 0.5, "POS"), ScoredSpan(0, 2, 0.3, "NEG"), ScoredSpan(5, 7, 0.9, "NEG")]
        assert tagger_columns(candidates, spans)["sum"].tolist() == [pytest.approx(1.7)]

    @pytest.mark.parametrize("keys", [[], ["青禾"]])
    def test_nothing_to_describe_or_no_score_is_legal(self, keys: list[str]) -> None:
        columns = tagger_columns(located(DOC, keys), [])
        assert all(column.shape == (len(keys),) and not column.any() for column in columns.values())

    def test_keys_are_distinct_likely_and_cut_no_latin_run(self) -> None:
        doc = document("青禾s7和青禾")
        spans = [ScoredSpan(1, 3, 0.9), ScoredSpan(1, 4, 0.9), ScoredSpan(1, 5, 0.4), ScoredSpan(6, 8, 0.9)]
        assert tagger_keys(doc, spans) == ["青禾", "青禾s7"]
        assert tagger_keys(doc, spans, min_prob=0.5) == ["青禾"]


NAMES = ("青禾科技", "云杉汽车", "银杏出版社")
FILLERS = ("今天发布新款。", "口碑很好,上市。", "路由器很好!")


def articles(n: int = 18) -> list[Document]:
    """Return articles whose core entity follows 《; a name elsewhere is not one."""
    docs = []
    for index in range(n):
        name, other = NAMES[index % 3], NAMES[(index + 1) % 3]
        content = f"{FILLERS[index % 3]}{other}发布。《{name}》{FILLERS[(index + 1) % 3]}"
        entities = (Entity(name, Emotion.POS),)
        docs.append(Document.of(Article(f"a{index:02}", f"《{name}》上市", content, entities)))
    return docs


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    training = TrainingConfig(max_epochs=8, batch_size=4, learning_rate=1e-2)
    tagger = TaggerConfig(
        name="bert",
        encoder=str(write_tiny_encoder(tmp_path_factory.mktemp("encoder"))),
        encoder_learning_rate=1e-2,
        freeze_layers=0,
        window_tokens=24,
        train_window_tokens=24,
        overlap_tokens=8,
        title_tokens=8,
        train_tokens=48,
        training=training,
    )
    return Config(workers=1, n_folds=3, tagger=tagger)


DOCS = articles()
TEXTS = [gold_text(doc) for doc in DOCS]
FOLDS = [index // 3 % 3 for index in range(len(DOCS))]


@pytest.fixture(scope="module")
def fitted(config: Config, tmp_path_factory: pytest.TempPathFactory) -> tuple[TaggerStage, Path]:
    folder = tmp_path_factory.mktemp("tagger")
    return TaggerStage(config, log=folder / "log.jsonl").fit(TEXTS, FOLDS, folder=folder), folder


def by_probability(doc: Document, spans: Sequence[ScoredSpan]) -> dict[str, float]:
    best: dict[str, float] = {}
    for span in spans:
        key = doc.text[span.start : span.stop]
        best[key] = max(best.get(key, 0.0), span.prob)
    return best


class TestStage:
    def test_core_entities_score_higher_than_other_names(self, fitted: tuple[TaggerStage, Path]) -> None:
        stage, _ = fitted
        for spans in (stage.oof_, stage.predict(DOCS)):
            found = [by_probability(doc, row) for doc, row in zip(DOCS, spans, strict=True)]
            gold = np.mean([row.get(NAMES[index % 3], 0.0) for index, row in enumerate(found)])
            other = np.mean([row.get(NAMES[(index + 1) % 3], 0.0) for index, row in enumerate(found)])
            assert gold > other + 0.2

    def test_an_article_is_scored_by_a_model_that_has_not_seen_its_labels(
        self, fitted: tuple[TaggerStage, Path], config: Config, tmp_path: Path
    ) -> None:
        changed = [replace(text, spans=()) if fold == 1 else text for text, fold in zip(TEXTS, FOLDS, strict=True)]
        stage = TaggerStage(config).fit(changed, FOLDS, folder=tmp_path)
        held_out = [index for index, fold in enumerate(FOLDS) if fold == 1]
        assert [stage.oof_[index] for index in held_out] == [fitted[0].oof_[index] for index in held_out]
        assert stage.oof_ != fitted[0].oof_

    def test_finished_trainings_are_not_repeated(self, fitted: tuple[TaggerStage, Path], config: Config) -> None:
        stage, folder = fitted
        n_lines = len((folder / "log.jsonl").read_text().splitlines())
        assert n_lines == 4 * config.tagger.training.max_epochs
        again = TaggerStage(config, log=folder / "log.jsonl").fit(TEXTS, FOLDS, folder=folder)
        assert len((folder / "log.jsonl").read_text().splitlines()) == n_lines
        assert again.oof_ == stage.oof_
        assert again.predict(DOCS[:2]) == stage.predict(DOCS[:2])
        (folder / "folds" / "1" / "done.json").unlink()
        again = TaggerStage(config, log=folder / "log.jsonl").fit(TEXTS, FOLDS, folder=folder)
        lines = (folder / "log.jsonl").read_text().splitlines()[n_lines:]
        assert [json.loads(line)["fold"] for line in lines] == [1] * config.tagger.training.max_epochs
        assert again.oof_ == stage.oof_

    def test_other_options_train_again(self, fitted: tuple[TaggerStage, Path], config: Config, tmp_path: Path) -> None:
        folder = tmp_path / "copy"
        shutil.copytree(fitted[1], folder)
        once = replace(config, tagger=replace(config.tagger, training=replace(config.tagger.training, max_epochs=1)))
        TaggerStage(once, log=folder / "other.jsonl").fit(TEXTS, FOLDS, folder=folder)
        assert len((folder / "other.jsonl").read_text().splitlines()) == 4

    def test_save_and_load_predict_alike(
        self, fitted: tuple[TaggerStage, Path], config: Config, tmp_path: Path
    ) -> None:
        stage, folder = fitted
        assert TaggerStage.load(folder, config).predict(DOCS) == stage.predict(DOCS)
        with pytest.raises(ArtifactError, match="tags entity, want POS, NEG"):
            TaggerStage.load(folder, config, labels=["POS", "NEG"])
        with pytest.raises(ArtifactError, match="cannot be read"):
            TaggerStage.load(folder / "none", config)

    def test_two_workers_give_the_same_scores(
        self, fitted: tuple[TaggerStage, Path], config: Config, tmp_path: Path
    ) -> None:
        stage = TaggerStage(replace(config, workers=2)).fit(TEXTS, FOLDS, folder=tmp_path)
        assert stage.oof_ == fitted[0].oof_
        assert stage.predict(DOCS) == fitted[0].predict(DOCS)

    def test_training_can_begin_with_marked_rows(self, config: Config, tmp_path: Path) -> None:
        rows = [{"text": f"{name}很好", "entities": [{"type": "x", "from": 0, "to": len(name)}]} for name in NAMES]
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")

        def fit(**options: Any) -> TaggerStage:
            tagger = replace(config.tagger, ner_files=[str(path)], ner_epochs=2, **options)
            stage = TaggerStage(replace(config, tagger=tagger), log=tmp_path / "log.jsonl")
            return stage.fit(TEXTS, FOLDS, folder=tmp_path / "tagger")

        first = fit()
        lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        assert [line["fold"] for line in lines[:3]] == ["pretraining", "pretraining", 0]
        assert fit().oof_ == first.oof_
        assert len((tmp_path / "log.jsonl").read_text().splitlines()) == len(lines)
        with pytest.raises(DataError, match=r"none\.jsonl: no such file \(tagger\.ner_files\)"):
            TaggerStage(replace(config, tagger=replace(config.tagger, ner_files=["none.jsonl"]))).fit(
                TEXTS, FOLDS, folder=tmp_path / "other"
            )

    def test_articles_without_a_marked_name_are_scored_but_not_trained_on(
        self, config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        once = replace(config, tagger=replace(config.tagger, training=replace(config.tagger.training, max_epochs=1)))
        with caplog.at_level("INFO"):
            stage = TaggerStage(once).fit([*TEXTS, LabelledText("今天口碑很好")], [*FOLDS, 0], folder=tmp_path)
        assert "1 of 19 articles name none of their core entities" in caplog.text
        assert len(stage.oof_) == 19
        with pytest.raises(DataError, match="nothing to learn"):
            TaggerStage(once).fit([LabelledText("好")], [0], folder=tmp_path)


class TestFewerArticles:
    def test_so_many_are_learnt_from_and_all_are_scored(
        self, config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        training = replace(config.tagger.training, max_epochs=1)
        few = replace(config, tagger=replace(config.tagger, train_articles=5, training=training))
        with caplog.at_level("INFO"):
            stage = TaggerStage(few).fit(TEXTS, FOLDS, folder=tmp_path)
        learnt = [message for message in caplog.messages if "trained on" in message]
        assert [message.split(" texts")[0] for message in learnt] == ["tagger bert: trained on 5"] * 4
        assert len(stage.oof_) == len(TEXTS)

    def test_what_is_drawn_depends_on_texts_and_seed_alone(self) -> None:
        texts = [LabelledText(f"松果{number}", ()) for number in range(12)]
        five, again = drawn(texts, 5, seed=7), drawn(texts[::-1], 5, seed=7)
        assert five == again[::-1] == [text for text in texts if text in five]
        assert five != drawn(texts, 5, seed=8)
        assert drawn(texts, 99, seed=7) == texts

    def test_more_hold_the_fewer_and_folds_share_what_they_may(self) -> None:
        assert all(text in drawn(TEXTS, 6, seed=7) for text in drawn(TEXTS, 5, seed=7))
        rest = [text for text, fold in zip(TEXTS, FOLDS, strict=True) if fold != 1]
        shared = [text for text in drawn(TEXTS, 5, seed=7) if text in rest]
        assert all(text in drawn(rest, 5, seed=7) for text in shared)

    def test_the_option_is_in_no_file_or_key_until_it_is_used(self, tmp_path: Path) -> None:
        for n, is_there in ((0, False), (5, True)):
            TaggerSettings(TaggerConfig(train_articles=n)).save(tmp_path)
            assert ("train_articles" in (tmp_path / "tagger.json").read_text()) is is_there
            assert TaggerSettings.load(tmp_path).config.train_articles == n


def test_out_of_fold_spans_are_read_back_without_a_training(tmp_path: Path) -> None:
    for fold, spans in ((0, [[[0, 2, 0.5]], []]), (1, [[[3, 4, 0.25]]])):
        path = tmp_path / "folds" / str(fold) / "spans.json.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(json.dumps(spans).encode()))
    assert out_of_fold_spans(tmp_path, [0, 1, 0]) == [[ScoredSpan(0, 2, 0.5)], [ScoredSpan(3, 4, 0.25)], []]
    with pytest.raises(ArtifactError, match=r"folds/1/spans\.json\.gz: cannot be read: 1 results for 2"):
        out_of_fold_spans(tmp_path, [0, 1, 0, 1])
    (tmp_path / "folds" / "0" / "spans.json.gz").write_bytes(b"torn")
    with pytest.raises(ArtifactError, match=r"folds/0/spans\.json\.gz: cannot be read"):
        out_of_fold_spans(tmp_path, [0, 1, 0])

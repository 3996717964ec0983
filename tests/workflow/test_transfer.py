"""Heads that learn from other labelled rows first."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.config import Config, SentimentConfig
from pipeline.emotions.sentiment import SentimentStage
from pipeline.emotions.sentiment.contexts import gold_emotions
from pipeline.emotions.sentiment.members import build_member
from pipeline.emotions.sentiment.training import TRANSFERRED, MemberTraining, transfer
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, Article
from pipeline.standalone.heads.rows import read_targets
from pipeline.workflow.transfer import read_others
from tests.emotions.sentiment.test_stage import EXAMPLES, FOLDS, config
from tests.support.tiny_encoder import write_tiny_encoder

OTHERS = [replace(item, group=f"other {item.group}") for item in EXAMPLES]


def options(member: str, folder: Path) -> Config:
    found = config(member, choose=member)
    if member == "pair":
        characters = "".join(sorted({char for item in EXAMPLES for char in item.text}))
        found.head.encoder.name = str(write_tiny_encoder(folder, n_layers=1, characters=characters))
    return found


def likelihood(probs: NDArray[np.float64]) -> float:
    """Return the mean log probability of the gold emotions."""
    gold = [EMOTIONS.index(emotion) for emotion in gold_emotions(EXAMPLES)]
    return float(np.mean(np.log(probs[np.arange(len(gold)), gold])))


@pytest.mark.parametrize("member", ["ian", "pair"])
def test_what_was_learnt_from_other_rows_is_where_the_folds_begin(member: str, tmp_path: Path) -> None:
    """At the lowest learning rate the folds are left with what the other rows taught."""
    learning = options(member, tmp_path / "encoder")
    for training in (learning.training, learning.head.encoder.training):
        training.max_epochs, training.learning_rate = 12, 2e-2
    learning.head.encoder.learning_rate = 2e-2
    start = transfer(OTHERS, member, learning, folder=tmp_path / member)
    still = deepcopy(learning)
    still.training.learning_rate = still.head.encoder.training.learning_rate = still.head.encoder.learning_rate = 1e-8
    begun = MemberTraining.on(EXAMPLES[:6], member, still, start=start).fit(EXAMPLES[:6], 0).predict_proba(EXAMPLES)
    taught = build_member(member, learning).load(tmp_path / member / TRANSFERRED).predict_proba(EXAMPLES)
    np.testing.assert_allclose(begun, taught, atol=1e-3)
    untaught = MemberTraining.on(EXAMPLES[:6], member, still).fit(EXAMPLES[:6], 0).predict_proba(EXAMPLES)
    assert likelihood(begun) > likelihood(untaught) + 0.05


@pytest.mark.parametrize("member", ["ian", "pair"])
def test_a_stage_learns_from_other_rows_once_and_is_loaded_without_them(member: str, tmp_path: Path) -> None:
    log, folder = tmp_path / "log.jsonl", tmp_path / "stage"
    stage = SentimentStage(options(member, tmp_path / "encoder"), log=log)
    stage.fit(EXAMPLES, FOLDS, folder=folder, others=OTHERS)
    folds = [json.loads(line)["fold"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert folds[0] == "transferred"
    n_first = folds.count("transferred")
    again = SentimentStage(stage.config, log=log).fit(EXAMPLES, FOLDS, folder=folder, others=OTHERS)
    folds = [json.loads(line)["fold"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert folds.count("transferred") == n_first
    np.testing.assert_array_equal(again.predict(EXAMPLES), stage.predict(EXAMPLES))
    np.testing.assert_array_equal(SentimentStage.load(folder, stage.config).predict(EXAMPLES), stage.predict(EXAMPLES))
    SentimentStage(stage.config, log=log).fit(EXAMPLES, FOLDS, folder=folder, others=OTHERS[:30])
    folds = [json.loads(line)["fold"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert folds.count("transferred") == 2 * n_first


def test_other_rows_take_no_part_in_the_table(tmp_path: Path) -> None:
    stage = SentimentStage(config("tfidf", "ian")).fit(EXAMPLES, FOLDS, folder=tmp_path, others=OTHERS)
    assert len(stage.oof_) == len(EXAMPLES)
    assert set(stage.oof_["news_id"]) == {item.group for item in EXAMPLES}


def test_targets_of_files_of_several_forms(tmp_path: Path) -> None:
    rows, articles = tmp_path / "rows.jsonl", tmp_path / "articles.jsonl"
    rows.write_text('{"text": "松果茶社广受夸赞。", "target": "松果茶社", "polarity": "POS"}\n', encoding="utf-8")
    entity = {"entity": "松果茶社", "emotion": "NEG"}
    article = {"newsId": "a1", "title": "松果茶社", "content": "松果茶社遭到批评。", "coreEntityEmotions": [entity]}
    articles.write_text(json.dumps(article, ensure_ascii=False) + "\n", encoding="utf-8")
    found = read_targets([rows, articles], max_context_chars=40)
    assert [(item.name, item.emotion) for item in found] == [("松果茶社", "POS"), ("松果茶社", "NEG")]
    assert read_targets([], max_context_chars=40) == []


def test_a_file_without_targets_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text('{"text": "很好", "label": "1"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"documents\.jsonl: its rows have no target"):
        read_targets([path], max_context_chars=40)


def test_rows_that_are_training_articles_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A head that had learnt them would know the labels of the fold it is measured on."""
    ours = "松果茶社的新店本周在城东开张，排队的人从早到晚没有断过，店主说备好的茶点两小时就卖完了。"
    theirs = "青石书屋宣布明年起不再收取押金，读者凭借书证即可把书带回家，逾期一天提醒一次，不再罚款。"
    path = tmp_path / "rows.jsonl"
    rows = [
        {"text": f"{ours}他很高兴。", "target": "松果茶社", "polarity": "POS"},
        {"text": theirs, "target": "青石书屋", "polarity": "POS"},
        {"text": f"{ours}他很高兴。", "target": "店主", "polarity": "POS"},
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    options = SentimentConfig(transfer=[str(path)])
    assert [item.name for item in read_others(options, [Article("a", "开张", ours)])] == ["青石书屋"]
    assert "1 texts are left out" in caplog.text
    assert len(read_others(options, [])) == 3
    with pytest.raises(DataError, match=r"rows\.jsonl: every text is a training article"):
        read_others(options, [Article("a", "开张", ours), Article("b", "押金", theirs)])
    assert read_others(SentimentConfig(), [Article("a", "开张", ours)]) == []

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config, HeadConfig, SentimentConfig, TrainingConfig
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.errors import ArtifactError, DataError
from pipeline.schema import Target

CLASSES = ("香", "苦")
WORDS = {"香": "香甜可口", "苦": "苦涩难咽"}
CONFIG = Config(
    head=HeadConfig(embedding="random", embedding_dim=8, hidden_dim=8, dropout=0.1),
    sentiment=SentimentConfig(max_context_chars=20),
    training=TrainingConfig(max_epochs=6, batch_size=8, learning_rate=2e-2),
)


def examples(n: int, labels: tuple[str, ...] = CLASSES) -> tuple[list[Target], list[str]]:
    found = [labels[i % len(labels)] for i in range(n)]
    texts = [f"松果{i % 7}号 茶{WORDS[label]}" for i, label in enumerate(found)]
    return [Target(text, 0, 2, "松果") for text in texts], found


@pytest.fixture(scope="module")
def ian() -> HeadClassifier:
    return HeadClassifier("ian", CONFIG, classes=CLASSES, seed=1).fit(*examples(32))


def test_two_classes_are_learnt_without_development_examples(ian: HeadClassifier) -> None:
    items, labels = examples(10)
    probs = ian.predict_proba(items)
    assert probs.shape == (10, 2)
    assert probs.dtype == np.float64
    np.testing.assert_allclose(probs.sum(1), 1)
    assert [CLASSES[column] for column in probs.argmax(1)] == labels
    np.testing.assert_allclose(ian.predict_proba(items[::-1]), probs[::-1])


def test_all_epochs_are_taken_without_development_examples(tmp_path: Path) -> None:
    from pipeline.runtime.epoch_log import JsonLinesLog

    log = JsonLinesLog(tmp_path / "log.jsonl")
    HeadClassifier("text_cnn", CONFIG, classes=CLASSES, log=log).fit(*examples(8))
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == CONFIG.training.max_epochs


def test_attention_lies_on_the_characters_of_the_text(ian: HeadClassifier) -> None:
    text = "松果12号 茶香甜可口" + "天" * 30
    [weights] = ian.attention([Target(text, 0, 2, "松果")])
    assert weights.shape == (len(text),)
    assert weights.sum() == pytest.approx(1)
    assert weights[2] == weights[3] > 0  # one token
    assert weights[5] == 0  # a blank
    assert not weights[30:].any()  # cut
    assert ian.attention([]) == []


def test_heads_without_attention_have_none() -> None:
    head = HeadClassifier("text_cnn", CONFIG, classes=CLASSES).fit(*examples(8))
    assert head.attention(examples(3)[0]) is None


def test_saved_heads_are_the_same(ian: HeadClassifier, tmp_path: Path) -> None:
    ian.save(tmp_path)
    again = HeadClassifier("ian", CONFIG, classes=CLASSES).load(tmp_path)
    items = examples(9)[0]
    np.testing.assert_array_equal(again.predict_proba(items), ian.predict_proba(items))
    assert again.n_parameters == ian.n_parameters > 100


@pytest.mark.parametrize(
    ("name", "classes", "message"),
    [("af_lstm", CLASSES, "name ian, want af_lstm"), ("ian", ("苦", "香"), "classes 香, 苦, want 苦, 香")],
)
def test_load_says_what_does_not_agree(
    ian: HeadClassifier, tmp_path: Path, name: str, classes: tuple, message: str
) -> None:
    ian.save(tmp_path)
    with pytest.raises(ArtifactError, match=rf"head\.json: {message}"):
        HeadClassifier(name, CONFIG, classes=classes).load(tmp_path)


def test_labels_must_be_classes() -> None:
    with pytest.raises(DataError, match="label '酸' is not one of 香, 苦"):
        HeadClassifier("ian", CONFIG, classes=CLASSES).fit(examples(2)[0], ["香", "酸"])
    with pytest.raises(DataError, match="no example"):
        HeadClassifier("ian", CONFIG, classes=CLASSES).fit([], [])


@pytest.mark.parametrize("options", [{"aspect": "table"}, {"af_normalise": "batch"}])
def test_what_a_head_learns_beside_its_network_is_saved(options: dict[str, str], tmp_path: Path) -> None:
    """The names of its aspects, and the running averages."""
    config = replace(CONFIG, head=replace(CONFIG.head, **options))
    name = "at_lstm" if "aspect" in options else "af_lstm"
    items, labels = examples(32)
    items = [replace(item, name="松果" if i % 2 else f"松果{i}") for i, item in enumerate(items)]
    head = HeadClassifier(name, config, classes=CLASSES, seed=1).fit(items, labels)
    head.save(tmp_path)
    loaded = HeadClassifier(name, config, classes=CLASSES).load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(items), head.predict_proba(items))
    assert (tmp_path / "aspects.json").exists() == ("aspect" in options)
    if "aspect" in options:
        assert loaded.aspects_.tokens == ["松果"]  # the others came once
        (tmp_path / "aspects.json").unlink()
        with pytest.raises(ArtifactError, match=r"aspects\.json"):
            HeadClassifier(name, config, classes=CLASSES).load(tmp_path)

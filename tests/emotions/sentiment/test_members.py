from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import jieba
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from pipeline.config import Config, EncoderConfig, HeadConfig, TrainingConfig
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.emotions.sentiment.contexts import gold_emotions, make_target
from pipeline.emotions.sentiment.counted import Tokens
from pipeline.emotions.sentiment.design import Block, Design
from pipeline.emotions.sentiment.linear import fit_naive_bayes
from pipeline.emotions.sentiment.members import LINEAR, Majority, Member, build_member, check_member
from pipeline.emotions.sentiment.ngrams import word_ngrams
from pipeline.emotions.sentiment.tfidf import PLACEHOLDER, Tfidf, _mask_target
from pipeline.errors import ArtifactError, ConfigError
from pipeline.registry import HEADS, resolve
from pipeline.schema import EMOTIONS, Article, Emotion, Target
from pipeline.text import Document
from tests.support.tiny_encoder import write_tiny_encoder

TELLING = {Emotion.POS: "广受夸赞", Emotion.NORM: "位于城东", Emotion.NEG: "遭到批评"}
NAMES = ["松果茶社", "银杏书店", "竹林乐团", "山泉饭店", "石桥画院"]
CONFIG = Config(
    head=HeadConfig(embedding="random", embedding_dim=8, hidden_dim=16, dropout=0.1),
    training=TrainingConfig(max_epochs=15, batch_size=8, learning_rate=2e-2),
)
MEMBERS = [
    "majority",
    *LINEAR,
    *(name for name in HEADS if not resolve(HEADS, name, kind="head").needs_encoder),
]


def examples(n: int, *, emotions: tuple[Emotion, ...] = EMOTIONS) -> list[Target]:
    """Return articles that say of one name what tells its emotion."""
    items = []
    for i in range(n):
        emotion, name = emotions[i % len(emotions)], NAMES[i % len(NAMES)]
        article = Article(f"n{i}", f"{name}第{i}天", f"今天天晴。{name}{TELLING[emotion]}。")
        items.append(make_target(Document.of(article), name, max_chars=60, emotion=emotion))
    return items


def fit(member: Member, items: list[Target], dev: list[Target] | None = None) -> Member:
    """Fit a member on examples that know their emotions; ``dev`` only where it is read."""
    dev = dev if dev and member.stops_early else []
    return member.fit(items, gold_emotions(items), dev, gold_emotions(dev))


@pytest.fixture(scope="module")
def fitted() -> dict:
    train, dev = examples(48), examples(9)
    return {name: fit(build_member(name, CONFIG, seed=5), train, dev) for name in MEMBERS}


@pytest.mark.parametrize("name", MEMBERS)
def test_probabilities_are_probabilities(fitted: dict, name: str) -> None:
    probs = fitted[name].predict_proba(examples(7))
    assert probs.shape == (7, 3)
    assert probs.dtype == np.float64
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(1), 1)


@pytest.mark.parametrize("name", MEMBERS)
def test_saved_members_predict_the_same_and_hold_no_code(fitted: dict, name: str, tmp_path: Path) -> None:
    fitted[name].save(tmp_path)
    again = build_member(name, CONFIG).load(tmp_path)
    odd = [Target("", 0, 0, "渡口"), Target("银杏书店很好", 0, 4, "银杏书店")]
    for items in (examples(7), odd):
        np.testing.assert_array_equal(again.predict_proba(items), fitted[name].predict_proba(items))
    assert {file.suffix for file in tmp_path.iterdir()} <= {".json", ".safetensors"}


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "majority"])
def test_members_learn_what_tells_the_emotion(fitted: dict, name: str) -> None:
    unseen = examples(30)[15:]
    answers = [EMOTIONS[column] for column in fitted[name].predict_proba(unseen).argmax(1)]
    right = np.mean([answer == gold for answer, gold in zip(answers, gold_emotions(unseen), strict=True)])
    assert right > 0.8


@pytest.mark.parametrize("name", MEMBERS)
def test_same_seed_same_member(name: str) -> None:
    train, dev = examples(18), examples(6)

    def probs() -> np.ndarray:
        member = build_member(name, CONFIG, seed=8)
        return fit(member, train, dev).predict_proba(dev)

    np.testing.assert_array_equal(probs(), probs())


def test_majority_gives_the_shares() -> None:
    train = examples(4, emotions=(Emotion.POS, Emotion.POS, Emotion.NEG, Emotion.POS))
    np.testing.assert_allclose(
        Majority().fit(train, gold_emotions(train)).predict_proba(train[:2]), [[0.75, 0.0, 0.25]] * 2
    )


def test_unknown_member_is_named() -> None:
    for build in (build_member, check_member):
        with pytest.raises(ConfigError, match="unknown sentiment member 'tfidff'"):
            build("tfidff", CONFIG)


def test_what_would_stop_training_is_found_before(on_encoder: Config) -> None:
    for name in ("majority", "tfidf", "ian", "pair"):
        check_member(name, on_encoder)
    on_encoder.head.encoder.name = "/no/such"
    check_member("text_cnn", on_encoder)
    for name in ("ian", "pair"):
        with pytest.raises(ArtifactError, match="no such folder"):
            check_member(name, on_encoder)


def test_target_is_masked_in_its_context() -> None:
    item = Target("松果好，松果甜", 0, 2, "松果", mentions=((0, 2), (4, 6)))
    assert _mask_target(item) == f"{PLACEHOLDER}好，{PLACEHOLDER}甜"
    assert _mask_target(Target("松果好", 0, 2, "松果")) == f"{PLACEHOLDER}好"


def features_by_hand(items: list[Target], tokens: Tokens) -> np.ndarray:
    """Return TF-IDF of the three fields with scikit-learn, (n_examples, n_features)."""
    of_text = {
        "char": {"analyzer": "char", "ngram_range": (1, 3)},
        "word": {"tokenizer": lambda text: jieba.lcut(text), "token_pattern": None, "ngram_range": (1, 2)},
    }
    columns = []
    for texts, weight, tokeniser in (
        ([_mask_target(item) for item in items], 1.0, of_text[tokens]),
        ([item.document for item in items], 1.4, of_text[tokens]),
        ([f"{PLACEHOLDER}{item.name}{PLACEHOLDER}" for item in items], 0.5, of_text["char"]),
    ):
        if tokens == "word" and tokeniser is of_text["word"]:
            texts = [re.sub(r"\s", "", text) for text in texts]
        vectorizer = TfidfVectorizer(**tokeniser, sublinear_tf=True, lowercase=False)
        columns.append(weight * vectorizer.fit_transform(texts).toarray())
    return np.hstack(columns)


@pytest.mark.parametrize("tokens", ["char", "word"])
def test_tfidf_equals_scikit_learn_put_together_by_hand(tokens: Tokens) -> None:
    items = examples(30)
    found = Tfidf(tokens=tokens).fit(items, gold_emotions(items)).predict_proba(items)
    features = features_by_hand(items, tokens)
    model = LogisticRegression(max_iter=1000, tol=1e-3)
    model.fit(features, [emotion.value for emotion in gold_emotions(items)])
    theirs = model.predict_proba(features)[:, [list(model.classes_).index(emotion) for emotion in EMOTIONS]]
    np.testing.assert_allclose(found, theirs, atol=5e-3)


def test_words_are_counted_alone_and_by_two() -> None:
    assert word_ngrams("我们 喜欢\n松果") == ["我们", "喜欢", "松果", "我们 喜欢", "喜欢 松果"]
    assert word_ngrams(f"{PLACEHOLDER}很好") == [PLACEHOLDER, "很", "好", f"{PLACEHOLDER} 很", "很 好"]
    assert word_ngrams(" ") == []


def test_naive_bayes_scales_features_by_their_log_count_ratio() -> None:
    gold = [Emotion.POS, Emotion.POS, Emotion.NEG, Emotion.NORM]
    features = sparse.csr_matrix([[0.5, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]])
    weights = {Emotion.POS: 1.0, Emotion.NEG: 2.0, Emotion.NORM: 1.0}
    design = Design((Block(features, np.arange(4)),))
    coefficients, intercept = fit_naive_bayes(design, gold, weights)
    # POS: counts 1 + (2, 0, 1) of 6 against 1 + (0, 2, 3) of 8.
    ratio = np.abs(np.log([3 / 6 / (1 / 8), 1 / 6 / (3 / 8), 2 / 6 / (4 / 8)]))
    model = LogisticRegression(C=1.0, max_iter=1000, tol=1e-3)
    model.fit(features.toarray() * ratio, [1, 1, 0, 0], sample_weight=[1, 1, 2, 1])
    column = EMOTIONS.index(Emotion.POS)
    np.testing.assert_allclose(coefficients[:, column], model.coef_[0] * ratio, atol=1e-3)
    np.testing.assert_allclose(intercept[column], model.intercept_[0], atol=1e-3)
    assert coefficients[1, EMOTIONS.index(Emotion.NEG)] > 0 > coefficients[1, column]


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("emotions", [(Emotion.NEG,), (Emotion.NORM, Emotion.NEG)])
def test_linear_members_stand_emotions_that_training_lacks(name: str, emotions: tuple[Emotion, ...]) -> None:
    items = examples(12, emotions=emotions)
    probs = fit(build_member(name, CONFIG), items).predict_proba(items)
    absent = [column for column, emotion in enumerate(EMOTIONS) if emotion not in emotions]
    assert (probs[:, absent] < 1e-9).all()
    assert [EMOTIONS[column] for column in probs.argmax(1)] == gold_emotions(items)


def test_a_head_writes_its_epochs(tmp_path: Path) -> None:
    from pipeline.runtime.epoch_log import JsonLinesLog

    log = JsonLinesLog(tmp_path / "log.jsonl", fold=1)
    fit(build_member("ian", CONFIG, log=log), examples(12), examples(3))
    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert 1 <= len(lines) <= CONFIG.training.max_epochs
    assert all(line.startswith('{"fold": 1, "epoch": ') for line in lines)


def test_vocabulary_of_a_head_holds_nothing_of_its_dev_examples(fitted: dict) -> None:
    dev = [Target("罕罕罕罕", 0, 1, "罕", Emotion.POS)]
    member = build_member("ian", CONFIG)
    assert isinstance(member, HeadClassifier)
    fit(member, examples(12), dev)
    assert "罕" not in member.inputs_.reader.tokens


@pytest.fixture
def on_encoder(tmp_path: Path) -> Config:
    characters = "".join([*TELLING.values(), *NAMES])
    folder = write_tiny_encoder(tmp_path / "encoder", n_layers=1, characters=characters)
    fine_tuning = TrainingConfig(max_epochs=8, batch_size=8, learning_rate=1e-2)
    encoder = EncoderConfig(name=str(folder), learning_rate=1e-2, training=fine_tuning)
    return Config(head=HeadConfig(hidden_dim=16, dropout=0.1, encoder=encoder))


def test_pair_learns_what_tells_the_emotion_in_a_fixed_number_of_epochs(on_encoder: Config, tmp_path: Path) -> None:
    from pipeline.runtime.epoch_log import JsonLinesLog

    member = build_member("pair", on_encoder, seed=5, log=JsonLinesLog(tmp_path / "log.jsonl"))
    assert not member.stops_early
    fit(member, examples(48))
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 8
    unseen = examples(30)[15:]
    answers = [EMOTIONS[column] for column in member.predict_proba(unseen).argmax(1)]
    assert np.mean([answer == gold for answer, gold in zip(answers, gold_emotions(unseen), strict=True)]) > 0.8
    member.save(tmp_path / "saved")
    again = build_member("pair", on_encoder).load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict_proba(unseen), member.predict_proba(unseen))


@pytest.mark.parametrize(
    ("embedding", "mode", "stops_early"),
    [("random", "fine_tuned", True), ("encoder", "fine_tuned", False), ("encoder", "frozen", True)],
)
def test_heads_stop_early_unless_they_fine_tune_an_encoder(
    on_encoder: Config,
    embedding: Literal["random", "encoder"],
    mode: Literal["fine_tuned", "frozen"],
    stops_early: bool,
) -> None:
    on_encoder.head.embedding, on_encoder.head.encoder_mode = embedding, mode
    assert build_member("ian", on_encoder).stops_early == stops_early

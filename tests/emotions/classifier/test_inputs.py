"""Heads over word vectors and over an encoder: what is learnt, what stays, what is kept, and what goes wrong."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config import Config, EncoderConfig, HeadConfig, SentimentConfig, TrainingConfig
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.emotions.classifier.inputs import is_frozen, reads_encoder
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.registry import HEADS, resolve
from pipeline.schema import Target
from tests.support.tiny_encoder import write_tiny_encoder

CLASSES = ("好", "坏")
WORDS = {"好": "香甜可口", "坏": "苦涩难咽"}
CHARACTERS = "松果茶天香甜可口苦涩难咽山泉，号"


def examples(n: int) -> tuple[list[Target], list[str]]:
    labels = [CLASSES[i % 2] for i in range(n)]
    texts = [f"松果{i % 7}号茶{WORDS[label]}" for i, label in enumerate(labels)]
    return [Target(text, 0, 2, "松果", mentions=((0, 2),)) for text in texts], labels


ITEMS, LABELS = examples(24)
ODD = [
    Target("", 0, 0, "山泉"),
    Target("今日大雨", 0, 0, "山泉"),
    Target("山泉" + "天" * 300 + "甜", 0, 2, "山泉", mentions=((0, 2),)),
    Target("松" * 90 + "天" * 300, 0, 90, "松" * 90, mentions=((0, 90),)),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_encoder(tmp_path_factory.mktemp("encoder"), n_layers=2, characters=CHARACTERS))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rng = np.random.default_rng(0)
    rows = [" ".join([char, *(f"{value:.4f}" for value in rng.normal(size=6))]) for char in CHARACTERS[:-2]]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def with_vectors(path: str, **options: object) -> Config:
    return Config(
        head=HeadConfig(embedding="vectors", vectors=path, hidden_dim=8, dropout=0.0, n_filters=4, **options),  # type: ignore[arg-type]
        sentiment=SentimentConfig(max_context_chars=64),
        training=TrainingConfig(max_epochs=3, batch_size=8, learning_rate=2e-2, weight_decay=0.0),
    )


ON_ENCODER = {"embedding": "encoder", "encoder_mode": "fine_tuned", "hidden_dim": 8, "dropout": 0.0}


def on_encoder(name: str, *, mixed_precision: str = "no", epochs: int = 3, **options: object) -> Config:
    fine_tuning = TrainingConfig(
        max_epochs=epochs,
        batch_size=8,
        learning_rate=1e-2,
        mixed_precision=mixed_precision,  # type: ignore[arg-type]
    )
    settings = EncoderConfig(name=name, learning_rate=1e-2, training=fine_tuning)
    return Config(
        head=HeadConfig(**{**ON_ENCODER, "encoder": settings, **options}),  # type: ignore[arg-type]
        sentiment=SentimentConfig(max_context_chars=2000),
        training=TrainingConfig(max_epochs=2, batch_size=8, learning_rate=2e-2),
    )


def fit(name: str, config: Config, *, seed: int = 1) -> HeadClassifier:
    return HeadClassifier(name, config, classes=CLASSES, seed=seed).fit(ITEMS, LABELS)


def reload(head: HeadClassifier, folder: Path) -> HeadClassifier:
    head.save(folder)
    return HeadClassifier(head.name, head.config, classes=CLASSES).load(folder)


def accuracy(head: HeadClassifier) -> float:
    columns = head.predict_proba(ITEMS).argmax(1)
    return float(np.mean([CLASSES[column] == label for column, label in zip(columns, LABELS, strict=True)]))


def rows_of(head: HeadClassifier, name: str) -> np.ndarray:
    """Return the vectors of three characters, the last of which training does not know."""
    return head.head_.state_dict()[f"embedder.{name}"][head.inputs_.reader.encode("松香山")].numpy()


def file_rows(path: str) -> np.ndarray:
    rows = dict(line.split(" ", 1) for line in Path(path).read_text(encoding="utf-8").splitlines())
    return np.array([list(map(float, rows[char].split())) for char in "松香山"], dtype=np.float32)


def test_static_vectors_stay_those_of_the_file(vectors: str) -> None:
    head = fit("text_cnn", with_vectors(vectors, vectors_mode="static"))
    np.testing.assert_array_equal(rows_of(head, "static"), file_rows(vectors))
    assert "embedder.tuned.weight" not in head.head_.state_dict()
    assert accuracy(head) == 1.0


def test_fine_tuned_vectors_start_from_the_file_and_learn(vectors: str) -> None:
    head = fit("text_cnn", with_vectors(vectors, vectors_mode="fine_tuned"))
    moved = rows_of(head, "tuned.weight") - file_rows(vectors)
    assert np.abs(moved[:2]).max() > 1e-3
    np.testing.assert_array_equal(moved[2], 0)  # a word of the file that training lacks
    assert not head.head_.state_dict()["embedder.tuned.weight"][0].any()


def test_two_channels_hold_both(vectors: str) -> None:
    head = fit("text_cnn", with_vectors(vectors, vectors_mode="two_channel"))
    np.testing.assert_array_equal(rows_of(head, "static"), file_rows(vectors))
    assert np.abs(rows_of(head, "tuned.weight") - file_rows(vectors))[:2].max() > 1e-3
    assert [convolve.weight.shape[1] for convolve in head.head_.convolutions] == [12] * 3


def test_two_channels_are_for_text_cnn(vectors: str) -> None:
    with pytest.raises(ConfigError, match=r"^head\.vectors_mode=two_channel is for text_cnn, not for ian$"):
        HeadClassifier("ian", with_vectors(vectors, vectors_mode="two_channel"), classes=CLASSES)


def test_rare_tokens_are_kept_where_the_file_has_them(vectors: str) -> None:
    items = [Target("松果", 0, 2, "松果"), Target("松号日", 0, 1, "松")]
    head = HeadClassifier("ian", with_vectors(vectors), classes=CLASSES).fit(items, list(CLASSES))
    assert head.inputs_.reader.tokens[:2] == ["松", "果"]  # "号" and "日" occur once, and are not in the file
    assert set(head.inputs_.reader.tokens) == set(CHARACTERS[:-2])


def test_words_may_be_the_tokens(vectors: str) -> None:
    head = fit("text_cnn", with_vectors(vectors, tokens="word"))
    assert "松果" in head.inputs_.reader.tokens
    assert accuracy(head) > 0.9


@pytest.mark.parametrize("mode", ["static", "fine_tuned", "two_channel"])
def test_saved_heads_on_vectors_need_the_file_no_more(vectors: str, tmp_path: Path, mode: str) -> None:
    head = fit("text_cnn", with_vectors(vectors, vectors_mode=mode))
    head.config.head.vectors = "gone.txt"
    again = reload(head, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(ITEMS + ODD), head.predict_proba(ITEMS + ODD))


def test_load_refuses_another_mode_or_embedding(vectors: str, tmp_path: Path) -> None:
    fit("text_cnn", with_vectors(vectors, vectors_mode="static")).save(tmp_path)
    with pytest.raises(ArtifactError, match=r"model\.safetensors: does not fit the head text_cnn"):
        HeadClassifier("text_cnn", with_vectors(vectors), classes=CLASSES).load(tmp_path)
    with pytest.raises(ArtifactError, match=r"head\.json: embedding vectors, want random"):
        HeadClassifier("text_cnn", Config(), classes=CLASSES).load(tmp_path)
    with pytest.raises(ArtifactError, match=r"head\.json: tokens char, want word"):
        HeadClassifier("text_cnn", with_vectors(vectors, tokens="word"), classes=CLASSES).load(tmp_path)


def test_vectors_must_be_named_and_there(vectors: str) -> None:
    with pytest.raises(ConfigError, match=r"head\.embedding=vectors needs head\.vectors"):
        HeadConfig(embedding="vectors")
    HeadClassifier("ian", with_vectors(vectors), classes=CLASSES).check()
    missing = HeadClassifier("ian", with_vectors("none.txt"), classes=CLASSES)
    for use in (missing.check, lambda: missing.fit(ITEMS, LABELS)):
        with pytest.raises(DataError, match=r"none\.txt: word vectors cannot be read"):
            use()


@pytest.mark.parametrize("name", ["pair", "ian", "text_cnn"])
def test_fine_tuned_encoder_learns_and_is_saved_with_the_head(encoder: str, tmp_path: Path, name: str) -> None:
    config = on_encoder(encoder, epochs=6)
    head = fit(name, config)
    assert accuracy(head) == 1.0
    config.head.encoder.name = "gone"
    again = reload(head, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(ITEMS + ODD), head.predict_proba(ITEMS + ODD))
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".safetensors"}


def test_pair_reads_an_encoder_whatever_the_embedding(encoder: str) -> None:
    head = fit("pair", on_encoder(encoder, embedding="random", epochs=1))
    assert head.reads_encoder
    assert head.n_parameters > sum(p.numel() for p in head.inputs_._encoder.parameters())
    assert head.attention(ITEMS) is None


def test_attention_of_a_head_on_an_encoder_lies_on_characters(encoder: str) -> None:
    text = "松果12号茶香甜"
    [weights] = fit("ian", on_encoder(encoder, epochs=1)).attention([Target(text, 0, 2, "松果")])
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    assert (weights > 0).all()


@pytest.mark.parametrize("name", ["pair", "ian", "af_lstm", "transformer", "td_lstm"])
def test_bfloat16_trains_predicts_and_reloads(encoder: str, tmp_path: Path, name: str) -> None:
    head = fit(name, on_encoder(encoder, mixed_precision="bf16", epochs=1, af_normalise="none"))
    probs = head.predict_proba(ITEMS + ODD)
    np.testing.assert_allclose(probs.sum(1), 1)
    np.testing.assert_array_equal(reload(head, tmp_path).predict_proba(ITEMS + ODD), probs)


def test_lowest_layers_may_stay(encoder: str) -> None:
    from pipeline.nn.encoders import load_encoder

    config = on_encoder(encoder, epochs=1)
    config.head.encoder.freeze_layers = 1
    found = fit("pair", config).head_.state_dict()
    before = load_encoder(Path(encoder), n_tokens=1).state_dict()
    same = {key for key, value in before.items() if torch.equal(value, found[f"embedder.encoder.{key}"])}
    assert same == {key for key in before if not key.startswith("encoder.layer.1.")}


@pytest.mark.parametrize("mode", ["frozen", "fine_tuned"])
def test_upper_layers_may_go(encoder: str, mode: str, tmp_path: Path) -> None:
    config = on_encoder(encoder, epochs=1, encoder_mode=mode)
    config.head.encoder.n_layers = 1
    head = fit("ian", config)
    names = [name for name in head.head_.state_dict() if ".encoder.layer." in name]
    assert names
    assert all(".encoder.layer.0." in name for name in names)
    np.testing.assert_array_equal(reload(head, tmp_path).predict_proba(ITEMS), head.predict_proba(ITEMS))


def test_frozen_encoder_stays_and_the_head_learns(encoder: str) -> None:
    from pipeline.nn.encoders import load_encoder

    config = on_encoder(encoder, encoder_mode="frozen")
    config.training.max_epochs = 20
    head = fit("ian", config)
    found = head.head_.state_dict()
    before = load_encoder(Path(encoder), n_tokens=1).state_dict()
    assert all(torch.equal(value, found[f"embedder.encoder.{key}"]) for key, value in before.items())
    head.head_.train()
    assert not head.inputs_._encoder.training
    assert accuracy(head) > 0.9


def states(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.parametrize("name", ["ian", "pair"])
def test_states_are_kept_once_and_give_the_same_results(encoder: str, tmp_path: Path, name: str) -> None:
    config = on_encoder(encoder, encoder_mode="frozen", states_cache=str(tmp_path / "states"))
    head = fit(name, config)
    kept = states(tmp_path / "states")
    assert len(kept) == len({item.text for item in ITEMS})
    assert all(path.endswith(".safetensors") for path in kept)
    again = fit(name, config)
    assert states(tmp_path / "states") == kept
    probs = head.predict_proba(ITEMS + ODD)
    np.testing.assert_array_equal(again.predict_proba(ITEMS + ODD), probs)
    # Float16 is the only difference to states that are not kept.
    without = fit(name, on_encoder(encoder, encoder_mode="frozen")).predict_proba(ITEMS)
    np.testing.assert_allclose(without, probs[: len(ITEMS)], atol=0.02)
    # A head that was saved finds the same states: its weights are those that were hashed.
    n_states = len(states(tmp_path / "states"))
    np.testing.assert_array_equal(reload(head, tmp_path / "head").predict_proba(ITEMS + ODD), probs)
    assert len(states(tmp_path / "states")) == n_states


def test_another_encoder_has_states_of_its_own(encoder: str, tmp_path: Path) -> None:
    other = str(write_tiny_encoder(tmp_path / "other", seed=9, characters=CHARACTERS))
    for name, times in ((encoder, 1), (other, 2), (encoder, 2)):
        fit("ian", on_encoder(name, encoder_mode="frozen", states_cache=str(tmp_path / "states")))
        assert len(states(tmp_path / "states")) == times * len({item.text for item in ITEMS})


@pytest.mark.parametrize("content", [b"", b"not safetensors", None])
def test_damaged_states_are_made_again(
    encoder: str, tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    config = on_encoder(encoder, encoder_mode="frozen", states_cache=str(tmp_path))
    head = fit("ian", config)
    probs, before = head.predict_proba(ITEMS), states(tmp_path)
    damaged = Path(min(before))
    damaged.write_bytes(before[str(damaged)][1][:-20] if content is None else content)
    np.testing.assert_array_equal(head.predict_proba(ITEMS), probs)
    assert {path: content for path, (_, content) in states(tmp_path).items()} == {
        path: content for path, (_, content) in before.items()
    }
    assert [record.message.count("made again") for record in caplog.records] == [1]


def test_states_folder_that_cannot_be_made_is_named(encoder: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/.*: cannot be written"):
        fit("ian", on_encoder(encoder, encoder_mode="frozen", states_cache=str(tmp_path / "file")))


@pytest.mark.parametrize("options", [{}, {"encoder_mode": "frozen"}])
def test_heads_on_an_encoder_are_the_same_again_and_travel(encoder: str, options: dict) -> None:
    first, second = (fit("pair", on_encoder(encoder, epochs=1, **options)) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(ITEMS), second.predict_proba(ITEMS))
    travelled = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(travelled.predict_proba(ITEMS), first.predict_proba(ITEMS))


def test_encoder_must_be_there_and_have_the_layers(encoder: str) -> None:
    def problem(name: str, *, freeze_layers: int = 0) -> HeadClassifier:
        config = on_encoder(name)
        config.head.encoder = dataclasses.replace(config.head.encoder, freeze_layers=freeze_layers)
        return HeadClassifier("pair", config, classes=CLASSES)

    def shortened(n_layers: int) -> HeadClassifier:
        config = on_encoder(encoder)
        config.head.encoder.n_layers = n_layers
        return HeadClassifier("pair", config, classes=CLASSES)

    problem(encoder, freeze_layers=2).check()
    shortened(2).check()
    with pytest.raises(ConfigError, match=r"head\.encoder\.n_layers is 3, the encoder has 2 layers"):
        shortened(3).check()
    with pytest.raises(ArtifactError, match="no such folder"):
        problem("/no/such").check()
    with pytest.raises(ConfigError, match="unknown encoder 'builtin:e6'"):
        problem("builtin:e6").check()
    with pytest.raises(ConfigError, match=r"head\.encoder\.freeze_layers is 3, the encoder has 2 layers"):
        problem(encoder, freeze_layers=3).fit(ITEMS, LABELS)


@pytest.mark.parametrize(
    ("head", "options", "wanted"),
    [
        ("ian", {}, (True, True)),
        ("text_cnn", {}, (False, True)),
        ("pair", {}, (True, False)),
        ("pair", {"encoder_mode": "frozen"}, (True, True)),
        ("ian", {"embedding": "random"}, (False, True)),
        ("ian", {"encoder_mode": "fine_tuned"}, (True, False)),
        ("text_cnn", {"embedding": "encoder"}, (True, True)),
    ],
)
def test_target_heads_read_a_frozen_encoder_unless_told_otherwise(
    head: str, options: dict, wanted: tuple[bool, bool]
) -> None:
    kind, config = resolve(HEADS, head, kind="head"), Config(head=HeadConfig(**options))
    assert (reads_encoder(kind, config), is_frozen(kind, config)) == wanted

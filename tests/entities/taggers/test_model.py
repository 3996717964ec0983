from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.base import token_loss
from pipeline.entities.taggers.model import TaggerModel, _balanced
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.metric import span_f1
from pipeline.runtime.epoch_log import JsonLinesLog
from pipeline.text.spans import LabelledText, Span

Options = Callable[..., TaggerConfig]
TEXTS = [
    LabelledText("青禾很好青禾", (Span(0, 2, "POS"), Span(4, 6, "POS"))),
    LabelledText("云杉很差云杉", (Span(0, 2, "NEG"), Span(4, 6, "NEG"))),
]
LABELS = ("NEG", "POS")


@pytest.fixture
def typed(tiny_tagger: Options) -> TaggerModel:
    return TaggerModel(tiny_tagger("lstm", epochs=30), labels=LABELS, seed=1).fit(TEXTS)


def test_entity_types_are_told_apart(typed: TaggerModel) -> None:
    assert typed.tag(TEXTS) == [list(text.spans) for text in TEXTS]
    assert {span.label for spans in typed.predict(TEXTS) for span in spans} <= set(LABELS)


def test_load_refuses_other_labels_and_damaged_folders(typed: TaggerModel, tmp_path: Path) -> None:
    typed.save(tmp_path)
    with pytest.raises(ArtifactError, match="tags NEG, POS, want entity"):
        TaggerModel.load(tmp_path, labels=[""])
    settings = json.loads((tmp_path / "tagger.json").read_text())
    for change, message in (
        ({"hidden_dim": 8}, "does not fit the network"),
        ({"hiden_dim": 8}, "not the options of this version"),
        ({"name": "lstn"}, "unknown tagger 'lstn'"),
    ):
        changed = {**settings, "config": {**settings["config"], **change}}
        (tmp_path / "tagger.json").write_text(json.dumps(changed))
        with pytest.raises(ArtifactError, match=message):
            TaggerModel.load(tmp_path)
    with pytest.raises(ArtifactError, match=r"tagger\.json: cannot be read"):
        TaggerModel.load(tmp_path / "none")


def test_training_goes_on_from_another_tagger(tiny_tagger: Options, typed: TaggerModel) -> None:
    config = tiny_tagger("lstm", epochs=1)
    untyped = [replace(text, spans=tuple(span._replace(label="") for span in text.spans)) for text in TEXTS]
    kept = TaggerModel(replace(config, training=replace(config.training, learning_rate=1e-8)), labels=LABELS)
    assert kept.fit(TEXTS, start=typed).tag(TEXTS) == typed.tag(TEXTS)
    other_tags = TaggerModel(config).fit(untyped, start=typed)
    assert other_tags.tokeniser_ is typed.tokeniser_
    assert other_tags.network_.classify.out_features == 5
    with pytest.raises(ConfigError, match="a encoder tagger cannot go on from a lstm tagger"):
        TaggerModel(tiny_tagger("encoder")).fit(untyped, start=typed)


def test_the_best_epoch_on_development_texts_is_kept_and_logged(tiny_tagger: Options, tmp_path: Path) -> None:
    log = JsonLinesLog(tmp_path / "log.jsonl")
    config = tiny_tagger("lstm", epochs=30)
    model = TaggerModel(config, labels=LABELS, log=log).fit(TEXTS, TEXTS)
    figures = [json.loads(line)["figure"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert max(figures) == span_f1([text.spans for text in TEXTS], model.tag(TEXTS))
    assert len(figures) <= 30


def test_texts_without_a_token_cannot_be_trained_on(tiny_tagger: Options) -> None:
    with pytest.raises(DataError, match="hold no token"):
        TaggerModel(tiny_tagger("lstm")).fit([LabelledText(" \n")])


def test_an_unknown_tagger_is_a_configuration_error(tiny_tagger: Options) -> None:
    with pytest.raises(ConfigError, match="unknown tagger 'lstmm'"):
        TaggerModel(tiny_tagger("lstmm"))


def test_what_is_not_read_in_prediction_is_said_once(
    tiny_tagger: Options, typed: TaggerModel, caplog: pytest.LogCaptureFixture
) -> None:
    typed.settings = replace(typed.settings, config=replace(typed.config, predict_chars=3))
    with caplog.at_level("INFO"):
        (spans,) = typed.predict(TEXTS[:1])
        assert typed.predict(TEXTS[:1]) == [spans]
    assert caplog.text.count("reads the first 3 characters of a text") == 1
    assert all(span.stop <= 3 for span in spans)


def test_spans_across_a_line_break_are_dropped(tiny_tagger: Options) -> None:
    text = LabelledText("青禾\n青禾", (Span(0, 5),))
    model = TaggerModel(tiny_tagger("lstm", epochs=30)).fit([text])
    assert model.tag([text]) == [[]]


def test_bf16_and_accumulated_batches_train(tiny_tagger: Options) -> None:
    config = tiny_tagger("encoder", epochs=60)
    training = replace(config.training, mixed_precision="bf16", accumulate_batches=2, batch_size=1, learning_rate=3e-3)
    model = TaggerModel(replace(config, training=training), labels=LABELS, seed=2).fit(TEXTS)
    assert model.tag(TEXTS) == [list(text.spans) for text in TEXTS]


def test_plain_loss_is_cross_entropy_over_known_tags() -> None:
    logits = torch.randn(2, 3, 4)
    tags = torch.tensor([[0, 3, -100], [1, -100, -100]])
    weights = torch.tensor([0.5, 1.0, 2.0, 3.0])
    flat = logits.flatten(0, 1), tags.flatten()
    for weight in (None, weights):
        wanted = torch.nn.functional.cross_entropy(*flat, weight=weight)
        torch.testing.assert_close(token_loss(logits.log_softmax(-1), tags, weights=weight), wanted)
    assert float(token_loss(logits.log_softmax(-1), torch.full((2, 3), -100))) == 0.0


def test_focal_loss_attends_to_what_is_wrong() -> None:
    log_probs = torch.tensor([[[0.9, 0.1], [0.2, 0.8]]]).log()
    tags = torch.zeros(1, 2, dtype=torch.int64)
    wanted = -(0.1**2 * np.log(0.9) + 0.8**2 * np.log(0.2)) / 2
    assert float(token_loss(log_probs, tags, focal_gamma=2.0)) == pytest.approx(wanted, rel=1e-5)


def test_class_weights_lift_rare_tags_and_average_to_one() -> None:
    counts = np.array([90, 10, 0])
    weights = _balanced(counts, 1.0).numpy()
    assert weights[1] / weights[0] == pytest.approx(9)
    assert (weights * counts).sum() / counts.sum() == pytest.approx(1)
    assert _balanced(counts, 0.0).tolist() == [1, 1, 1]


def test_class_weights_and_focal_loss_reach_training(tiny_tagger: Options) -> None:
    config = tiny_tagger("lstm", epochs=30, class_weight_power=0.5, focal_gamma=1.0)
    model = TaggerModel(config, labels=LABELS, seed=1).fit(TEXTS)
    assert model.network_.tag_weights is not None
    assert model.tag(TEXTS) == [list(text.spans) for text in TEXTS]
    with pytest.raises(ConfigError, match=r"need tagger\.crf=false"):
        tiny_tagger("lstm", crf=True, focal_gamma=1.0)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.bert import BertTagger
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ArtifactError, ConfigError
from pipeline.text.spans import LabelledText, Span, TagScheme

Options = Callable[..., TaggerConfig]
SCHEME = TagScheme("BIO")


def create(config: TaggerConfig) -> BertTagger:
    return BertTagger.create(BertTagger.fit_tokeniser([], config), SCHEME, config)


def test_learning_rates_fall_from_layer_to_layer(tiny_tagger: Options) -> None:
    config = tiny_tagger("bert", encoder_learning_rate=1e-3, layer_decay=0.5)
    network = create(config)
    rate_of = {id(p): group["lr"] for group in network.parameter_groups(config) for p in group["params"]}
    names = dict(network.named_parameters())

    def rate(name: str) -> float:
        return float(rate_of[id(names[name])])

    assert rate("encoder.encoder.layer.1.output.dense.weight") == 1e-3
    assert rate("encoder.encoder.layer.0.output.dense.weight") == 5e-4
    assert rate("encoder.embeddings.word_embeddings.weight") == 2.5e-4
    assert rate("classify.weight") == config.training.learning_rate
    decays = {id(p): group.get("weight_decay") for group in network.parameter_groups(config) for p in group["params"]}
    assert decays[id(names["classify.bias"])] == 0.0
    assert decays[id(names["classify.weight"])] is None


def test_frozen_layers_stay_as_they_are_and_the_others_move(tiny_tagger: Options) -> None:
    config = tiny_tagger("bert", freeze_layers=1, epochs=1)
    before = create(config).encoder.state_dict()
    model = TaggerModel(config).fit([LabelledText("青禾科技", (Span(0, 4),))])
    after = model.network_.encoder.state_dict()
    moved = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert moved == {name for name in before if name.startswith("encoder.layer.1.")}


def test_kept_states_of_frozen_layers_change_nothing_but_the_last_bits(tiny_tagger: Options, tmp_path: Path) -> None:
    config = tiny_tagger("bert", freeze_layers=1, epochs=2, frozen_dropout=False)
    texts = [LabelledText("青禾科技上市", (Span(0, 4),)), LabelledText("云杉汽车新款,很好", (Span(0, 4),))]
    anew = TaggerModel(config).fit(texts)
    kept = TaggerModel(config).fit(texts, states=tmp_path)
    assert len(list(tmp_path.rglob("*.safetensors"))) == len(texts)
    again = TaggerModel(config).fit(texts, states=tmp_path)
    weights = [model.network_.state_dict() for model in (anew, kept, again)]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, atol=2e-3, rtol=0)
        assert torch.equal(weights[1][name], weights[2][name])


def test_more_frozen_layers_than_there_are_is_an_error(tiny_tagger: Options) -> None:
    with pytest.raises(ConfigError, match="freeze_layers is 3, the encoder has 2 layers"):
        create(tiny_tagger("bert", freeze_layers=3))


def test_windows_longer_than_the_encoder_reads_are_an_error(tiny_tagger: Options) -> None:
    with pytest.raises(ArtifactError, match=r"reads 128 tokens, .* need 139"):
        create(tiny_tagger("bert", window_tokens=128))


def test_a_saved_tagger_needs_its_encoder_no_more(tiny_tagger: Options, tmp_path: Path) -> None:
    model = TaggerModel(tiny_tagger("bert", epochs=1)).fit([LabelledText("青禾科技", (Span(0, 4),))])
    model.settings = replace(model.settings, config=replace(model.config, encoder=str(tmp_path / "gone")))
    model.save(tmp_path / "tagger")
    text = [LabelledText("青禾科技很好")]
    assert TaggerModel.load(tmp_path / "tagger").predict(text) == model.predict(text)


def test_frozen_layers_keep_their_dropout_unless_told_otherwise(tiny_tagger: Options, tmp_path: Path) -> None:
    config = tiny_tagger("bert", freeze_layers=1, epochs=1)
    assert config.frozen_dropout
    TaggerModel(config).fit([LabelledText("青禾科技", (Span(0, 4),))], states=tmp_path)
    assert not list(tmp_path.iterdir())
    assert create(config).halves is None
    assert create(replace(config, frozen_dropout=False)).halves is not None

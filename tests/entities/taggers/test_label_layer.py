"""Taggers of several labels: joined to the boundaries in one tag, or told by a layer of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.base import LabelLayer
from pipeline.entities.taggers.batches import TagBatch, TagBatches
from pipeline.entities.taggers.data import tag_text
from pipeline.entities.taggers.model import TaggerModel
from pipeline.entities.taggers.reader import span_labels
from pipeline.errors import ArtifactError
from pipeline.metric import span_f1
from pipeline.text.spans import LabelledText, Span, TagScheme

LABELS = ("POS", "NORM", "NEG")
TEXTS = [
    LabelledText("青禾科技发布\n青禾科技很好。", (Span(0, 4, "POS"), Span(7, 11, "POS")), title_stop=6),
    LabelledText("云杉汽车很好,银杏出版社道歉。", (Span(0, 4, "POS"), Span(7, 12, "NEG"))),
    LabelledText("银杏位于城东。", (Span(0, 2, "NORM"),)),
    LabelledText("云杉汽车道歉。", (Span(0, 4, "NEG"),)),
    LabelledText("今天很好。"),
]


@pytest.fixture(
    scope="module",
    params=[("lstm", "BIESO", False, None), ("lstm", "BIO", True, 1.0), ("bert", "BIESO", False, 0.5)],
    ids=["joined", "two heads and CRF", "two heads on an encoder"],
)
def trained(request: pytest.FixtureRequest, tiny_tagger: Callable[..., TaggerConfig]) -> TaggerModel:
    name, scheme, crf, weight = request.param
    config = tiny_tagger(name, scheme=scheme, crf=crf)
    return TaggerModel(config, labels=LABELS, label_weight=weight, seed=3).fit(TEXTS)


def batch_of(model: TaggerModel, texts: list[LabelledText]) -> TagBatch:
    tagged = [tag_text(text, model.tokeniser_, model.scheme) for text in texts]
    (batch,) = TagBatches(
        tagged, model.tokeniser_.special, model.scheme, batch_size=99, window_tokens=24, title_tokens=8
    ).epoch()
    order = batch.rows.argsort()
    return TagBatch(**{field.name: getattr(batch, field.name)[order] for field in fields(batch)})


def test_overfits_boundaries_and_labels(trained: TaggerModel) -> None:
    assert span_f1([text.spans for text in TEXTS], trained.tag(TEXTS)) > 0.9


def test_a_span_comes_once_for_each_label_and_the_sum_decides(trained: TaggerModel) -> None:
    for text, spans in zip(TEXTS, trained.predict(TEXTS), strict=True):
        assert spans == sorted(spans)
        assert len({(span.start, span.stop, span.label) for span in spans}) == len(spans)
        totals: dict[tuple[int, int], float] = {}
        for span in spans:
            totals[span[:2]] = totals.get(span[:2], 0.0) + span.prob
        assert all(trained.config.min_prob - 1e-5 <= total <= 1 + 1e-5 for total in totals.values())
        for gold in text.spans:
            best = max((span for span in spans if span[:2] == gold[:2]), key=lambda span: span.prob)
            assert best.label == gold.label


def test_padding_and_batch_mates_change_nothing(trained: TaggerModel) -> None:
    together = batch_of(trained, TEXTS)
    wider = replace(
        together,
        tags=None,
        **{name: pad(getattr(together, name), (0, 5), value=0) for name in ("tokens", "mask", "segments", "window")},
    )
    with torch.no_grad():
        expected, more = trained.network_(together), trained.network_(wider)
        for name in ("emissions", "labels"):
            whole, padded = getattr(expected, name), getattr(more, name)
            if whole is None:
                continue
            inside = together.window
            torch.testing.assert_close(padded[:, : whole.shape[1]][inside], whole[inside], atol=1e-4, rtol=1e-3)
            for row, text in enumerate(TEXTS):
                alone = getattr(trained.network_(batch_of(trained, [text])), name)[0]
                torch.testing.assert_close(alone, whole[row, : len(alone)], atol=1e-4, rtol=1e-3)


def test_save_and_load_give_the_same_answers(trained: TaggerModel, tmp_path: Path) -> None:
    trained.save(tmp_path)
    loaded = TaggerModel.load(tmp_path, labels=LABELS)
    assert loaded.predict(TEXTS) == trained.predict(TEXTS)
    assert loaded.tag(TEXTS) == trained.tag(TEXTS)
    assert loaded.label_weight == trained.label_weight
    with pytest.raises(ArtifactError, match="tags POS, NORM, NEG, want entity"):
        TaggerModel.load(tmp_path, labels=[""])


def test_every_trained_parameter_gets_a_gradient(trained: TaggerModel) -> None:
    torch.manual_seed(1)
    network = trained._create().train()
    loss = network(batch_of(trained, TEXTS)).loss
    assert loss is not None
    loss.backward()
    assert (network.label_layer is None) == (trained.label_weight is None)
    for name, parameter in network.named_parameters():
        if parameter.requires_grad and not name.startswith("encoder.embeddings"):
            assert parameter.grad is not None, name


def test_goes_on_from_a_tagger_without_labels(trained: TaggerModel) -> None:
    training = replace(trained.config.training, max_epochs=1, learning_rate=1e-8)
    config = replace(trained.config, training=training, encoder_learning_rate=1e-8)
    bare = [replace(text, spans=tuple(span._replace(label="") for span in text.spans)) for text in TEXTS]
    plain = TaggerModel(config, seed=1).fit(bare)
    gone_on = TaggerModel(config, labels=LABELS, label_weight=trained.label_weight, seed=2).fit(TEXTS, start=plain)
    name = "tokens.weight" if config.name == "lstm" else "encoder.embeddings.word_embeddings.weight"
    torch.testing.assert_close(gone_on.network_.state_dict()[name], plain.network_.state_dict()[name])


class TestLabelLayer:
    SCHEME = TagScheme("BIESO", LABELS)

    def test_tags_are_split_into_bare_tags_and_labels(self) -> None:
        layer = LabelLayer(4, self.SCHEME, weight=1.0)
        names = ["O", "B-NORM", "E-NORM", "S-NEG"]
        tags = torch.tensor([[*(self.SCHEME.ids[name] for name in names), -100]])
        bare, labels = layer.split(tags)
        assert [self.SCHEME.bare.tags[tag] for tag in bare[0, :-1]] == ["O", "B", "E", "S"]
        assert labels.tolist() == [[-1, 1, 1, 2, -100]]
        assert int(bare[0, -1]) < 0

    def test_the_loss_is_that_of_the_boundaries_plus_the_weighted_one_of_the_entities_labels(
        self, tiny_tagger: Callable[..., TaggerConfig]
    ) -> None:
        losses = []
        for weight in (0.0, 1.0, 3.0):
            config = tiny_tagger("lstm", epochs=1)
            model = TaggerModel(config, labels=LABELS, label_weight=weight, seed=3).fit(TEXTS)
            torch.manual_seed(1)
            network = model._create().eval()
            batch = batch_of(model, TEXTS)
            with torch.no_grad():
                output = network(batch)
            assert batch.tags is not None
            assert output.loss is not None
            losses.append(float(output.loss))
            label = network.label_layer.split(batch.tags)[1]  # type: ignore[union-attr]
            entity = label >= 0
            mean = -output.labels[entity].gather(1, label[entity][:, None]).mean()  # type: ignore[index]
        assert losses[1] - losses[0] == pytest.approx(float(mean), rel=1e-4)
        assert losses[2] - losses[0] == pytest.approx(3 * float(mean), rel=1e-4)

    def test_a_spans_labels_are_the_mean_of_its_tokens(self) -> None:
        of_token = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])
        assert span_labels(of_token, 0, 2).tolist() == [0.5, 0.5]
        assert span_labels(of_token, 1, 4) == pytest.approx([1 / 6, 5 / 6])

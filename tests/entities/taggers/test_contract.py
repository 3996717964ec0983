"""What every registered tagger promises, with both outputs and both schemes; a new line in TAGGERS is tested here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch, TagBatches
from pipeline.entities.taggers.data import tag_text
from pipeline.entities.taggers.model import TaggerModel
from pipeline.metric import span_f1
from pipeline.registry import TAGGERS
from pipeline.text.spans import LabelledText, Span

Options = Callable[..., TaggerConfig]

TEXTS = [
    LabelledText("青禾科技发布\n青禾科技发布新款路由器。", (Span(0, 4), Span(7, 11)), title_stop=6),
    LabelledText("云杉汽车很好,银杏出版社今天上市。", (Span(0, 4), Span(7, 12))),
    LabelledText("《青禾》口碑很好!", (Span(1, 3),)),
    LabelledText("今天发布nova s7。", (Span(4, 11),)),
    LabelledText("今天口碑很好,发布新款。"),
    LabelledText("好。", (Span(0, 1),)),
]
OUTPUTS = [("BIESO", False), ("BIO", True)]


@pytest.fixture(scope="module", params=[(name, *output) for name in TAGGERS for output in OUTPUTS], ids=str)
def trained(request: pytest.FixtureRequest, tiny_tagger: Options) -> TaggerModel:
    name, scheme, crf = request.param
    return TaggerModel(tiny_tagger(name, scheme=scheme, crf=crf), seed=3).fit(TEXTS)


def batch_of(model: TaggerModel, texts: list[LabelledText]) -> TagBatch:
    """Return one batch of all windows, in the order of the texts."""
    tagged = [tag_text(text, model.tokeniser_, model.scheme) for text in texts]
    options = {"batch_size": 99, "window_tokens": 24, "title_tokens": 8}
    (batch,) = TagBatches(tagged, model.tokeniser_.special, model.scheme, **options).epoch()
    order = batch.rows.argsort()
    return TagBatch(**{field.name: getattr(batch, field.name)[order] for field in fields(batch)})


def fresh(model: TaggerModel) -> Tagger:
    torch.manual_seed(1)
    return model._class.create(model.tokeniser_, model.scheme, model.config).eval()


def padded(batch: TagBatch, n_steps: int) -> TagBatch:
    def wider(tensor: torch.Tensor, value: int) -> torch.Tensor:
        return torch.nn.functional.pad(tensor, (0, n_steps), value=value)

    return replace(
        batch,
        tokens=wider(batch.tokens, 0),
        mask=wider(batch.mask, 0),
        segments=wider(batch.segments, 0),
        window=wider(batch.window, 0),
        tags=None,
    )


class TestEveryTagger:
    def test_overfits_a_few_examples(self, trained: TaggerModel) -> None:
        assert span_f1([text.spans for text in TEXTS], trained.tag(TEXTS)) > 0.9

    def test_scored_spans_lie_inside_the_text_and_agree_with_the_tags(self, trained: TaggerModel) -> None:
        for text, spans, best in zip(TEXTS, trained.predict(TEXTS), trained.tag(TEXTS), strict=True):
            assert spans == sorted(spans)
            assert len({(span.start, span.stop) for span in spans}) == len(spans)
            for start, stop, prob, label in spans:
                assert 0 <= start < stop <= len(text.text)
                assert "\n" not in text.text[start:stop]
                assert trained.config.min_prob <= prob <= 1
                assert label == ""
            likely = [Span(span.start, span.stop) for span in spans if span.prob > 0.5]
            assert set(likely) <= set(best)

    def test_emissions_have_the_shape_of_the_window(self, trained: TaggerModel) -> None:
        batch = batch_of(trained, TEXTS[:3])
        output = trained.network_(batch)
        assert output.emissions.shape == (*batch.window.shape, len(trained.scheme.tags))
        assert output.loss is not None
        assert output.loss.shape == ()
        assert trained.network_(replace(batch, tags=None)).loss is None

    def test_a_batch_of_one_works(self, trained: TaggerModel) -> None:
        assert trained.predict([TEXTS[-1]]) == trained.predict(TEXTS)[-1:]

    def test_padding_and_batch_mates_change_nothing(self, trained: TaggerModel) -> None:
        network = fresh(trained)
        together = batch_of(trained, TEXTS)
        with torch.no_grad():
            expected = network(together).emissions
            more = network(padded(together, 7)).emissions[:, : expected.shape[1]]
            window = together.window
            torch.testing.assert_close(more[window], expected[window], atol=1e-5, rtol=1e-4)
            for row, text in enumerate(TEXTS):
                alone = network(batch_of(trained, [text])).emissions[0]
                torch.testing.assert_close(alone, expected[row, : len(alone)], atol=1e-5, rtol=1e-4)

    def test_a_later_window_is_read_with_the_title(self, trained: TaggerModel) -> None:
        content = "今天口碑很好,新款上市。" * 3
        batch = batch_of(trained, [LabelledText(f"{title}\n{content}", title_stop=2) for title in ("青禾", "云杉")])
        assert len(batch.rows) == 4
        assert batch.segments[1::2].any(1).all()
        with torch.no_grad():
            emissions = fresh(trained)(batch).emissions
        assert torch.equal(batch.tokens[1, :20], batch.tokens[3, :20])
        assert not torch.allclose(emissions[1], emissions[3], atol=1e-4)

    def test_every_trained_parameter_gets_a_gradient(self, trained: TaggerModel) -> None:
        network = fresh(trained).train()
        long = LabelledText("青禾科技发布\n" + "青禾科技很好," * 6, (Span(0, 4), Span(7, 11)), title_stop=6)
        loss = network(batch_of(trained, [long, *TEXTS])).loss
        assert loss is not None
        loss.backward()
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, name
                assert parameter.grad.any(), name

    def test_every_parameter_is_in_one_group_of_the_optimiser(self, trained: TaggerModel) -> None:
        network = fresh(trained)
        grouped = [id(p) for group in network.parameter_groups(trained.config) for p in group["params"]]
        assert sorted(grouped) == sorted(id(p) for p in network.parameters() if p.requires_grad)

    def test_save_and_load_give_the_same_answers(self, trained: TaggerModel, tmp_path: Path) -> None:
        trained.save(tmp_path)
        loaded = TaggerModel.load(tmp_path, labels=[""])
        assert loaded.predict(TEXTS) == trained.predict(TEXTS)
        assert loaded.config == trained.config

    def test_training_again_gives_the_same_model(self, trained: TaggerModel) -> None:
        config = replace(trained.config, training=replace(trained.config.training, max_epochs=2))
        first, second = (TaggerModel(config, seed=5).fit(TEXTS).predict(TEXTS) for _ in range(2))
        assert first == second

    @pytest.mark.parametrize(
        "text",
        ["很好" * 1000, "nova s7 " * 300, "😀🎉" * 500, "今天。" * 700, "", "\n", "   ", "\n\n青"],
        ids=["no punctuation", "latin", "emoji", "sentences", "empty", "break", "blanks", "character"],
    )
    def test_long_and_odd_texts_are_read_to_the_end(self, trained: TaggerModel, text: str) -> None:
        (spans,) = trained.predict([LabelledText(text)])
        assert all(0 <= span.start < span.stop <= len(text) for span in spans)
        assert trained.tag([LabelledText(text)])
        assert trained.predict([]) == []

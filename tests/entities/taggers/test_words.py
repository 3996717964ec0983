"""One label a word: the printed equation in NumPy, words and their vocabulary, every tagger that reads words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.batches import TagBatches
from pipeline.entities.taggers.data import UNKNOWN_TAG, tag_text
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ConfigError
from pipeline.nn.tokenisers import WordTokeniser
from pipeline.text.spans import LabelledText, Span, TagScheme

Options = Callable[..., TaggerConfig]
TAGS = ("AS", "NN", "O", "PN", "VV")


def sentence(*pairs: tuple[str, str]) -> LabelledText:
    spans = tuple(Span(index, index + 1, tag) for index, (_, tag) in enumerate(pairs))
    return LabelledText("", spans, words=tuple(word for word, _ in pairs))


SENTENCES = [
    sentence(("小猫", "NN"), ("追", "VV"), ("了", "AS"), ("小狗", "NN"), ("。", "O")),
    sentence(("我", "PN"), ("追", "VV"), ("小猫", "NN")),
    sentence(("我", "PN"), ("吃", "VV"), ("了", "AS"), ("。", "O")),
]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lstm", {}),
        ("lstm", {"bidirectional": False}),
        ("lstm", {"bidirectional": False, "crf": True}),
        ("encoder", {}),
    ],
)
def test_words_are_tagged_one_by_one(
    tiny_tagger: Options, tmp_path: Path, name: str, options: dict[str, object]
) -> None:
    config = tiny_tagger(name, epochs=60, min_word_count=1, **options)
    model = TaggerModel(config, labels=TAGS, words=True, seed=1).fit(SENTENCES)
    assert model.tag(SENTENCES) == [list(text.spans) for text in SENTENCES]
    scored = model.tag_scored(SENTENCES)
    assert [[Span(s.start, s.stop, s.label) for s in spans] for spans in scored] == model.tag(SENTENCES)
    assert all(0.2 < span.prob <= 1 for spans in scored for span in spans)
    model.save(tmp_path)
    assert TaggerModel.load(tmp_path, labels=TAGS).tag_scored(SENTENCES) == scored
    long = sentence(*[("小猫", "NN"), ("追", "VV")] * 40)
    assert [len(spans) for spans in model.tag([long, LabelledText("")])] == [80, 0]


def test_a_forward_tagger_computes_the_printed_equation(tiny_tagger: Options) -> None:
    config = tiny_tagger("lstm", epochs=1, min_word_count=1, bidirectional=False)
    model = TaggerModel(config, labels=TAGS, words=True, seed=2).fit(SENTENCES)
    tagged = [tag_text(SENTENCES[0], model.tokeniser_, model.scheme)]
    (batch,) = TagBatches(tagged, model.tokeniser_.special, model.scheme, batch_size=1, window_tokens=24).epoch()
    with torch.no_grad():
        found = model.network_(batch).emissions[0].double().numpy()
    weights = {name: value.double().numpy() for name, value in model.network_.state_dict().items()}
    np.testing.assert_allclose(found, _by_loops(weights, batch.tokens[0].tolist())[1:-1], atol=1e-5)
    best = [TAGS[index] for index in found.argmax(1)]
    assert [span.label for span in model.tag(SENTENCES[:1])[0]] == best


def _by_loops(weights: dict[str, np.ndarray], tokens: list[int]) -> np.ndarray:
    """Return log softmax(A h_t + b) for each token of an LSTM that is run step by step."""

    def sigmoid(values: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-values))

    size = weights["lstm.forwards.weight_hh_l0"].shape[1]
    state, cell, rows = np.zeros(size), np.zeros(size), []
    for token in tokens:
        vector = weights["tokens.weight"][token] + weights["segments.weight"][0]
        gates = weights["lstm.forwards.weight_ih_l0"] @ vector + weights["lstm.forwards.bias_ih_l0"]
        gates += weights["lstm.forwards.weight_hh_l0"] @ state + weights["lstm.forwards.bias_hh_l0"]
        enter, forget, new, out = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = sigmoid(out) * np.tanh(cell)
        scores = weights["classify.weight"] @ state + weights["classify.bias"]
        rows.append(scores - np.log(np.exp(scores).sum()))
    return np.array(rows)


def test_a_forward_tagger_does_not_look_ahead(tiny_tagger: Options) -> None:
    for bidirectional in (False, True):
        config = tiny_tagger("lstm", epochs=1, min_word_count=1, bidirectional=bidirectional)
        model = TaggerModel(config, labels=TAGS, words=True, seed=2).fit(SENTENCES)
        probs = [model.tag_scored([sentence(("我", "PN"), (word, "NN"))])[0][0].prob for word in ("追", "小猫")]
        assert (probs[0] == probs[1]) is not bidirectional


def test_a_word_without_a_label_is_unknown_and_o_is_a_tag() -> None:
    tokeniser = WordTokeniser.of_sentences([("我", "追")], min_count=1)
    scheme = TagScheme("WORD", ("O", "PN"))
    tagged = tag_text(LabelledText("", (Span(1, 2, "O"),), words=("我", "追", "Ａ")), tokeniser, scheme)
    assert tagged.tags is not None
    assert tagged.tags.tolist() == [UNKNOWN_TAG, 0, UNKNOWN_TAG]
    assert tagged.ids.tolist()[2] == tokeniser.special.unknown
    assert scheme.decode(["PN", "O"]) == [Span(0, 1, "PN"), Span(1, 2, "O")]
    assert scheme.allowed.all()
    assert not scheme.continues.any()


def test_a_vocabulary_of_words_keeps_those_that_occur_often_enough() -> None:
    sentences = [("Nova", "来", "[CLS]"), ("ｎｏｖａ", "走", "[CLS]")]
    tokeniser = WordTokeniser.of_sentences(sentences)
    assert tokeniser.vocabulary.tokens == ["[CLS]", "[SEP]", "[cls]", "nova"]
    assert tokeniser.encode(["NOVA", "走"]).ids.tolist()[1] == tokeniser.special.unknown
    cut = tokeniser("nova 走")
    assert (cut.starts.tolist(), cut.stops.tolist()) == ([0, 5], [4, 6])


def test_a_tagger_of_pieces_reads_no_words(tiny_tagger: Options) -> None:
    with pytest.raises(ConfigError, match="tagger bert reads pieces, not given words") as caught:
        TaggerModel(tiny_tagger("bert"), labels=TAGS, words=True)
    assert caught.value.hint == "--tagger, one of lstm, encoder"
    spans = TaggerModel(tiny_tagger("lstm", epochs=1)).fit([LabelledText("青禾", (Span(0, 2),))])
    with pytest.raises(ConfigError, match="words and one of spans"):
        TaggerModel(tiny_tagger("lstm"), labels=TAGS, words=True).fit(SENTENCES, start=spans)

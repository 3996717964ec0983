"""The probability of spans that are found, against the sum over every sequence of tags; output layers taken over."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product

import pytest
import torch

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.batches import TagBatches
from pipeline.entities.taggers.data import tokenise_text
from pipeline.entities.taggers.model import TaggerModel
from pipeline.text.spans import LabelledText, Span

Options = Callable[..., TaggerConfig]
TEXTS = [LabelledText("青禾好", (Span(0, 2, "A"),)), LabelledText("云好", (Span(0, 1, "B"),)), LabelledText("好")]
LABELS = ("A", "B")


@pytest.mark.parametrize(("scheme", "crf"), [("BIO", True), ("BIESO", False)])
def test_a_span_has_its_probability_over_all_sequences(tiny_tagger: Options, scheme: str, crf: bool) -> None:
    model = TaggerModel(tiny_tagger("lstm", epochs=8, scheme=scheme, crf=crf), labels=LABELS, seed=4).fit(TEXTS)
    found = model.tag_scored(TEXTS)
    assert [[Span(s.start, s.stop, s.label) for s in spans] for spans in found] == model.tag(TEXTS)
    for text, spans in zip(TEXTS, found, strict=True):
        for start, stop, prob, label in spans:
            assert prob == pytest.approx(_by_enumeration(model, text, Span(start, stop, label)), abs=1e-4)


def _by_enumeration(model: TaggerModel, text: LabelledText, span: Span) -> float:
    tokens = tokenise_text(text, model.tokeniser_)
    (batch,) = TagBatches([tokens], model.tokeniser_.special, model.scheme, batch_size=1, window_tokens=24).epoch()
    with torch.no_grad():
        emissions, crf = model.network_(batch).emissions[0], model.network_.crf
        total = wanted = 0.0
        for path in product(range(len(model.scheme.tags)), repeat=len(tokens)):
            pairs = list(pairwise(path))
            allowed = model.scheme.may_begin[path[0]] and model.scheme.may_end[path[-1]]
            if not (allowed and all(model.scheme.allowed[pair] for pair in pairs)):
                continue
            score = crf.first[path[0]] + crf.last[path[-1]] + sum(emissions[step, tag] for step, tag in enumerate(path))
            weight = float(torch.exp(score + sum(crf.transitions[pair] for pair in pairs)))
            total += weight
            wanted += weight * (span in model.scheme.decode([model.scheme.tags[tag] for tag in path]))
    return wanted / total


def test_going_on_with_new_types_keeps_what_is_known_of_the_old_ones(tiny_tagger: Options) -> None:
    config = tiny_tagger("lstm", epochs=40, crf=True)
    old = TaggerModel(config, labels=LABELS, seed=4).fit(TEXTS)
    still = tiny_tagger("lstm", epochs=1, crf=True)
    still.training.learning_rate = 1e-8
    new = TaggerModel(still, labels=("A", "B", "C"), seed=4).fit(TEXTS, start=old)
    for tag, index in new.scheme.ids.items():
        if tag in old.scheme.ids:
            there = old.scheme.ids[tag]
            torch.testing.assert_close(new.network_.classify.weight[index], old.network_.classify.weight[there])
            for other, column in old.scheme.ids.items():
                torch.testing.assert_close(
                    new.network_.crf.transitions[index, new.scheme.ids[other]],
                    old.network_.crf.transitions[there, column],
                )
    assert {span.label for spans in new.tag(TEXTS) for span in spans} <= {"A", "B", "C"}

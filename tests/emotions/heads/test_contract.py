"""What every registered head must do; a new line in HEADS is tested here before anyone writes a test.

Each runs over learnt embeddings and over the states of an encoder; heads that need an encoder over those alone. Heads
with options of their own run with each value of them, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.classifier.inputs import PieceReader
from pipeline.emotions.heads.base import Embedder, Head
from pipeline.emotions.heads.encoder_states import EncoderStates
from pipeline.nn.batching import Batch, BatchLoader, Positions, aspect_of
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.nn.vocab import Vocabulary
from pipeline.registry import HEADS, resolve
from pipeline.schema import EMOTIONS, Emotion, Target
from tests.support.tiny_encoder import tiny_network, tiny_tokenizer, tiny_tokens

WORDS = {Emotion.POS: "夸赞香甜", Emotion.NORM: "介绍位置", Emotion.NEG: "批评苦涩"}


def item(left: str, name: str, right: str, emotion: Emotion = Emotion.POS) -> Target:
    span = (len(left), len(left) + len(name))
    return Target(left + name + right, *span, name, emotion, mentions=(span,) if name else ())


TYPICAL = item("今天人们", "银杏书店", "门口排起长队", Emotion.POS)
EDGES = {
    "no left": item("", "银杏书店", "门口排队"),
    "no right": item("人们都爱", "银杏书店", ""),
    "no context": item("", "银杏书店", ""),
    "one character": item("人们爱", "杏", "也爱茶"),
    "one character alone": item("", "杏", ""),
    "target not in the text": item("", "", "今天下雨了"),
    "no text": item("", "", ""),
}
EXAMPLES = [
    item("", name, f"很受{WORDS[emotion]}之声", emotion)
    for name, emotion in zip(
        ["松果", "银杏", "茶社", "书店", "竹林", "山泉", "石桥", "渡口"],
        [*Emotion, *Emotion, *list(Emotion)[:2]],
        strict=True,
    )
]
TEXTS = [example.text for example in [TYPICAL, *EDGES.values(), *EXAMPLES]]
VOCABULARY = Vocabulary.build(TEXTS, min_count=1)
ASPECTS = Vocabulary.of_tokens((aspect_of(example) for example in EXAMPLES), min_count=1)
CHARACTERS = "".join(TEXTS)
PIECES = PieceReader(PieceTokeniser(tiny_tokenizer(CHARACTERS), SpecialIds(0, 1, 2, 3)))
CONFIG = HeadConfig(embedding_dim=8, hidden_dim=6, dropout=0.3)

DEEP = {"recurrent_layers": 2, "directions": "both"}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "lstm": [DEEP],
    "td_lstm": [{"td_states": "sum", "recurrent_layers": 2}, {"td_states": "average"}],
    "tc_lstm": [{"td_states": "sum"}, {"td_states": "average", "recurrent_layers": 2}],
    "at_lstm": [DEEP, {"aspect": "table"}, {"at_attention": "concatenated"}],
    "atae_lstm": [DEEP, {"aspect": "table"}, {"aspect": "table", "at_attention": "concatenated"}],
    "ian": [DEEP],
    "af_lstm": [DEEP, {"af_normalise": "batch"}, {"af_normalise": "none", "af_operator": "convolution"}],
    "text_rnn": [{"cell": "gru", "directions": "one"}, {"cell": "plain", "recurrent_layers": 2}],
    "text_rcnn": [{"cell": "gru"}, {"cell": "plain"}],
    "han": [{"cell": "gru", "sentences": "marks"}, {"cell": "plain", "directions": "one"}, {"recurrent_layers": 2}],
    "fast_text": [{"bigram_buckets": 0}],
}
"""Values beside the defaults."""
OPTIONS_OF = {
    " ".join([name, *(f"{key}={value}" for key, value in options.items())]): options
    for name, values in OPTIONS.items()
    for options in values
}
ON_ENCODER = " on an encoder"
NAMES = [
    *(name for name in HEADS if not resolve(HEADS, name, kind="head").needs_encoder),
    *OPTIONS_OF,
    *(name + ON_ENCODER for name in HEADS),
]
heads = pytest.mark.parametrize("name", NAMES)

CANCELLED = {"attend.query.weight"}
"""What the printed attention of AT-LSTM cannot learn, but for rounding: see ``ConcatenatedAttention``."""
ATTENTIVE = {"at_lstm", "atae_lstm", "af_lstm", "ian", "han"}
"""Heads that tell where they looked."""


def class_of(name: str) -> type[Head]:
    return resolve(HEADS, name.split()[0], kind="head")


attentive_heads = pytest.mark.parametrize("name", [name for name in NAMES if name.split()[0] in ATTENTIVE])
target_heads = pytest.mark.parametrize("name", [name for name in NAMES if class_of(name).uses_target])
document_heads = pytest.mark.parametrize("name", [name for name in NAMES if not class_of(name).uses_target])


def build(name: str, *, n_classes: int = 3, config: HeadConfig = CONFIG, seed: int = 3) -> Head:
    torch.manual_seed(seed)
    kind = class_of(name)
    config = replace(config, **OPTIONS_OF.get(name, {}))
    marks = kind.uses_target and not kind.needs_encoder
    embedder: Embedder = TokenEmbedding(len(VOCABULARY), config.embedding_dim, marks_target=marks)
    if name.endswith(ON_ENCODER):
        encoder = tiny_network(n_layers=1, n_rows=len(tiny_tokens(CHARACTERS)), seed=seed)
        for module in encoder.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = config.dropout
        embedder = EncoderStates(encoder, PIECES.special, marks_target=marks)
    sizes = {"n_aspects": len(ASPECTS)} if kind.takes_aspects else {}
    return kind(embedder, config, n_classes=n_classes, **sizes)


def batch_of(name: str, *examples: Target) -> Batch:
    reader = PIECES if name.endswith(ON_ENCODER) else VOCABULARY
    labels = [EMOTIONS.index(example.emotion) for example in examples if example.emotion is not None]
    [batch] = BatchLoader(examples, reader, labels=labels, aspects=ASPECTS).epoch()
    return batch


def widen(batch: Batch, extra: int) -> Batch:
    """Add padding to every axis that has any."""

    def pad(tensor: torch.Tensor) -> torch.Tensor:
        return functional.pad(tensor, (0, extra))

    parts: dict[str, Any] = {
        part: Positions(pad(p.index), pad(p.mask))
        for part in ("target", "left", "right")
        if (p := getattr(batch, part))
    }
    parts |= {part: pad(getattr(batch, part)) for part in ("tokens", "mask", "mentions", "sentences")}
    return replace(batch, **parts)


def test_the_heads_of_the_first_version_are_registered() -> None:
    assert {"ian", "af_lstm"} <= set(HEADS)


@heads
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logits_have_one_row_an_example(name: str, n_classes: int) -> None:
    logits = build(name, n_classes=n_classes)(batch_of(name, TYPICAL, *EXAMPLES))
    assert logits.shape == (9, n_classes)
    assert logits.dtype == torch.float32
    assert torch.isfinite(logits).all()


@heads
def test_a_batch_of_one_works(name: str) -> None:
    head = build(name)
    assert head(batch_of(name, TYPICAL)).shape == (1, 3)
    assert head.eval()(batch_of(name, TYPICAL)).shape == (1, 3)


@heads
def test_extra_padding_changes_nothing(name: str) -> None:
    head = build(name).eval()
    batch = batch_of(name, TYPICAL, *EXAMPLES)
    torch.testing.assert_close(head(widen(batch, 9)), head(batch), atol=1e-6, rtol=1e-5)


@heads
def test_batch_mates_change_nothing(name: str) -> None:
    head = build(name).eval()
    alone = head(batch_of(name, TYPICAL))[0]
    longer = item("今天人们。" * 9, "银杏书店", "门口排起长队。" * 9)
    together = batch_of(name, *EDGES.values(), TYPICAL, longer)
    row = together.rows.tolist().index(len(EDGES))
    torch.testing.assert_close(head(together)[row], alone, atol=1e-6, rtol=1e-5)


@heads
@pytest.mark.parametrize("case", EDGES)
def test_edges_are_finite_with_finite_gradients(name: str, case: str) -> None:
    head = build(name)
    batch = batch_of(name, EDGES[case])
    logits = head(batch)
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits.softmax(1).sum(1), torch.ones(1))
    functional.cross_entropy(logits, batch.labels).backward()
    assert all(torch.isfinite(p.grad).all() for p in head.parameters() if p.grad is not None)


@heads
def test_the_heads_with_attention_are_known(name: str) -> None:
    attention = build(name).eval().explain(batch_of(name, TYPICAL)).attention
    assert (attention is not None) == (name.split()[0] in ATTENTIVE)


@attentive_heads
def test_attention_covers_the_context_and_nothing_else(name: str) -> None:
    batch = batch_of(name, TYPICAL, *EXAMPLES, EDGES["no text"])
    attention = build(name).eval().explain(batch).attention
    assert attention.shape == batch.tokens.shape
    assert not attention[~batch.mask].any()
    torch.testing.assert_close(attention.sum(1), batch.mask.any(1).float())


@target_heads
def test_target_matters_to_a_head_that_uses_it(name: str) -> None:
    head = build(name).eval()
    text = "松果园对面是银杏书店"
    logits = head(batch_of(name, *(item(*parts) for parts in (("", text[:3], text[3:]), (text[:6], text[6:], "")))))
    assert not torch.allclose(logits[0], logits[1], atol=1e-5)


@heads
def test_every_parameter_gets_a_gradient(name: str) -> None:
    head = build(name)
    batch = batch_of(name, *EXAMPLES, item("人们。", "松果", "很受欢迎。"))
    functional.cross_entropy(head(batch), batch.labels).backward()
    lacking = {key for key, p in head.named_parameters() if p.grad is None or not p.grad.any()}
    assert lacking <= (CANCELLED if "concatenated" in name else set())


@heads
def test_overfits_eight_examples(name: str) -> None:
    head = build(name, config=HeadConfig(embedding_dim=16, hidden_dim=12, dropout=0.0))
    batch = batch_of(name, *EXAMPLES)
    optimizer = torch.optim.Adam(head.parameters(), lr=5e-3 if name.endswith(ON_ENCODER) else 2e-2)
    for _ in range(150):
        loss = functional.cross_entropy(head(batch), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.04:
            break
    assert loss.item() < 0.05
    assert (head(batch).argmax(1) == batch.labels).all()


@heads
def test_save_and_load_are_identical(name: str) -> None:
    from safetensors.torch import load, save

    head, other = build(name).eval(), build(name, seed=99).eval()
    batch = batch_of(name, TYPICAL, *EXAMPLES)
    assert not torch.equal(other(batch), head(batch))
    other.load_state_dict(load(save(head.state_dict())))
    assert torch.equal(other(batch), head(batch))


@document_heads
def test_a_head_that_does_not_use_the_target_gives_the_same_for_every_target(name: str) -> None:
    head = build(name).eval()
    text = EXAMPLES[0].text
    answers = [
        head(batch_of(name, Target(text, start, start + 2, text[start : start + 2], Emotion.POS))) for start in (0, 3)
    ]
    assert torch.equal(*answers)

from __future__ import annotations

import torch
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.han import HAN, ContextAttention
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

TEXTS = ["今天雨后松果园开门了", "松果开门", "园", ""]
"""Three sentences of four tokens, the last one of two; one; one of a single token; none."""


def head_and_batch() -> tuple[HAN, Batch]:
    vocabulary = Vocabulary.build(TEXTS, min_count=1)
    [batch] = BatchLoader([Target(text, 0, 0, "") for text in TEXTS], vocabulary).epoch()
    torch.manual_seed(0)
    return HAN(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=3, sentence_tokens=4)).eval(), batch


def test_attention_by_hand() -> None:
    attention = ContextAttention(2)
    attention.key.weight.data, attention.key.bias.data = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2)
    attention.query.weight.data = torch.tensor([[1.0, 0.5]])
    states = torch.tensor([[[1.0, 0.0], [0.0, 0.25], [9.0, 9.0]]])
    # scores tanh(1) = 0.761594 and 0.5 tanh(0.5) = 0.231059; softmax of them
    expected = torch.tensor([[0.629608, 0.370392, 0.0]])
    torch.testing.assert_close(attention(states, torch.tensor([[True, True, False]])), expected, atol=1e-5, rtol=0)


def test_attention_of_a_row_sums_to_one_and_ignores_padding() -> None:
    head, batch = head_and_batch()
    attention = head.explain(batch).attention
    assert attention.shape == batch.tokens.shape
    assert not attention[~batch.mask].any()
    torch.testing.assert_close(attention.sum(1), batch.mask.any(1).float())


def test_head_equals_a_loop_over_sentences() -> None:
    head, batch = head_and_batch()
    found, embedded = head.explain(batch), head.embedder(batch)
    for row, index in enumerate(batch.rows.tolist()):
        words = embedded[row, : len(TEXTS[index])]
        if not len(words):
            assert torch.equal(found.logits[row], head.classify.bias)
            continue

        def read(lstm, attend, vectors):
            back = lstm.backwards(vectors.flip(0)[None])[0][0].flip(0)
            states = torch.cat([lstm.forwards(vectors[None])[0][0], back], dim=1)
            weights = torch.stack([attend.query(torch.tanh(attend.key(state)))[0] for state in states]).softmax(0)
            return weights @ states, weights

        sentences = [read(head.words, head.word_attention, part) for part in words.split(4)]
        document, of_sentence = read(head.sentences, head.sentence_attention, torch.stack([s for s, _ in sentences]))
        expected = torch.cat([of_sentence[i] * weights for i, (_, weights) in enumerate(sentences)])
        torch.testing.assert_close(found.logits[row], head.classify(document))
        torch.testing.assert_close(
            found.attention[row], functional.pad(expected, (0, batch.tokens.shape[1] - len(words)))
        )

from __future__ import annotations

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.ian import IAN, BilinearAttention
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target


def test_attention_by_hand() -> None:
    attention = BilinearAttention(2)
    attention.weight.data = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    attention.bias.data = torch.tensor([0.5])
    h = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    weights = attention(h, torch.tensor([[0.25, 0.5]]), torch.tensor([[True, True, False]]))
    # h_1 W q + b = 0.75 and h_2 W q + b = 1.5; tanh of them 0.635149 and 0.905148
    torch.testing.assert_close(weights, torch.tensor([[0.432908, 0.567092, 0.0]]), atol=1e-6, rtol=0)


def test_head_equals_a_loop_over_tokens() -> None:
    items = [
        Target("雨后松果园开门", 2, 5, "松果园", mentions=((2, 5),)),
        Target("松果", 0, 2, "松果", mentions=((0, 2),)),
    ]
    vocabulary = Vocabulary.build((item.text for item in items), min_count=1)
    [batch] = BatchLoader(items, vocabulary).epoch()
    torch.manual_seed(0)
    head = IAN(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4)).eval()
    found = head.explain(batch)
    embedded = head.embedder(batch)
    for row, index in enumerate(batch.rows.tolist()):
        item = items[index]
        words = embedded[row, : len(item.text)]
        c = head.context_lstm.forwards(words[None])[0][0]
        t = head.target_lstm.forwards(words[None, item.start : item.stop])[0][0]

        def attend(states, query, layer):
            scores = [torch.tanh(state @ layer.weight @ query + layer.bias)[0] for state in states]
            weights = torch.stack(scores).softmax(0)
            return weights, sum(weight * state for weight, state in zip(weights, states, strict=True))

        alpha, context = attend(c, t.mean(0), head.context_attention)
        _, target = attend(t, c.mean(0), head.target_attention)
        pair = torch.tanh(head.mix(torch.cat([context, target])))
        torch.testing.assert_close(found.logits[row], head.classify(pair), atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(found.attention[row, : len(item.text)], alpha, atol=1e-6, rtol=1e-4)

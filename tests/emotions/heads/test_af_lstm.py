from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pipeline.config import HeadConfig
from pipeline.emotions.heads.af_lstm import AFLSTM, OPERATORS
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

SHIFT = {"convolution": -1, "correlation": 1}


def double_sum(a: Tensor, b: Tensor, sign: int) -> Tensor:
    """``out[k] = sum_j a[j] b[(k + sign j) mod dim]``."""
    dim = len(a)
    return torch.stack([sum((a[j] * b[(k + sign * j) % dim] for j in range(dim)), torch.zeros(())) for k in range(dim)])


@pytest.mark.parametrize("dim", [1, 2, 7, 16])
@pytest.mark.parametrize("name", OPERATORS)
def test_fft_equals_the_direct_double_sum(name: str, dim: int) -> None:
    rng = torch.Generator().manual_seed(dim)
    a, b = torch.randn(3, 4, dim, generator=rng), torch.randn(3, 1, dim, generator=rng)
    found = OPERATORS[name](a, b)
    assert found.shape == (3, 4, dim)
    for row in range(3):
        for step in range(4):
            expected = double_sum(a[row, step], b[row, 0], SHIFT[name])
            torch.testing.assert_close(found[row, step], expected, atol=1e-5, rtol=1e-4)


def test_convolution_by_hand() -> None:
    a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    torch.testing.assert_close(OPERATORS["convolution"](a, b), torch.tensor([31.0, 31.0, 28.0]))
    torch.testing.assert_close(OPERATORS["correlation"](a, b), torch.tensor([32.0, 29.0, 29.0]))


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_let_gradients_through(name: str) -> None:
    a = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(OPERATORS[name], (a, b))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("normalise", ["layer", "none"])
def test_head_equals_its_equations(name: str, normalise: str) -> None:
    item = Target("松果又香又甜", 0, 2, "松果", mentions=((0, 2),))
    vocabulary = Vocabulary.build([item.text], min_count=1)
    [batch] = BatchLoader([item], vocabulary).epoch()
    torch.manual_seed(0)
    config = HeadConfig(hidden_dim=6, af_operator=name, af_normalise=normalise)  # type: ignore[arg-type]
    head = AFLSTM(TokenEmbedding(len(vocabulary), 5), config).eval()
    embedded = head.embedder(batch)[0]
    h = head.lstm.forwards(embedded[None])[0][0]
    s = head.target(embedded[:2].mean(0))
    norm_h, norm_s = head.normalise_context(h, None), head.normalise_target(s, None)
    m = torch.stack([double_sum(word, norm_s, SHIFT[name]) for word in norm_h])
    scores = torch.stack([head.score.weight[0] @ torch.tanh(head.key.weight @ word) for word in m])
    a = scores.softmax(0)
    r = torch.tanh(head.attended.weight @ sum(a[i] * h[i] for i in range(6)) + head.last.weight @ h[-1])
    found = head.explain(batch)
    torch.testing.assert_close(found.logits[0], head.classify.weight @ r + head.classify.bias, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.attention[0], a, atol=1e-5, rtol=1e-4)

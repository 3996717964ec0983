from __future__ import annotations

import math

import torch

from pipeline.entities.relevance.matchers.soft_align import RowBatchNorm, soft_align

A = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])
A_MASK = torch.tensor([[True, True, False]])
B = torch.tensor([[[1.0, 1.0], [0.0, 1.0], [7.0, 7.0]]])
B_MASK = torch.tensor([[True, True, False]])


def test_worked_by_hand() -> None:
    """Dot products: a1 with b1, b2 = 1, 0; a2 with b1, b2 = 2, 2. The third token of either text is padding."""
    e = math.e
    a_aligned, b_aligned = soft_align(A, A_MASK, B, B_MASK)
    share = e / (e + 1)
    torch.testing.assert_close(a_aligned[0, :2], torch.tensor([[share, 1.0], [0.5, 1.0]]))
    first, second = e / (e + e**2), 1 / (1 + e**2)  # weights of a1 for b1 and for b2
    torch.testing.assert_close(b_aligned[0, :2], torch.tensor([[first, 2 * (1 - first)], [second, 2 * (1 - second)]]))


def test_what_padding_holds_changes_nothing() -> None:
    other_a, other_b = A.clone(), B.clone()
    other_a[0, 2], other_b[0, 2] = -50.0, 1e4
    for mine, other in zip(soft_align(A, A_MASK, B, B_MASK), soft_align(other_a, A_MASK, other_b, B_MASK), strict=True):
        torch.testing.assert_close(mine[0, :2], other[0, :2])


def test_an_empty_text_aligns_with_nothing() -> None:
    empty = torch.zeros_like(B_MASK)
    a_aligned, b_aligned = soft_align(A, A_MASK, B, empty)
    assert not a_aligned.any()
    assert torch.isfinite(b_aligned).all()
    assert not soft_align(A, empty, B, B_MASK)[1].any()


def test_a_training_batch_of_one_row_is_normalised_as_in_evaluation() -> None:
    norm = RowBatchNorm(3)
    for seed in range(5):
        norm(torch.randn(8, 3, generator=torch.Generator().manual_seed(seed)) * 2 + 1)
    before = norm.running_mean.clone()  # type: ignore[union-attr]
    row = torch.tensor([[1.0, 2.0, 3.0]])
    in_training = norm(row)
    assert torch.equal(norm.running_mean, before)  # type: ignore[arg-type]
    torch.testing.assert_close(in_training, norm.eval()(row))

"""Losses of matchers, all from logits: similarity s = sigmoid(logit), distance d = -log s."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean binary cross-entropy of the similarity."""
    return functional.binary_cross_entropy_with_logits(logits, labels)


def mse(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean squared error of the similarity, as Mueller and Thyagarajan, AAAI 2016."""
    return functional.mse_loss(logits.sigmoid(), labels)


def contrastive(logits: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """Mean contrastive loss: y d^2 + (1 - y) max(0, margin - d)^2.

    Paper: Hadsell et al., CVPR 2006, equation 4 without its factors of one half. The distance d is -log s: for MaLSTM
    the L1 distance of the two texts' states.
    """
    distance = functional.softplus(-logits)
    apart = (margin - distance).clamp(min=0)
    return (labels * distance**2 + (1 - labels) * apart**2).mean()


def pair_loss(name: str, logits: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """Return one of the losses.

    Args:
        name: ``bce``, ``mse`` or ``contrastive``, as in ``relevance.loss``.
        logits: (batch,).
        labels: (batch,): 1 where the texts belong together, else 0.
        margin: of ``contrastive``.
    """
    if name == "contrastive":
        return contrastive(logits, labels, margin=margin)
    return {"bce": bce, "mse": mse}[name](logits, labels)

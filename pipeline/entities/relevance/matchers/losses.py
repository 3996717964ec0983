"""Losses of matchers from logits: similarity s = sigmoid(logit), distance d = -log s or that of the encodings."""

from __future__ import annotations

from collections.abc import Callable

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
    with its own similarity the L1 distance of the two texts' states.
    """
    distance = functional.softplus(-logits)
    apart = (margin - distance).clamp(min=0)
    return (labels * distance**2 + (1 - labels) * apart**2).mean()


def contrastive_distance(distance: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """Contrastive loss of the distance of two encodings: 1/(2N) sum y d^2 + (1 - y) max(0, margin - d)^2.

    Paper: Hadsell, Chopra and LeCun, CVPR 2006, equation 4, with the mean over the N pairs of a batch where the paper
    has a sum over all pairs; its Y is 0 for a pair that belongs together, our y is 1. With ``euclidean`` the distance
    is the paper's.

    Args:
        distance: float32 (batch,).
        labels: float32 (batch,), 0 to 1.
        margin: distance from which a pair that does not belong together costs nothing.
    """
    apart = (margin - distance).clamp(min=0)
    return (labels * distance**2 + (1 - labels) * apart**2).mean() / 2


def pair_loss(
    name: str,
    logits: Tensor,
    labels: Tensor,
    *,
    margin: float,
    distance_of: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Return one of the losses.

    Args:
        name: as in ``relevance.loss``.
        logits: (batch,).
        labels: (batch,): 1 where the texts belong together, 0 where they do not, or a score between.
        margin: of the contrastive losses.
        distance_of: gives the distance of the encodings from the logits; ``contrastive_distance`` only.
    """
    if name == "contrastive":
        return contrastive(logits, labels, margin=margin)
    if name == "contrastive_distance":
        if distance_of is None:
            raise ValueError("contrastive_distance needs the distance of the encodings")
        return contrastive_distance(distance_of(logits), labels, margin=margin)
    return {"bce": bce, "mse": mse}[name](logits, labels)

"""How alike two encodings are, as a distance and as the logit of a similarity, each of which gives the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

SMALLEST_DISTANCE = 1e-6
"""Keeps the logit of two equal texts finite."""
TensorMap = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Measure:
    """A distance of encodings, and the similarity that follows from it.

    With a, b the encodings, s = sigmoid(logit) the similarity:

    ============ ================= ==================
    name         distance d        similarity s
    ============ ================= ==================
    exp_l1       ||a - b||_1       exp(-d)
    euclidean    ||a - b||_2       exp(-d)
    cosine       1 - cos(a, b)     1 - d / 2
    ============ ================= ==================

    The cosine with a zero encoding, as of an empty text, is 0.
    """

    distance: Callable[[Tensor, Tensor], Tensor]
    """Of two encodings, float32 (batch, hidden) each: (batch,), 0 and more."""
    to_logit: TensorMap
    """From the distance, (batch,)."""
    of_logit: TensorMap
    """Its inverse."""


def logit_of_distance(distance: Tensor) -> Tensor:
    """Return the logit whose sigmoid is exp(-distance), for distances of 0 and more."""
    distance = distance.clamp(min=SMALLEST_DISTANCE)
    return -distance - (-(-distance).expm1()).log()


def distance_of_logit(logit: Tensor) -> Tensor:
    """Return d where sigmoid(logit) is exp(-d)."""
    return functional.softplus(-logit)


def logit_of_cosine_distance(distance: Tensor) -> Tensor:
    """Return the logit whose sigmoid is 1 - distance / 2, for distances of 0 to 2."""
    distance = distance.clamp(SMALLEST_DISTANCE, 2 - SMALLEST_DISTANCE)
    return (2 - distance).log() - distance.log()


def cosine_distance_of_logit(logit: Tensor) -> Tensor:
    """Return d where sigmoid(logit) is 1 - d / 2."""
    return 2 * (-logit).sigmoid()


MEASURES: dict[str, Measure] = {
    "exp_l1": Measure(lambda a, b: (a - b).abs().sum(1), logit_of_distance, distance_of_logit),
    "euclidean": Measure(lambda a, b: (a - b).norm(dim=1), logit_of_distance, distance_of_logit),
    "cosine": Measure(
        lambda a, b: 1 - functional.cosine_similarity(a, b), logit_of_cosine_distance, cosine_distance_of_logit
    ),
}
"""By ``relevance.malstm.similarity``, in which "linear" is none of these: it has no distance."""

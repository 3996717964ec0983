"""The features of examples as a linear model multiplies them: the rows of a text are held once for all its examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Features of one field."""

    matrix: sparse.csr_matrix
    """float64 (n_texts, n_features)."""
    text_of: NDArray[np.int64]
    """The text of each example, (n_examples,)."""

    @cached_property
    def spread(self) -> sparse.csr_matrix:
        """1 where an example has a text: float64 (n_examples, n_texts)."""
        from scipy import sparse

        n_examples = len(self.text_of)
        ones, offsets = np.ones(n_examples), np.arange(n_examples + 1)
        return sparse.csr_matrix((ones, self.text_of, offsets), shape=(n_examples, self.matrix.shape[0]))


@dataclass(frozen=True)
class Design:
    """Blocks side by side: the matrix (n_examples, n_features) that nobody has to hold."""

    blocks: tuple[Block, ...]

    @property
    def n_examples(self) -> int:
        """Rows."""
        return len(self.blocks[0].text_of)

    @property
    def n_features(self) -> int:
        """Columns of all blocks."""
        return sum(int(block.matrix.shape[1]) for block in self.blocks)

    def times(self, coefficients: Floats) -> Floats:
        """Return the product with coefficients (n_features, n): float64 (n_examples, n)."""
        total, begin = np.zeros((self.n_examples, coefficients.shape[1])), 0
        for block in self.blocks:
            end = begin + int(block.matrix.shape[1])
            total += (block.matrix @ coefficients[begin:end])[block.text_of]
            begin = end
        return total

    def transposed_times(self, values: Floats) -> Floats:
        """Return the transposed matrix times values (n_examples, n): float64 (n_features, n)."""
        return np.concatenate([block.matrix.T @ (block.spread.T @ values) for block in self.blocks])

    def shown_times(self, values: Floats) -> Floats:
        """Return the same for the 0/1 indicators of the features; values (n_examples,), result (n_features,)."""
        return np.concatenate([_shown(block.matrix).T @ (block.spread.T @ values) for block in self.blocks])


def _shown(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return 1 where a feature is above 0."""
    from scipy import sparse

    return sparse.csr_matrix(((matrix.data > 0).astype(np.float64), matrix.indices, matrix.indptr), matrix.shape)

"""What the first reranking leaves on disk for the second: features, labels and out-of-fold probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from safetensors.numpy import load, save

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.entities.features import FeatureTable
from pipeline.errors import ArtifactError

ARRAYS, NAMES = "first_ranking.safetensors", "first_ranking.json"
_FLAT = ("matrix", "labels", "firsts", "probs")


@dataclass(frozen=True)
class FirstPass:
    """Features of the training articles, and their candidates' out-of-fold probabilities."""

    table: FeatureTable
    probs: list[np.ndarray]
    """float64 (n_candidates,) for each article."""

    def save(self, folder: Path) -> list[Path]:
        """Write both, and return the files."""
        table = self.table
        arrays = {
            "matrix": np.vstack(table.matrices),
            "labels": np.concatenate(table.labels),
            "firsts": np.concatenate(table.firsts),
            "probs": np.concatenate(self.probs),
        }
        texts = {"names": table.names, "news_ids": table.news_ids, "keys": table.keys, "n_gold": table.n_gold}
        atomic_write_bytes(folder / ARRAYS, save({name: np.ascontiguousarray(arrays[name]) for name in _FLAT}))
        atomic_write_json(folder / NAMES, texts)
        return [folder / ARRAYS, folder / NAMES]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        texts = read_json(folder / NAMES)
        try:
            arrays = load((folder / ARRAYS).read_bytes())
            stops = np.cumsum([len(keys) for keys in texts["keys"]])[:-1]
            matrices, labels, firsts, probs = (np.split(arrays[name], stops) for name in _FLAT)
        except Exception as error:  # OSError, KeyError, ValueError, and what safetensors raises
            raise ArtifactError(f"{folder / ARRAYS}: cannot be read ({' '.join(str(error).split())[:200]})") from error
        table = FeatureTable(
            texts["names"], texts["news_ids"], texts["keys"], firsts, matrices, labels, texts["n_gold"]
        )
        return cls(table, probs)

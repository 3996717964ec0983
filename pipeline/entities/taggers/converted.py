"""A saved tagger whose network was converted for OpenVINO: it reads texts, and needs no torch for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from pipeline.entities.taggers.decode import CHAIN, TagChain, TagScores
from pipeline.entities.taggers.reader import TaggerReader
from pipeline.entities.taggers.settings import TaggerSettings
from pipeline.entities.taggers.window_batches import WindowBatch
from pipeline.errors import ArtifactError
from pipeline.nn.lengths import LENGTH_STEP
from pipeline.nn.openvino_engine import ConvertedNetwork
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.text.spans import TagScheme

WEIGHTS = "model.safetensors"


def load_converted(folder: Path, *, labels: Sequence[str] | None = None, threads: int = 1) -> TaggerReader:
    """Read a tagger with its converted network.

    Raises:
        ArtifactError: a file is missing or damaged, or its labels are not those that are wanted.
    """
    settings = TaggerSettings.load(folder, labels=labels)
    may_round = settings.config.training.mixed_precision != "no"
    network = ConvertedNetwork(folder, threads=threads, may_round=may_round)
    return TaggerReader(
        settings,
        _read_chain(folder / WEIGHTS, settings.network_scheme),
        PieceTokeniser.load(folder),
        _Scorer(network, has_labels=settings.label_weight is not None),
    )


class _Scorer:
    """Runs a converted network over windows."""

    def __init__(self, network: ConvertedNetwork, *, has_labels: bool) -> None:
        self._network, self._has_labels = network, has_labels

    def __call__(self, batches: Iterator[WindowBatch]) -> Iterator[tuple[WindowBatch, TagScores]]:
        for batch in batches:
            emissions, *labels = self._network(
                tokens=_padded(batch.tokens),
                mask=_padded(batch.mask.astype(np.int64)),
                segments=_padded(batch.segments),
            )
            steps = slice(1, 1 + batch.window.shape[1])
            yield batch, TagScores(emissions[:, steps], labels[0][:, steps] if self._has_labels else None)


def _padded(values: np.ndarray) -> np.ndarray:
    """Pad the steps of int64 (batch, seq_len) by zeros: what the mask leaves out may have any id."""
    return np.pad(values, ((0, 0), (0, -values.shape[1] % LENGTH_STEP)))


def _read_chain(path: Path, scheme: TagScheme) -> TagChain:
    try:
        with safe_open(path, framework="numpy") as weights:
            return TagChain(scheme, *(weights.get_tensor(f"crf.{name}") for name in CHAIN))
    except (OSError, SafetensorError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from error

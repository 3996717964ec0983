"""The states of a frozen encoder, kept while heads learn from the same texts again and again."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.artifacts import temporary_path
from pipeline.config import Config
from pipeline.emotions.classifier.inputs import is_frozen, reads_encoder
from pipeline.nn.encoders import ENCODER_CACHE, STATES
from pipeline.standalone.heads.training import head_class


@contextmanager
def kept_states(heads: Iterable[str], config: Config) -> Iterator[Path | None]:
    """Lend a folder for states, and remove it; None where no head wants one, or ``head.states_cache`` names it."""
    kinds = [head_class(name) for name in heads]
    wanted = any(reads_encoder(kind, config) and is_frozen(kind, config) for kind in kinds)
    if config.head.states_cache or not wanted:
        yield None
        return
    folder = temporary_path(ENCODER_CACHE / STATES)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

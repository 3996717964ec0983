"""Candidates of given names, found as a prediction finds a tagger's."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.entities.candidates import CandidateSet, locate
from pipeline.text import Document, Segmenter, default_segmenter


def located(document: Document, keys: Iterable[str], segmenter: Segmenter | None = None) -> CandidateSet:
    """Return those of the names that occur, none of them from any source."""
    words = (segmenter or default_segmenter()).cut(document.text)
    return locate(document, words, dict.fromkeys(keys, 0))

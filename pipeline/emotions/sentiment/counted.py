"""The n-grams of all examples, counted once: stored in a folder that the trainings of all folds and members map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from pipeline.artifacts import atomic_write_json, map_array, read_json, store_array
from pipeline.emotions.sentiment.ngrams import CharCodes, Counts, TermCodes, WordCodes
from pipeline.errors import ArtifactError
from pipeline.runtime.parallel import chunked, map_chunks

Tokens = Literal["char", "word"]
CODES: dict[Tokens, Callable[[], TermCodes]] = {"char": CharCodes, "word": WordCodes}
BLOCK = 2000
"""Texts whose n-grams are merged at once."""
_ARRAYS = {"offsets": np.int64, "columns": np.int32, "counts": np.uint32, "text_of": np.int32}


@dataclass(frozen=True)
class CountedField:
    """The n-grams of one field of all examples. Texts that several examples share are there once."""

    terms: list[str]
    """N-grams, rising."""
    offsets: NDArray[np.int64]
    """Where the n-grams of each text begin, (n_texts + 1,)."""
    columns: NDArray[np.int32]
    """Of ``terms``; rising within a text."""
    counts: NDArray[np.uint32]
    """How often the text holds each."""
    text_of: NDArray[np.int32]
    """The text of each example, (n_examples,)."""

    def of_text(self, text: int) -> Counts:
        """Return columns and counts of a text."""
        part = slice(self.offsets[text], self.offsets[text + 1])
        return self.columns[part].astype(np.int64), self.counts[part].astype(np.int64)

    def n_examples(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of some examples hold each term, (n_terms,)."""
        times = np.bincount(self.text_of[rows], minlength=len(self.offsets) - 1)
        found = np.zeros(len(self.terms), dtype=np.int64)
        for texts in chunked(range(len(times)), BLOCK):
            begin, end = texts[0], texts[-1] + 1
            lengths = np.diff(self.offsets[begin : end + 1])
            columns = self.columns[self.offsets[begin] : self.offsets[end]]
            weights = np.repeat(times[begin:end], lengths)
            found += np.bincount(columns, weights=weights, minlength=len(self.terms)).astype(np.int64)
        return found

    def save(self, folder: Path) -> None:
        """Write the arrays and the terms.

        Raises:
            ConfigError: the disk is full.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name, kind in _ARRAYS.items():
            store_array(folder / name, getattr(self, name).astype(kind, copy=False))
        atomic_write_json(folder / "terms.json", self.terms)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map the arrays of ``save`` into memory.

        Raises:
            ArtifactError: they cannot be read.
        """
        arrays = {name: map_array(folder / name, kind) for name, kind in _ARRAYS.items()}
        if not len(arrays["offsets"]) or {int(arrays["offsets"][-1])} != {
            len(arrays["columns"]),
            len(arrays["counts"]),
        }:
            raise ArtifactError(f"{folder}: not the n-grams of examples")
        return cls(read_json(folder / "terms.json"), **arrays)


def count_field(texts: Sequence[str], tokens: Tokens, *, min_examples: int = 1) -> CountedField:
    """Count the n-grams of each text.

    Args:
        texts: of every example.
        tokens: what n-grams are made of.
        min_examples: n-grams that fewer examples hold are left out.
    """
    number_of: dict[str, int] = {}
    text_of = np.array([number_of.setdefault(text, len(number_of)) for text in texts], dtype=np.int32)
    codes_of = CODES[tokens]()
    found = [_compact(codes_of.count(text)) for text in number_of]
    times = np.bincount(text_of, minlength=len(found))
    codes, n_examples = _frequencies([codes for codes, _ in found], times)
    codes = codes[n_examples >= min_examples]
    terms = codes_of.strings(codes)
    order = sorted(range(len(terms)), key=terms.__getitem__)
    column_of = np.empty(len(terms), dtype=np.int32)
    column_of[order] = np.arange(len(terms), dtype=np.int32)
    columns, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.uint32)]
    for position, (held, n_times) in enumerate(found):
        found[position] = (held[:0], n_times[:0])  # as much memory is free as is taken below
        places = np.minimum(np.searchsorted(codes, held), max(len(codes) - 1, 0))
        known = codes[places] == held if len(codes) else np.zeros(len(held), bool)
        of_text = column_of[places[known]]
        rising = np.argsort(of_text, kind="stable")
        columns.append(of_text[rising])
        counts.append(n_times[known][rising])
    offsets = np.cumsum([0, *map(len, columns[1:])], dtype=np.int64)
    return CountedField(
        terms=[terms[index] for index in order],
        offsets=offsets,
        columns=np.concatenate(columns),
        counts=np.concatenate(counts),
        text_of=text_of,
    )


def _compact(found: Counts) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    return found[0], found[1].astype(np.uint32)


def _frequencies(
    codes_of: Sequence[NDArray[np.int64]], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct codes of all texts, rising, and in how many examples each is."""
    known, totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for texts in chunked(range(len(codes_of)), BLOCK):
        codes = np.concatenate([known, *(codes_of[text] for text in texts)])
        weights = np.concatenate([totals, *(np.full(len(codes_of[text]), times[text]) for text in texts)])
        order = np.argsort(codes, kind="stable")
        codes, weights = codes[order], weights[order]
        firsts = np.flatnonzero(np.diff(codes, prepend=-1))
        known, totals = codes[firsts], np.add.reduceat(weights, firsts) if len(firsts) else weights
    return known, totals


@dataclass(frozen=True)
class CountedExamples:
    """A folder with the counted fields of examples, one folder for each field and kind of token."""

    folder: Path

    def field(self, name: str, tokens: Tokens) -> CountedField:
        """Return a field of all examples."""
        return self._fields[name, tokens]

    @cached_property
    def _fields(self) -> _Fields:
        return _Fields(self.folder)


class _Fields(dict[tuple[str, Tokens], CountedField]):
    """Reads each field once."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, key: tuple[str, Tokens]) -> CountedField:
        self[key] = found = CountedField.load(_place(self._folder, *key))
        return found


def _place(folder: Path, name: str, tokens: Tokens) -> Path:
    return folder / f"{name}.{tokens}"


@dataclass(frozen=True)
class FieldJob:
    """What one process counts."""

    name: str
    tokens: Tokens
    texts: list[str]
    min_examples: int


def count_examples(jobs: Sequence[FieldJob], folder: Path, *, workers: int = 1, alone: int = 0) -> CountedExamples:
    """Count fields of examples, in several processes, and store them.

    Args:
        jobs: the fields, with the texts of all examples.
        folder: to write to.
        workers: processes.
        alone: of fewer examples all are counted in this process.
    """
    n_processes = workers if jobs and len(jobs[0].texts) >= alone else 1
    counted = map_chunks(_count, jobs, load=partial(Path, folder), workers=n_processes, chunk_size=1)
    for _ in tqdm(counted, desc="n-grams", total=len(jobs), unit="field", disable=None):
        pass
    return CountedExamples(folder)


def _count(folder: Path, jobs: list[FieldJob]) -> list[None]:
    for job in jobs:
        found = count_field(job.texts, job.tokens, min_examples=job.min_examples)
        found.save(_place(folder, job.name, job.tokens))
    return [None for _ in jobs]

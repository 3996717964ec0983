"""A NAIVE implementation of candidates and some features: what benchmarks/speed.py compares the pipeline with.

Not used by the pipeline. One article at a time, nothing kept between columns, the dictionary a list that is gone
through name by name, every occurrence looked for with ``str.find``. It computes 15 of the pipeline's columns,
the same numbers, for candidates that it gets already pruned; so a ratio of times flatters it rather than us.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import jieba

from pipeline.text import Document
from pipeline.text.dictionary import has_word_boundaries

MAX_WORDS, MAX_CHARS, LEAD_CHARS = 6, 20, 300


def naive_candidates(document: Document, names: Sequence[str]) -> list[str]:
    """Return jieba's words, runs of them, and every name of the dictionary that the text holds."""
    text = document.text
    words = jieba.lcut(text)
    found = []
    for first in range(len(words)):
        for stop in range(first + 1, min(first + MAX_WORDS, len(words)) + 1):
            run = "".join(words[first:stop])
            if len(run) > MAX_CHARS or "\n" in run:
                break
            if len(run) > 1 and (stop == first + 1 or text.count(run) > 1) and run not in found:
                found.append(run)
    found += [name for name in names if name in text and name not in found]
    return found


def naive_features(document: Document, keys: Sequence[str]) -> dict[str, list[float]]:
    """Return columns by name, one value per candidate; NaN never occurs among them."""
    text, begin = document.text, document.content_start
    lead, n = begin + LEAD_CHARS, len(document.text)
    tf = [len(occurrences(text, key)) for key in keys]
    return {
        "counts.tf": [float(count) for count in tf],
        "counts.tf_share": [count / max(tf) for count in tf],
        "counts.tf_density": [count * len(key) / n for count, key in zip(tf, keys, strict=True)],
        "counts.tf_rank": [float(sum(other > count for other in tf)) for count in tf],
        "counts.lead_tf": [float(sum(start < lead for start in occurrences(text, key))) for key in keys],
        "title.title_tf": [float(sum(start < begin for start in occurrences(text, key))) for key in keys],
        "positions.first": [float(occurrences(text, key)[0]) for key in keys],
        "positions.last_share": [occurrences(text, key)[-1] / n for key in keys],
        "positions.mean_position": [sum(occurrences(text, key)) / len(occurrences(text, key)) / n for key in keys],
        "positions.n_sentences": [float(len(set(sentences_of(document, key)))) for key in keys],
        "positions.first_half_share": [
            sum(start < n / 2 for start in occurrences(text, key)) / len(occurrences(text, key)) for key in keys
        ],
        "neighbours.left_entropy": [
            entropy([text[start - 1 : start] for start in occurrences(text, key)]) for key in keys
        ],
        "neighbours.right_entropy": [
            entropy([text[start + len(key) : start + len(key) + 1] for start in occurrences(text, key)]) for key in keys
        ],
        "nesting.n_outer": [
            float(sum(other.startswith(key, place) for other in keys if other != key for place in range(len(other))))
            if len(key) > 1
            else 0.0
            for key in keys
        ],
        "shape.repeats_character": [float(len(set(key)) < len(key)) for key in keys],
    }


def occurrences(text: str, key: str) -> list[int]:
    """Find a name, overlapping occurrences included, but not inside a longer Latin run."""
    found = []
    start = text.find(key)
    while start >= 0:
        if has_word_boundaries(text, start, start + len(key)):
            found.append(start)
        start = text.find(key, start + 1)
    return found


def sentences_of(document: Document, key: str) -> list[int]:
    """Return the sentence of every occurrence, by going through all sentences."""
    return [
        index
        for place in occurrences(document.text, key)
        for index, (start, stop) in enumerate(document.sentences)
        if start <= place < stop
    ]


def entropy(characters: Sequence[str]) -> float:
    """Entropy in nats; no character counts as a line break."""
    counts = Counter(character or "\n" for character in characters)
    return -sum(count / len(characters) * math.log(count / len(characters)) for count in counts.values())

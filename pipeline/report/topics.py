"""Topics of articles: clusters of their frequent nouns, named after the terms that mark them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from pipeline.text import Segmenter

N_TERMS = 30
"""Terms kept of an article, the most frequent."""
MAX_TOPICS = 10
MIN_ARTICLES_A_TOPIC = 12
"""Fewer articles make fewer topics."""
MAX_FITTED = 4000
"""Articles that the clusters are fitted on; the others join the nearest."""
TERMS_IN_A_NAME = 3
ALL = "-"
"""Name of the topic where there are too few articles or terms to tell any apart."""


def terms_of(words: Iterable[str], segmenter: Segmenter) -> dict[str, int]:
    """Count an article's most frequent nouns of two characters or more; ties by the word."""
    counts = Counter(word for word in words if len(word) > 1 and segmenter.tag(word).startswith("n"))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:N_TERMS])


def topics(terms: Sequence[Mapping[str, int]], *, seed: int) -> list[str]:
    """Return the topic of each article: the three terms with the most weight in its cluster.

    TF-IDF with sublinear counts, then k-means on the unit sphere's rows.

    Args:
        terms: counts of terms, an article each.
        seed: of the first centres.
    """
    spread = Counter(term for counts in terms for term in counts)
    names = sorted(term for term, n_articles in spread.items() if n_articles > 1)
    n_topics = min(MAX_TOPICS, len(terms) // MIN_ARTICLES_A_TOPIC)
    if n_topics < 2 or len(names) < n_topics:
        return [ALL] * len(terms)
    column = {term: index for index, term in enumerate(names)}
    cells = [
        (row, column[term], count)
        for row, counts in enumerate(terms)
        for term, count in counts.items()
        if term in column
    ]
    rows, columns, counts_ = (np.array(part) for part in zip(*cells, strict=True))
    matrix = sparse.csr_matrix((counts_.astype(np.float64), (rows, columns)), shape=(len(terms), len(names)))
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(matrix)
    fitted = np.linspace(0, len(terms) - 1, min(len(terms), MAX_FITTED)).astype(np.int64)
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        model = KMeans(n_clusters=n_topics, n_init=3, random_state=seed).fit(weights[fitted])
        labels = model.predict(weights)
    called = [_name(centre, names) for centre in model.cluster_centers_]
    return [called[label] for label in labels]


def _name(centre: np.ndarray, names: Sequence[str]) -> str:
    # Rounded, so that the last bits of a sum, which differ between machines, decide nothing.
    best = np.argsort(-np.round(centre, 9), kind="stable")[:TERMS_IN_A_NAME]
    return " ".join(names[index] for index in best)

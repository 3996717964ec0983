"""Fit what offers and describes candidates, and describe every training article out-of-fold."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from pipeline.config import CandidateConfig, Config, RelevanceConfig
from pipeline.entities.candidates import Source
from pipeline.entities.features import Extractor, FeatureTable, FoldedKeyCounts, KeyCounts
from pipeline.entities.features.extract import ALL, gold_keys, static_features, with_fitted
from pipeline.entities.features.stored_rows import map_rows, row_file
from pipeline.entities.pruning import Pruner, pruning_matrix
from pipeline.entities.relevance import ArticlePairs, article_pairs, with_relevance
from pipeline.errors import DataError
from pipeline.runtime.folder_load import FolderLoad
from pipeline.runtime.parallel import ChunkMap, map_chunks
from pipeline.schema import Article
from pipeline.text import Document, default_segmenter
from pipeline.text.dictionary import Matcher, load_dictionary
from pipeline.text.simplify import to_simplified
from pipeline.text.spans import ScoredSpan

logger = logging.getLogger(__name__)

CHUNK_SIZE = 32
MAX_COUNTED_ARTICLES = 2000
"""Articles in which names of the dictionary are counted, for the log."""
ALONE = 500
"""So many articles are worth a second process: each takes a second or two to start and to load."""
MAX_PRUNER_ARTICLES = 4000
"""Articles the pruner is fitted on: its few weights need no more."""

NO_COUNTS = KeyCounts(0, 0, 0, {})
"""Holds the place of what is not counted yet."""

Spans = Mapping[str, Sequence[ScoredSpan]]
"""The tagger's out-of-fold spans by newsId; None stands for a run without a tagger."""

Labelled = tuple[Article, int, Sequence[ScoredSpan] | None]
"""A training article, its fold, and its spans."""


def dictionary_path(config: CandidateConfig) -> Path | None:
    """Return the dictionary to use: the default one only where it exists (plain or .gz).

    Raises:
        DataError: a dictionary that was asked for does not exist.
    """
    if not config.dictionary:
        return None
    path = Path(config.dictionary)
    if config.dictionary == CandidateConfig().dictionary:
        return next((file for file in (path, path.with_name(path.name + ".gz")) if file.is_file()), None)
    if not path.is_file():
        raise DataError(f"{path}: no such dictionary file")
    return path


def _dictionary_names(path: Path, config: Config, articles: Sequence[Article]) -> list[str]:
    """Return the names of the dictionary, and log how many there are and how many occur."""
    options = config.candidates
    convert: Callable[[str], str] = to_simplified if config.text.to_simplified else str
    found = load_dictionary(path, min_chars=options.min_name_chars, max_chars=options.max_chars, convert=convert)
    matcher, looked_at = Matcher(found.keys), articles[:MAX_COUNTED_ARTICLES]
    seen: set[str] = set()
    for article in looked_at:
        text = Document.of(article).text
        seen.update(text[start:stop] for start, stop in matcher.find(text))
    first = f"the first {len(looked_at):,}" if len(looked_at) < len(articles) else f"the {len(articles):,}"
    logger.info("%s: %s; %s of them occur in %s training articles", path, found.summary(), f"{len(seen):,}", first)
    return found.keys


def fit_extractor(
    articles: Sequence[Article],
    folds: Mapping[str, int],
    config: Config,
    folder: Path,
    *,
    spans: Spans | None = None,
    chunk_map: ChunkMap = map_chunks,
) -> Extractor:
    """Read the dictionary, gather gold names by fold, fit the pruners, and save all of it to ``folder``.

    ``chunk_map`` runs the work over articles, here and below; what is found does not depend on it.

    Raises:
        DataError: the dictionary cannot be read.
    """
    options = config.candidates
    path = dictionary_path(options)
    names: dict[str, set[int]] = {}
    for article in articles if options.use_gold_names else ():
        for key in gold_keys(article):
            names.setdefault(key, set()).add(folds[article.news_id])
    extractor = Extractor(
        options,
        segmenter=default_segmenter(),
        dictionary=_dictionary_names(path, config, articles) if path else [],
        gold_names={name: sorted(names[name]) for name in sorted(names)},
    )
    extractor.save(folder)  # the workers load it from there
    extractor.pruners = _fit_pruners(articles, folds, config, folder, spans, chunk_map)
    extractor.save(folder)
    return extractor


def _fit_pruners(
    articles: Sequence[Article],
    folds: Mapping[str, int],
    config: Config,
    folder: Path,
    spans: Spans | None,
    chunk_map: ChunkMap,
) -> dict[str, Pruner]:
    chosen = sorted(articles, key=lambda article: article.news_id)
    if len(chosen) > MAX_PRUNER_ARTICLES:
        chosen = random.Random(config.seed).sample(chosen, MAX_PRUNER_ARTICLES)
    rows = list(_map_articles(_pruning_rows, chosen, folds, config, folder, spans, "pruning", chunk_map))
    pruners = {}
    for held_out in [None, *range(config.n_folds)]:
        kept = [row for article, row in zip(chosen, rows, strict=True) if folds[article.news_id] != held_out]
        kept = [row for row in kept if len(row[1])]
        pruners[ALL if held_out is None else str(held_out)] = Pruner.fit(
            [matrix for matrix, _ in kept], [label for _, label in kept]
        )
    return pruners


def build_table(
    articles: Sequence[Article],
    folds: Mapping[str, int],
    config: Config,
    folder: Path,
    *,
    store: Path,
    spans: Spans | None = None,
    relevance: Sequence[np.ndarray] | None = None,
    chunk_map: ChunkMap = map_chunks,
) -> tuple[FeatureTable, KeyCounts]:
    """Describe every training article; fitted columns leave the article's fold out.

    ``relevance`` holds out-of-fold scores of each article's candidates, as ``build_pairs`` orders them. The rows are
    written to the folder ``store`` as they come; the table maps them into memory.

    Returns:
        The table, in the order of ``articles``, and the counts of keys over all articles.
    """
    rows = _map_articles(_feature_row, articles, folds, config, folder, spans, "features", chunk_map)
    widened = partial(_widened, smoothing=config.rerank.hit_rate_smoothing)
    counted, one_of = FoldedKeyCounts(), _OneOf()
    static: list[str] = []
    names: list[str] = []
    keys, firsts, n_gold = [], [], []
    with row_file(store) as file:
        for index, (article, row) in enumerate(zip(articles, rows, strict=True)):
            gold, scores = gold_keys(article), None if relevance is None else relevance[index]
            counted.add(folds[article.news_id], map(one_of, row.offered), gold)
            keys.append([one_of(key) for key in row.keys])
            firsts.append(row.firsts)
            n_gold.append(len(gold))
            static = row.names
            names, matrix = widened(static, row.matrix, row.keys, NO_COUNTS, scores)
            file.add(matrix, np.array([key in gold for key in row.keys], dtype=np.float32))
    # What others say of a key is known now that all are counted.
    matrix, labels = map_rows(store, writable=True)
    parts = _parts(keys)
    for fold in range(config.n_folds):
        counts = counted.without(fold)
        for index, article in enumerate(articles):
            if folds[article.news_id] == fold:
                scores = None if relevance is None else relevance[index]
                part = matrix[parts[index]]
                part[:] = widened(static, part[:, : len(static)], keys[index], counts, scores)[1]
    matrix, labels = map_rows(store)
    table = FeatureTable(
        names=names,
        news_ids=[article.news_id for article in articles],
        keys=keys,
        firsts=firsts,
        matrices=[matrix[part] for part in parts],
        labels=[labels[part] for part in parts],
        n_gold=n_gold,
        stored=store,
    )
    return table, counted.without(None)


class _OneOf(dict[str, str]):
    """Gives equal keys as one object: most of those of an article are also in others."""

    def __call__(self, key: str) -> str:
        return self.setdefault(key, key)


def _widened(
    names: Sequence[str],
    matrix: np.ndarray,
    keys: Sequence[str],
    counts: KeyCounts,
    scores: np.ndarray | None,
    *,
    smoothing: float,
) -> tuple[list[str], np.ndarray]:
    """Append to the columns of an article what was fitted on others."""
    wider, full = with_fitted(names, matrix, keys, counts, smoothing)
    return (wider, full) if scores is None else with_relevance(wider, full, scores)


def _parts(keys: Sequence[Sequence[str]]) -> list[slice]:
    """Return where each article's candidates are among those of all."""
    stops = np.cumsum([len(each) for each in keys]).tolist()
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def build_pairs(
    articles: Sequence[Article],
    folds: Mapping[str, int],
    config: Config,
    folder: Path,
    *,
    spans: Spans | None = None,
    chunk_map: ChunkMap = map_chunks,
) -> list[ArticlePairs]:
    """Pair each training article's title with its pruned candidates, those of ``build_table``."""
    work = partial(_pairs_row, config.relevance)
    return list(_map_articles(work, articles, folds, config, folder, spans, "pairs", chunk_map))


def _map_articles(
    work: Any,
    articles: Sequence[Article],
    folds: Mapping[str, int],
    config: Config,
    folder: Path,
    spans: Spans | None,
    label: str,
    chunk_map: ChunkMap,
) -> Iterator[Any]:
    items = [
        (article, folds[article.news_id], None if spans is None else spans[article.news_id]) for article in articles
    ]
    results = chunk_map(
        work,
        items,
        load=FolderLoad(Extractor.load, folder),
        workers=config.workers,
        chunk_size=CHUNK_SIZE,
        alone=ALONE,
    )
    yield from tqdm(results, total=len(items), desc=label, unit="article", disable=None)


def _pruning_rows(extractor: Extractor, chunk: list[Labelled]) -> list[tuple[np.ndarray, np.ndarray]]:
    rows = []
    for article, fold, spans in chunk:
        offered = extractor.candidates(article, fold, spans)
        gold = gold_keys(article)
        matrix = pruning_matrix(offered, extractor.segmenter)
        rows.append((matrix, np.array([key in gold for key in offered.keys], dtype=np.int8)))
    return rows


class _FeatureRow(NamedTuple):
    """One article's part of the table, before the fitted columns."""

    names: list[str]
    keys: list[str]
    offered: list[str]
    """Keys that would be kept if no gold name of other articles were known. Counting those that are kept would tell,
    through the articles of other folds, that the name is gold in this one: it is offered there, or escapes pruning or
    falls to it there, because it is."""
    firsts: np.ndarray
    matrix: np.ndarray


def _feature_row(extractor: Extractor, chunk: list[Labelled]) -> list[_FeatureRow]:
    rows = []
    for article, fold, spans in chunk:
        found = extractor.candidates(article, fold, spans)
        kept = extractor.keep(found, fold)
        features = static_features(kept, extractor.segmenter)
        offered = extractor.keep(found.without(Source.GOLD), fold).keys
        rows.append(_FeatureRow(features.names, kept.keys, offered, kept.firsts, features.matrix))
    return rows


def _pairs_row(config: RelevanceConfig, extractor: Extractor, chunk: list[Labelled]) -> list[ArticlePairs]:
    pruned = [(article, extractor.pruned(article, fold, spans)) for article, fold, spans in chunk]
    return [article_pairs(kept, config, gold=gold_keys(article)) for article, kept in pruned]

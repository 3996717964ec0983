"""From an article to its pruned candidates and their features; loaded from a run folder in every worker."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json, unpack_file
from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateGenerator, CandidateSet
from pipeline.entities.features.context import Columns, FeatureContext
from pipeline.entities.features.fitted import hit_rate, idf
from pipeline.entities.features.groups import GROUPS
from pipeline.entities.features.statistics import KeyCounts
from pipeline.entities.pruning import Pruner
from pipeline.entities.tagging import tagger_keys
from pipeline.errors import ArtifactError, ConfigError
from pipeline.schema import Article
from pipeline.text import Document, Segmenter, default_segmenter, match_key
from pipeline.text.dictionary import MAX_NAMES, Matcher
from pipeline.text.spans import ScoredSpan

ALL = "all"
"""Key of what was fitted on every training article, beside the folds "0", "1" ..."""


@dataclass(frozen=True)
class ArticleFeatures:
    """One article's candidates with the columns that need no other article."""

    candidates: CandidateSet
    names: list[str]
    matrix: np.ndarray
    """float32 (n_candidates, n_features)."""


@dataclass(frozen=True)
class FeatureTable:
    """Features of many articles, one entry of each list per article."""

    names: list[str]
    news_ids: list[str]
    keys: list[list[str]]
    firsts: list[np.ndarray]
    """First position of each candidate in its article."""
    matrices: list[np.ndarray]
    labels: list[np.ndarray]
    """1 where the candidate is a gold entity."""
    n_gold: list[int]
    """Gold entities of each article, found among the candidates or not."""
    stored: Path | None = None
    """Folder of the ``StoredRows`` that matrices and labels are parts of, where they are."""

    def in_memory(self) -> FeatureTable:
        """Return the table apart from the files that it is stored in."""
        copies = [[part.copy() for part in parts] for parts in (self.matrices, self.labels)]
        return replace(self, matrices=copies[0], labels=copies[1], stored=None)

    def select(self, rows: Iterable[int]) -> FeatureTable:
        """Return the table of some of the articles; they are not all that is stored."""
        chosen = list(rows)
        parts = (self.news_ids, self.keys, self.firsts, self.matrices, self.labels, self.n_gold)
        return FeatureTable(self.names, *([part[row] for row in chosen] for part in parts))  # type: ignore[arg-type]


def gold_keys(article: Article) -> set[str]:
    """Return the gold entities of an article as match keys."""
    return {match_key(entity.name) for entity in article.entities or ()} - {""}


def static_features(candidates: CandidateSet, segmenter: Segmenter) -> ArticleFeatures:
    """Compute the columns that read the article alone. NaN means "does not apply"; there are no infinities."""
    context = FeatureContext(candidates, segmenter)
    columns = {f"{group.__name__}.{name}": column for group in GROUPS for name, column in group(context).items()}
    return ArticleFeatures(candidates, list(columns), _matrix(columns, len(candidates)))


def with_fitted(
    names: Sequence[str], matrix: np.ndarray, keys: Sequence[str], counts: KeyCounts, smoothing: float
) -> tuple[list[str], np.ndarray]:
    """Append the columns that were fitted on other articles; return all names and the wider matrix."""
    tf = matrix[:, list(names).index("counts.tf")].astype(np.float64)
    groups = {"idf": idf(keys, tf, counts), "hit_rate": hit_rate(keys, counts, smoothing)}
    columns = {f"{group}.{name}": column for group, members in groups.items() for name, column in members.items()}
    return [*names, *columns], np.hstack([matrix, _matrix(columns, len(keys))])


def _matrix(columns: Columns, n_rows: int) -> np.ndarray:
    matrix = np.empty((n_rows, len(columns)), dtype=np.float32)
    for index, column in enumerate(columns.values()):
        matrix[:, index] = column
    return matrix


class Extractor:
    """Offers, prunes and describes candidates.

    For a training article everything fitted on labels leaves the article's own fold out; for a new
    article (``fold=None``) it rests on all training articles.

    Args:
        config: bounds on candidates.
        segmenter: word segmentation.
        dictionary: normalised names of the entity dictionary.
        gold_names: gold entities of the training articles with the folds they come from.
        pruners: the pruner of each fold, and of all, by "0", "1" ..., "all"; empty before they are fitted.
    """

    def __init__(
        self,
        config: CandidateConfig,
        *,
        segmenter: Segmenter,
        dictionary: Sequence[str],
        gold_names: Mapping[str, Sequence[int]],
        pruners: Mapping[str, Pruner] | None = None,
    ) -> None:
        self.config = config
        self.segmenter = segmenter
        self.dictionary = dictionary
        self.gold_names = gold_names
        self.pruners = dict(pruners or {})
        self._dictionary = Matcher(dictionary) if dictionary else None
        self._generators: dict[int | None, CandidateGenerator] = {}

    def candidates(
        self,
        article: Article,
        fold: int | None = None,
        spans: Sequence[ScoredSpan] | None = None,
        document: Document | None = None,
    ) -> CandidateSet:
        """Return every candidate of an article, unpruned.

        Args:
            article: the article.
            fold: of a training article.
            spans: the tagger's, in a run with a tagger.
            document: the normalised article, where there is one already.
        """
        if fold not in self._generators:
            names = [name for name, folds in self.gold_names.items() if any(other != fold for other in folds)]
            self._generators[fold] = CandidateGenerator(
                self.config,
                segmenter=self.segmenter,
                dictionary=self._dictionary,
                gold_names=Matcher(names) if names else None,
            )
        document = document or Document.of(article)
        found = self._generators[fold].generate(document, tagger_keys(document, spans or ()))
        return replace(found, tagged=spans)

    def pruned(
        self, article: Article, fold: int | None = None, spans: Sequence[ScoredSpan] | None = None
    ) -> CandidateSet:
        """Return the candidates of an article that the pruner keeps."""
        return self.keep(self.candidates(article, fold, spans), fold)

    def describe(self, offered: CandidateSet) -> ArticleFeatures:
        """Prune the candidates of a new article, and describe those that are left."""
        return static_features(self.keep(offered), self.segmenter)

    def keep(self, offered: CandidateSet, fold: int | None = None) -> CandidateSet:
        """Prune the candidates of an article."""
        pruner = self.pruners[ALL if fold is None else str(fold)]
        return pruner.keep(offered, self.segmenter, self.config.max_candidates)

    def save(self, folder: Path) -> None:
        """Write everything ``load`` needs."""
        listing = "".join(f"{name}\n" for name in self.dictionary)
        atomic_write_bytes(folder / "dictionary.txt.gz", gzip.compress(listing.encode(), 6, mtime=0))
        settings = {"segmenter": self.segmenter.name, "candidates": asdict(self.config)}
        atomic_write_json(folder / "settings.json", settings)
        atomic_write_json(folder / "gold_names.json", {name: list(folds) for name, folds in self.gold_names.items()})
        atomic_write_json(folder / "pruners.json", {name: pruner.to_dict() for name, pruner in self.pruners.items()})

    @classmethod
    def load(cls, folder: Path) -> Extractor:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged, or was made with another segmentation.
        """
        path, segmenter = folder / "settings.json", default_segmenter()
        settings = read_json(path)
        try:
            found, config = settings["segmenter"], CandidateConfig(**settings["candidates"])
        except (KeyError, TypeError, ConfigError) as error:
            raise ArtifactError(f"{path}: not the settings of candidates ({error})") from error
        if found != segmenter.name:
            raise ArtifactError(f"{path}: the run was trained with {found}, this machine has {segmenter.name}")
        return cls(
            config,
            segmenter=segmenter,
            dictionary=_read_listing(folder / "dictionary.txt.gz"),
            gold_names=_read_gold_names(folder / "gold_names.json"),
            pruners=_read_pruners(folder / "pruners.json"),
        )


def _read_listing(path: Path) -> list[str]:
    """Return names that lie one to a line."""
    content = unpack_file(path)
    if content.count(b"\n") > MAX_NAMES:
        raise ArtifactError(f"{path}: more than {MAX_NAMES:,} names, which memory may not hold")
    try:
        return content.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path}: not UTF-8 at byte {error.start}") from error


def _read_gold_names(path: Path) -> dict[str, list[int]]:
    names = read_json(path)
    if not isinstance(names, dict) or not all(
        isinstance(folds, list) and all(isinstance(fold, int) for fold in folds) for folds in names.values()
    ):
        raise ArtifactError(f"{path}: want names, each with a list of folds")
    return names


def _read_pruners(path: Path) -> dict[str, Pruner]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ArtifactError(f"{path}: want pruners by their folds")
    try:
        pruners = {name: Pruner.from_dict(weights) for name, weights in content.items()}
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{path}: not a pruner ({error})") from error
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error.message}") from error
    return pruners


def save_counts(folder: Path, counts: KeyCounts) -> None:
    """Write the counts of keys over all training articles."""
    atomic_write_bytes(
        folder / "key_counts.json.gz",
        gzip.compress(json.dumps(counts.to_dict(), ensure_ascii=False).encode(), 6, mtime=0),
    )


def load_counts(folder: Path) -> KeyCounts:
    """Read the counts of keys.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    path = folder / "key_counts.json.gz"
    try:
        return KeyCounts.from_dict(json.loads(unpack_file(path)))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read as counts of keys: {error}") from error

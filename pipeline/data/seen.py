"""Which texts a model was trained on, as hashes: rows that it knows are told wherever it meets them again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.errors import ArtifactError
from pipeline.schema import Article
from pipeline.text import match_key, normalise

logger = logging.getLogger(__name__)

SEEN = "seen.json"
"""Name of the file in the folder of a model."""
N_BYTES = 8
TRAINING = "a training row"
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class SeenTexts:
    """A set of texts of which hashes are kept; each is given in the form of ``text_key`` and the like."""

    hashes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, keys: Iterable[str]) -> SeenTexts:
        """Take in texts; blank ones are left out."""
        return cls(frozenset(_hash(key) for key in keys if key.strip()))

    def __contains__(self, key: str) -> bool:
        return bool(self) and _hash(key) in self.hashes

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def __or__(self, other: SeenTexts) -> SeenTexts:
        return SeenTexts(self.hashes | other.hashes)

    def save(self, folder: Path) -> None:
        """Write the hashes, in order."""
        atomic_write_json(folder / SEEN, sorted(self.hashes))

    @classmethod
    def load(cls, folder: Path) -> SeenTexts:
        """Read what ``save`` wrote; nothing for a model of before, which has no such file.

        Raises:
            ArtifactError: the file is damaged.
        """
        path = folder / SEEN
        if not path.is_file():
            return cls()
        hashes = read_json(path)
        if not isinstance(hashes, list) or not all(isinstance(item, str) for item in hashes):
            raise ArtifactError(f"{path}: damaged, holds no list of hashes")
        return cls(frozenset(hashes))


class SeenRows:
    """Counts the rows whose text was seen, and tells it in one line.

    Args:
        seen: the texts.
        where: file of the rows, for the line.
        rows: what they are called in it.
        whose: rows that have these texts.
    """

    def __init__(self, seen: SeenTexts, where: object = "", *, rows: str = "rows", whose: str = TRAINING) -> None:
        self._seen, self._where, self._rows, self._whose = seen, where, rows, whose
        self._n_rows = self._n_seen = 0

    def watch(self, rows: Iterable[Row], key: Callable[[Row], str]) -> Iterator[Row]:
        """Yield the rows, and count them; after the last one what was found is told."""
        for row in rows:
            self._n_rows += 1
            self._n_seen += key(row) in self._seen
            yield row
        self.tell()

    def tell(self) -> None:
        """Warn where there are such rows, once."""
        if self._n_seen:
            place = f"{self._where}: " if self._where else ""
            found = f"{self._n_seen} of {self._n_rows} {self._rows}"
            logger.warning("%s%s have the text of %s; figures on such rows are too good", place, found, self._whose)
        self._n_seen = 0


def tell_seen(
    keys: Iterable[str], seen: SeenTexts, where: object = "", *, rows: str = "rows", whose: str = TRAINING
) -> None:
    """Warn of rows whose text was seen; see ``SeenRows``."""
    for _ in SeenRows(seen, where, rows=rows, whose=whose).watch(keys, str):
        pass


def text_key(text: str) -> str:
    """Return a text as its row is compared: normalised."""
    return normalise(text).text


def pair_key(left: str, right: str) -> str:
    """Return two texts as their pair is compared: in any order."""
    return "\n".join(sorted((match_key(left), match_key(right))))


def article_key(article: Article) -> str:
    """Return an article as it is compared: untouched, which is quick enough for any number of them."""
    return f"{article.title}\n{article.content}"


def _hash(key: str) -> str:
    return blake2b(key.encode("utf-8", "replace"), digest_size=N_BYTES).hexdigest()

"""Which texts a model was trained on, as hashes: so that a figure on rows it has seen is never taken for another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.errors import ArtifactError
from pipeline.text import normalise

N_BYTES = 8


@dataclass(frozen=True, slots=True)
class SeenTexts:
    """A set of normalised texts of which hashes are kept."""

    hashes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> SeenTexts:
        """Take in texts; blank ones are left out."""
        return cls(frozenset(_hash(text) for text in texts if text.strip()))

    def __contains__(self, text: str) -> bool:
        return bool(self.hashes) and _hash(text) in self.hashes

    def __or__(self, other: SeenTexts) -> SeenTexts:
        return SeenTexts(self.hashes | other.hashes)

    def save(self, path: Path) -> None:
        """Write the hashes, in order."""
        atomic_write_json(path, sorted(self.hashes))

    @classmethod
    def load(cls, path: Path) -> SeenTexts:
        """Read what ``save`` wrote; nothing for a model of before, which has no such file.

        Raises:
            ArtifactError: the file is damaged.
        """
        if not path.is_file():
            return cls()
        hashes = read_json(path)
        if not isinstance(hashes, list) or not all(isinstance(item, str) for item in hashes):
            raise ArtifactError(f"{path}: damaged, holds no list of hashes")
        return cls(frozenset(hashes))


def _hash(text: str) -> str:
    return blake2b(normalise(text).text.encode("utf-8", "replace"), digest_size=N_BYTES).hexdigest()

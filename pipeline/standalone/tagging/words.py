"""One label a word: rows as sequences of words, and the baselines of part-of-speech tagging."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.data.formats.tagging import RowKind, TagRow
from pipeline.data.formats.tagging.rules import PLAIN_NAME as WORD_FORM
from pipeline.errors import ArtifactError
from pipeline.nn.tokenisers import word_form
from pipeline.text.segment import Segmenter
from pipeline.text.spans import LabelledText, Span

__all__ = ["WORD_FORM", "WordBaseline", "as_words", "word_example"]


def word_example(row: TagRow) -> LabelledText:
    """Return a row of tokens as a tagger of words reads it; spans count words."""
    words = tuple(row.text[start:stop] for start, stop in row.tokens)
    return LabelledText("", tuple(Span(index, index + 1, tag) for index, tag in enumerate(row.tags)), words=words)


def as_words(row: TagRow) -> TagRow:
    """Return a row of tokens; one without is cut into words by jieba, blanks left out."""
    if row.tokens or row.kind in (RowKind.TOKENS, RowKind.COLUMNS):
        return row
    words = _segmenter().cut(row.text)
    places = [
        (start, start + len(form)) for form, start in zip(words.forms, words.starts, strict=False) if form.strip()
    ]
    if row.kind is RowKind.TABLE:
        return replace(row, tokens=tuple(places))
    source = {key: value for key, value in row.source.items() if key != "entities"}
    forms = [row.text[start:stop] for start, stop in places]
    return replace(row, kind=RowKind.TOKENS, source={**source, "tokens": forms}, tokens=tuple(places))


@dataclass(frozen=True, slots=True)
class WordBaseline:
    """The commonest tag of each word of the training rows; of other words, the commonest of all."""

    majority: str
    tag_of: Mapping[str, str]

    @classmethod
    def of(cls, texts: Iterable[LabelledText]) -> WordBaseline:
        """Count the tags of words; at a tie the first in order counts."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for text in texts:
            for span in text.spans:
                counts[word_form(text.words[span.start])][span.label] += 1
        total = sum(counts.values(), Counter())
        return cls(_commonest(total), {word: _commonest(tags) for word, tags in sorted(counts.items())})

    def accuracies(self, rows: Sequence[TagRow]) -> dict[str, float | None]:
        """Return the accuracy of "majority" and "most_frequent_tag" on labelled rows; None without tokens."""
        gold = [tag for row in rows for tag in row.tags]
        if not gold:
            return {"majority": None, "most_frequent_tag": None}
        words = [word_form(row.text[start:stop]) for row in rows for start, stop in row.tokens]
        right = sum(self.tag_of.get(word, self.majority) == tag for word, tag in zip(words, gold, strict=True))
        return {"majority": gold.count(self.majority) / len(gold), "most_frequent_tag": right / len(gold)}

    def save(self, path: Path) -> None:
        """Write the tags as JSON."""
        atomic_write_json(path, {"majority": self.majority, "words": dict(self.tag_of)})

    @classmethod
    def load(cls, path: Path) -> WordBaseline:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: the file is missing or damaged.
        """
        values = read_json(path)
        if not isinstance(values, dict) or not isinstance(values.get("words"), dict) or "majority" not in values:
            raise ArtifactError(f"{path}: damaged, holds no tags of words")
        return cls(values["majority"], values["words"])


def _commonest(tags: Counter[str]) -> str:
    return min(tags, key=lambda tag: (-tags[tag], tag))


@lru_cache(maxsize=1)
def _segmenter() -> Segmenter:
    return Segmenter()

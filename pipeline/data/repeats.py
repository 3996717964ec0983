"""Rows that repeat the newsId of an earlier one: where they stand, and whether text and labels are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.artifacts import AnyFile
from pipeline.schema import Article

MAX_EXAMPLES = 20
"""Repeated rows that are kept; the others are counted."""
N_NAMED = 3
"""Of these, named in a warning."""


def distinct(articles: Iterable[Article]) -> list[Article]:
    """Return the articles without those that repeat an earlier newsId: the first counts, as in training."""
    found: dict[str, Article] = {}
    for article in articles:
        found.setdefault(article.news_id, article)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class RepeatedRow:
    """A row whose newsId an earlier one has; places are ``path:line``."""

    news_id: str
    place: str
    first: str
    same_text: bool
    same_labels: bool

    def __str__(self) -> str:
        what = ", another text" if not self.same_text else "" if self.same_labels else ", contradicting labels"
        return f"{self.news_id} at {self.place} (first at {self.first}{what})"


@dataclass
class RepeatedIds:
    """Takes in articles one by one; of each it keeps the id, its place and two hashes, and no text."""

    n_rows: int = 0
    """Rows that repeat an earlier newsId."""
    n_other_text: int = 0
    n_contradicting: int = 0
    """Rows with the same text and other labels."""
    examples: list[RepeatedRow] = field(default_factory=list)
    latest: RepeatedRow | None = None
    """What the article taken in last repeats."""
    _seen: dict[str, tuple[AnyFile, int, int, int]] = field(default_factory=dict, repr=False)

    def add(self, article: Article, path: AnyFile, line: int) -> None:
        """Take in the article of a line."""
        text = hash((article.title, article.content))
        labels = hash(None if article.entities is None else frozenset(article.entities))
        self.latest = None
        if article.news_id not in self._seen:
            self._seen[article.news_id] = (path, line, text, labels)
            return
        first = self._seen[article.news_id]
        row = RepeatedRow(
            article.news_id, f"{path}:{line}", f"{first[0]}:{first[1]}", text == first[2], labels == first[3]
        )
        self.latest = row
        self.n_rows += 1
        self.n_other_text += not row.same_text
        self.n_contradicting += row.same_text and not row.same_labels
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(row)

    def warning(self, consequence: str) -> str | None:
        """Return one line that counts the rows and names the first, None where there is none.

        Args:
            consequence: what becomes of these rows, as in "each is answered on its own line".
        """
        if not self.n_rows:
            return None
        kinds = {"with another text": self.n_other_text, "with contradicting labels": self.n_contradicting}
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
        named = "; ".join(map(str, self.examples[:N_NAMED]))
        more = f"; and {self.n_rows - N_NAMED} more" if self.n_rows > N_NAMED else ""
        head = f"{self.n_rows} row{'s repeat' if self.n_rows > 1 else ' repeats'} an earlier newsId"
        return f"{head}{f' ({told})' if told else ''}, {consequence}: {named}{more}"

"""One labelled example, whatever the row it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipeline.schema import Target


class RowKind(StrEnum):
    """The form of a file's rows."""

    DOCUMENT = "document"
    """``{"text", "label"}``: any labels."""
    TARGET = "target"
    """``{"text", "target", "from", "to", "polarity"}``: POS, NORM, NEG."""
    CATEGORY = "category"
    """``{"text", "category", "polarity"}``: the target is named, but need not occur in the text."""
    ARTICLE = "article"
    """``{"newsId", "title", "content", "coreEntityEmotions"}``: an example for each entity."""

    @property
    def has_targets(self) -> bool:
        """False where the whole text is what is judged."""
        return self is not RowKind.DOCUMENT


@dataclass(frozen=True, slots=True)
class SentimentRow:
    """An example and its class."""

    example: Target
    """Normalised; of a document nothing is marked. ``group`` ties examples of one text together."""
    label: str
    where: str
    """Where it stands, for messages: ``file:line``."""

"""Articles as a run reads them: in their own script, or as simplified text (``text.to_simplified``)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.config import Config
from pipeline.data.simplified import simplified
from pipeline.schema import Article


def as_read(articles: Sequence[Article], config: Config) -> list[Article]:
    """Return the articles as matching and models read them.

    Raises:
        ConfigError: OpenCC is needed and not installed.
    """
    return [simplified(article) if config.text.to_simplified else article for article in articles]

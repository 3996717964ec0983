"""Rows that heads learn from before the articles (``sentiment.transfer``)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from pipeline.config import SentimentConfig
from pipeline.data.near_duplicates import NearDuplicates
from pipeline.data.simplified import simplified_target
from pipeline.errors import DataError
from pipeline.schema import Article, Target
from pipeline.standalone.heads.rows import read_targets

logger = logging.getLogger(__name__)


def read_others(options: SentimentConfig, articles: Sequence[Article], *, simplify: bool = False) -> list[Target]:
    """Read the labelled targets of the files that ``options`` names.

    Those of a text that is, nearly, one of the articles are left out: a head that had learnt from it would know the
    labels of the fold it is measured on.

    Args:
        options: of stage two.
        articles: the training articles, as the run reads them.
        simplify: read the files as simplified text, as ``articles`` are.

    Raises:
        DataError: a file cannot be read or has rows without a target, or every text is one of the articles.
    """
    targets = read_targets(map(Path, options.transfer), max_context_chars=options.max_context_chars)
    if simplify:
        targets = list(map(simplified_target, targets))
    if not targets:
        return []
    texts = list(dict.fromkeys(target.document for target in targets))
    found = NearDuplicates()
    for article in articles:
        found.add(article.news_id, article.title, article.content)
    for number, text in enumerate(texts):
        found.add(f"other {number}", "", text)
    groups = found.groups()
    ours = set(groups[: len(articles)])
    repeated = {text for text, group in zip(texts, groups[len(articles) :], strict=True) if group in ours}
    kept = [target for target in targets if target.document not in repeated]
    if repeated:
        logger.warning("sentiment.transfer: %d texts are left out, they are training articles", len(repeated))
    if not kept:
        raise DataError(f"{options.transfer[0]}: every text is a training article (sentiment.transfer)")
    return kept

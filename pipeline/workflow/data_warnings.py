"""What is doubtful about the data of a training: too little of it, or articles to measure on that are trained on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pipeline.config import Config
from pipeline.data.folds import known_articles
from pipeline.data.read import align_gold
from pipeline.schema import EMOTIONS, Article
from pipeline.workflow.modes import StageSet

logger = logging.getLogger(__name__)

MIN_ARTICLES = 50
"""With fewer, thresholds and out-of-fold figures are mostly chance."""
MIN_MARKED_PER_FOLD = 20
"""Articles with a marked span that a tagger wants in each fold."""
N_NAMED = 5


def warn_of_data(articles: Sequence[Article], config: Config, dev: Sequence[Article] = ()) -> None:
    """Log one line for each doubt, with its numbers.

    Args:
        articles: trained on.
        config: options of the training.
        dev: the run is measured on.
    """
    for warning in little_data(articles, config):
        logger.warning("%s", warning)
    warn_of_known(articles, dev, "--dev")


def little_data(articles: Sequence[Article], config: Config) -> list[str]:
    """Return a line for each kind of data that there is too little of for what is asked."""
    n_folds, found = config.n_folds, []
    if len(articles) < MIN_ARTICLES:
        found.append(f"{len(articles)} articles to train on, fewer than {MIN_ARTICLES}: the figures say little")
    counts = Counter(entity.emotion for article in articles for entity in article.entities or ())
    if rare := [f"{counts[emotion]} {emotion}" for emotion in EMOTIONS if counts[emotion] < n_folds]:
        found.append(f"entities to learn emotions from: {', '.join(rare)}, fewer than the {n_folds} folds")
    parts = StageSet.of(config)
    wanted = MIN_MARKED_PER_FOLD * n_folds
    if parts.tagger or parts.joint:
        n_marked = sum(bool(align_gold(article)[0]) for article in articles)
        if n_marked < wanted:
            each = f"{MIN_MARKED_PER_FOLD} in each of {n_folds} folds"
            found.append(f"{n_marked} articles with an entity in their text, fewer than the tagger wants ({each})")
    return found


def warn_of_known(articles: Sequence[Article], others: Sequence[Article], option: str) -> None:
    """Warn of articles to measure on, which an option names, that are trained on or near-duplicates of one."""
    if known := known_articles(articles, others) if others else []:
        named = ", ".join(known[:N_NAMED]) + (", ..." if len(known) > N_NAMED else "")
        count = f"{len(known)} of {len(others)} articles of {option}"
        logger.warning("%s are trained on, or nearly the same as one: %s", count, named)

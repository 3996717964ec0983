"""Articles that a run cannot answer: each is found alone and gets an empty answer, so that none ends the run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, Self, TypeVar

from pipeline.errors import PipelineError
from pipeline.schema import Article

logger = logging.getLogger(__name__)

FAULT_OF_THE_RUN = 32
"""So many articles at once of which none can be answered: the run is to blame, not they."""

_NOT_SWALLOWED = (PipelineError, MemoryError, OSError, Warning)
"""Missing models, a full machine, and warnings where Python was asked to raise them."""


class Traced(Protocol):
    """What an article's answer must let be noted: a dataclass with these fields."""

    @property
    def article(self) -> Article:
        """What was answered."""
        ...

    @property
    def failure(self) -> str:
        """Why it could not be, "" where it could."""
        ...


Answer = TypeVar("Answer", bound=Traced)


def answer_each(
    work: Callable[[Sequence[Article]], list[Answer]], articles: Sequence[Article], *, strict: bool = False
) -> list[Answer]:
    """Answer articles together; where that fails, one by one, those that fail again as if they were empty.

    Args:
        work: answers articles; an article without text gets an answer without entities.
        articles: what to answer.
        strict: raise instead.

    Raises:
        PipelineError: an article cannot be answered and ``strict`` asks for it, or none of very many can.
    """
    try:
        return work(articles)
    except Exception as error:
        if not _is_of_an_article(error):
            raise
        if len(articles) == 1:
            return [_empty_answer(work, articles[0], error, strict=strict)]
        first = error
    answers = [answer for article in articles for answer in answer_each(work, [article], strict=strict)]
    if len(answers) >= FAULT_OF_THE_RUN and all(answer.failure for answer in answers):
        message = f"none of {len(answers)} articles can be answered, first {articles[0].news_id!r}: {_told(first)}"
        raise PipelineError(message) from first
    return answers


def _empty_answer(
    work: Callable[[Sequence[Article]], list[Answer]], article: Article, error: Exception, *, strict: bool
) -> Answer:
    if strict:
        raise PipelineError(
            f"article {article.news_id!r} cannot be answered: {_told(error)}",
            hint="without --strict its answer is empty",
        ) from error
    [answer] = work([replace(article, title="", content="")])
    return replace(answer, article=article, failure=_told(error))  # type: ignore[type-var]


def _is_of_an_article(error: Exception) -> bool:
    """Tell whether an error may come of what an article holds, rather than of the machine."""
    # torch says so of memory; it need not be imported for that.
    full = type(error).__name__ == "OutOfMemoryError" or "allocate memory" in str(error)
    return not (full or isinstance(error, _NOT_SWALLOWED))


def _told(error: Exception) -> str:
    """Return the kind of an error and the first line of what it says, shortened."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


class FailureLog:
    """Context manager that warns of each article without an answer at once, and of their number in the end."""

    def __init__(self) -> None:
        self.n_failed = 0

    def add(self, news_id: str, failure: str) -> None:
        """Warn of an article, if it has a failure."""
        if failure:
            self.n_failed += 1
            logger.warning("article %r cannot be answered, its answer is empty (%s)", news_id, failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.n_failed:
            logger.warning("articles that could not be answered: %d", self.n_failed)

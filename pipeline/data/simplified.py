"""Articles in traditional script as matching and models read them, and answers put back into the article's own script.

Conversion keeps lengths, so that a mention has the same place in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pipeline.schema import Article, ChosenEntity, Entity, Prediction, RunnerUp, Target
from pipeline.text.simplify import to_simplified


def simplified(article: Article) -> Article:
    """Convert the texts and the gold names of an article.

    Raises:
        ConfigError: OpenCC is not installed.
    """
    read = replace(article, title=to_simplified(article.title), content=to_simplified(article.content))
    if article.entities is None:
        return read
    names: dict[str, Entity] = {}
    for entity in article.entities:
        name = _name_in(entity.name, article, read)
        names.setdefault(name, Entity(name, entity.emotion))
    return replace(read, entities=tuple(names.values()))


def simplified_target(target: Target) -> Target:
    """Convert the texts and the name of a target.

    Raises:
        ConfigError: OpenCC is not installed.
    """
    text, name, document = map(to_simplified, (target.text, target.name, target.document))
    return replace(target, text=text, name=name, document=document)


def as_written(prediction: Prediction, read: Article, untouched: Article) -> Prediction:
    """Put an answer to ``read``, the converted article, back into slices of the untouched one."""
    entities: dict[str, ChosenEntity] = {}
    for entity in prediction.entities:
        name = _written(entity.name, read, untouched)
        mentions = tuple(
            replace(mention, surface=untouched.field(mention.field)[mention.start : mention.end])
            for mention in entity.mentions
        )
        entities.setdefault(name, replace(entity, name=name, mentions=mentions))
    others: dict[str, RunnerUp] = {}
    for other in prediction.runners_up:
        name = _written(other.name, read, untouched)
        if name not in entities:
            others.setdefault(name, RunnerUp(name, other.score))
    return replace(prediction, entities=tuple(entities.values()), runners_up=tuple(others.values()))


def _name_in(name: str, article: Article, read: Article) -> str:
    """Convert a gold name as its text is: a phrase around it may have settled a character otherwise."""
    alone = to_simplified(name)
    if alone in read.title or alone in read.content:
        return alone
    return next(_slices(name, of=article, from_=read), alone)


def _written(name: str, read: Article, untouched: Article) -> str:
    """Return the commonest spelling of a name of ``read`` in the untouched article, the earlier at a tie."""
    found = Counter(_slices(name, of=read, from_=untouched)).most_common(1)
    return found[0][0] if found else name


def _slices(name: str, *, of: Article, from_: Article) -> Iterator[str]:
    """Yield what one article has wherever the other one has a name."""
    for text, other in ((of.title, from_.title), (of.content, from_.content)):
        for found in re.finditer(re.escape(name), text):
            yield other[found.start() : found.end()]

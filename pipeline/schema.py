"""The values that travel through the pipeline. No input or output here, no models, no options."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Field = Literal["title", "content"]
"""A text field of an article."""

MAX_ENTITIES = 3
"""The competition's upper bound on entities per article."""


class Emotion(StrEnum):
    """How the article feels about an entity; the order is the order of every probability triple."""

    POS = "POS"
    NORM = "NORM"
    NEG = "NEG"


EMOTIONS: tuple[Emotion, ...] = tuple(Emotion)


def emotion_of(label: object) -> Emotion | None:
    """Return the emotion that a label of any file means, in whatever case and with blanks around it; None: none."""
    name = label.strip().upper() if isinstance(label, str) else None
    return next((emotion for emotion in EMOTIONS if emotion == name), None)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def news_id_fault(news_id: str) -> str | None:
    """Return what keeps a newsId from standing in a file, None where nothing does; readers and writers ask this."""
    if not news_id.strip():
        return "is empty"
    if "\t" in news_id or news_id.splitlines() != [news_id]:
        return "holds a tab or line break"
    if news_id.startswith("\ufeff"):
        return "starts with a byte order mark"
    if _LONE_SURROGATE.search(news_id):
        return "holds a lone surrogate"
    return None


def occurrence_keys(ids: Iterable[str]) -> Iterator[str]:
    """Yield a key for each newsId: the id itself, and from its second time on its number behind a tab (no id has one).

    So the k-th row of an id in one file stands beside its k-th row in another.
    """
    times: Counter[str] = Counter()
    for news_id in ids:
        times[news_id] += 1
        yield news_id if times[news_id] == 1 else f"{news_id}\t{times[news_id]}"


@dataclass(frozen=True, slots=True)
class Entity:
    """A name and the article's emotion toward it."""

    name: str
    emotion: Emotion


@dataclass(frozen=True, slots=True)
class Article:
    """One news item. ``entities`` is None where the row carries no labels (a test row).

    ``truncated`` marks rows of which only the first characters are known, so that a
    count of zero after the cut means "unknown", not "absent".
    """

    news_id: str
    title: str
    content: str
    entities: tuple[Entity, ...] | None = None
    truncated: bool = False

    def field(self, name: Field) -> str:
        """Return the untouched text of a field."""
        return self.title if name == "title" else self.content


@dataclass(frozen=True, slots=True)
class Mention:
    """One occurrence of an entity: code points ``[start, end)`` of the untouched field."""

    field: Field
    start: int
    end: int
    surface: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"mention [{self.start}, {self.end}) is empty or negative")
        if len(self.surface) != self.end - self.start:
            raise ValueError(f"surface {self.surface!r} does not fit [{self.start}, {self.end})")


@dataclass(frozen=True, slots=True)
class Target:
    """One training or prediction example of stage two: a text and the entity in focus.

    ``[start, stop)`` marks the target in ``text``; ``start == stop`` marks one that does not occur.
    """

    text: str
    """The context that is read: for news, normalised title and sentences that name the target."""
    start: int
    stop: int
    name: str
    """The target as it is written out; ``text[start:stop]`` is its normalised form."""
    emotion: Emotion | None = None
    group: str = ""
    """Id of the article (or text group) the example comes from; folds are cut by it."""
    mentions: tuple[tuple[int, int], ...] = ()
    """Every span of ``text`` that names the target, the marked one included."""
    document: str = ""
    """The whole text behind the context, where there is more; examples of one article share the string."""

    def __post_init__(self) -> None:
        for start, stop in ((self.start, self.stop), *self.mentions):
            if not 0 <= start <= stop <= len(self.text):
                raise ValueError(f"target [{start}, {stop}) lies outside its text")


@dataclass(frozen=True, slots=True)
class ChosenEntity:
    """An entity of the answer with the scores behind it.

    ``score`` is the reranker's calibrated probability, ``probs`` the emotion probabilities
    in the order of ``Emotion``; they sum to one.
    """

    name: str
    emotion: Emotion
    score: float
    probs: tuple[float, float, float]
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """A candidate that was not chosen, with its score."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer for one article: at most three entities, and the runners-up."""

    news_id: str
    entities: tuple[ChosenEntity, ...]
    runners_up: tuple[RunnerUp, ...] = ()

    def __post_init__(self) -> None:
        if len(self.entities) > MAX_ENTITIES:
            raise ValueError(f"{self.news_id}: {len(self.entities)} entities, at most {MAX_ENTITIES}")
        names = [entity.name for entity in self.entities]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.news_id}: an entity is repeated in {names}")

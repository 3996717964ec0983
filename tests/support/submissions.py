"""Upload files of any entities, written by what the command writes with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.schema import ChosenEntity, Entity, Prediction
from pipeline.submission import SubmissionWriter


class Answer(Prediction):
    """A prediction without the promises of one: it may hold any number of names, repeated ones too."""

    def __post_init__(self) -> None:
        pass


def write_answers(path: Path, order: Iterable[str], answers: Mapping[str, Sequence[Entity]]) -> None:
    """Write upload file and table: one line for each id in order, empty for an id without answer."""
    with SubmissionWriter(path) as writer:
        for news_id in order:
            entities = answers.get(news_id, ())
            chosen = (ChosenEntity(entity.name, entity.emotion, 0.5, (1.0, 0.0, 0.0)) for entity in entities)
            writer.write(Answer(news_id, tuple(chosen)))

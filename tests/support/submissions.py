"""Predictions, and upload files of any entities, written by what the command writes with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.schema import ChosenEntity, Emotion, Entity, Mention, Prediction, RunnerUp
from pipeline.submission import SubmissionWriter

POS, NORM, NEG = Emotion


def chosen(name: str, emotion: Emotion = POS, **extra: object) -> ChosenEntity:
    return ChosenEntity(name, emotion, score=0.5, probs=(0.6, 0.3, 0.1), **extra)


PREDICTIONS = [
    Prediction(
        "t1",
        (
            ChosenEntity("松果科技", POS, 0.91, (0.8, 0.15, 0.05), (Mention("title", 0, 4, "松果科技"),)),
            ChosenEntity('"云杉"计划', NEG, 1 / 3, (0.1, 0.2, 0.7)),
            ChosenEntity("Nova Pad, 2", NORM, 0.2, (0.2, 0.6, 0.2), (Mention("content", 7, 18, "Nova Pad, 2"),)),
        ),
        (RunnerUp("海棠路", 0.125),),
    ),
    Prediction("007", ()),
    Prediction(
        "t3", (ChosenEntity("NA", NORM, 0.25, (0.0, 1.0, 0.0)), ChosenEntity("null", POS, 0.2, (1.0, 0.0, 0.0)))
    ),
]


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


def write_all(path: Path, predictions: list[Prediction], *, details: Path | None = None) -> None:
    with SubmissionWriter(path, details=details) as writer:
        for prediction in predictions:
            writer.write(prediction)

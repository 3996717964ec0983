"""Details: an answer as one JSON object per line, with probabilities, mentions and runners-up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, ChosenEntity, Emotion, Mention, Prediction, RunnerUp
from pipeline.submission.clean import clean_names


def chosen_of(prediction: Prediction) -> list[tuple[str, ChosenEntity]]:
    """Return the entities that are written, each with its clean name."""
    kept = clean_names(entity.name for entity in prediction.entities).kept
    return [(name, prediction.entities[index]) for index, name in kept]


def details_line(prediction: Prediction, chosen: Sequence[tuple[str, ChosenEntity]]) -> str:
    """Return an article's line, its end included; ``chosen`` as ``chosen_of`` gives it."""

    def rounded(figure: float) -> float:
        return round(float(figure), 6)

    row: dict[str, Any] = {
        "newsId": prediction.news_id,
        "entities": [
            {
                "entity": name,
                "emotion": entity.emotion,
                "score": rounded(entity.score),
                "probs": {emotion: rounded(prob) for emotion, prob in zip(EMOTIONS, entity.probs, strict=True)},
                "mentions": [
                    {"field": mention.field, "start": mention.start, "end": mention.end, "surface": mention.surface}
                    for mention in entity.mentions
                ],
            }
            for name, entity in chosen
        ],
        "candidates": [
            {"entity": candidate.name, "score": rounded(candidate.score)} for candidate in prediction.runners_up
        ],
    }
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def read_details(row: dict[str, Any]) -> Prediction:
    """Return the prediction of a row of details; from it the writer makes the upload file and CSV it came with.

    Raises:
        DataError: the row is none of details; the message is the reason, without file and line.
    """
    try:
        if not isinstance(row["newsId"], str):
            raise TypeError("newsId is no text")
        return Prediction(
            row["newsId"],
            tuple(
                ChosenEntity(
                    entity["entity"],
                    Emotion(entity["emotion"]),
                    entity["score"],
                    (entity["probs"]["POS"], entity["probs"]["NORM"], entity["probs"]["NEG"]),
                    tuple(Mention(**mention) for mention in entity["mentions"]),
                )
                for entity in row["entities"]
            ),
            tuple(RunnerUp(candidate["entity"], candidate["score"]) for candidate in row["candidates"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"not an answer as predict writes it ({type(error).__name__}: {error})") from error

"""Stage two: members trained out-of-fold, measured side by side, and the best of them put to work."""

from __future__ import annotations

import logging
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pipeline.artifacts import StageTimer, atomic_write_json, read_json
from pipeline.config import Config
from pipeline.config.emotions import AND
from pipeline.emotions.sentiment.choice import best_row, contenders, measured, no_better, table_rows
from pipeline.emotions.sentiment.contexts import WeightedSpan, gold_emotions
from pipeline.emotions.sentiment.linear_training import COUNTS, LinearTraining, count_ngrams
from pipeline.emotions.sentiment.members import LINEAR, Attentive, Member, build_member
from pipeline.emotions.sentiment.order import ORDER, check_order
from pipeline.emotions.sentiment.scores import Probs, Scores, fit_temperature, mixture_weights, with_temperature
from pipeline.emotions.sentiment.training import MemberTraining, transfer
from pipeline.errors import ArtifactError
from pipeline.nn.encoders import STATES
from pipeline.registry import HEADS
from pipeline.runtime.fold_training import digest_of_list, train_folds
from pipeline.runtime.trainings import FOLDS, MODEL, TrainingMap, train_here
from pipeline.schema import EMOTIONS, Target

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

STATE = "stage.json"
PLACE = re.compile(rf"{MODEL}|(?:{FOLDS}/)?[0-9]+", re.ASCII)
"""Folder of a model in that of its member; runs of before 0.2.0 have their fold models beside each other."""
ENCODER = "encoder"
"""Folder of the frozen encoder that all heads read, kept once."""


class SentimentStage:
    """The emotion toward each target.

    ``fit`` trains every member over the same folds, calibrates its out-of-fold probabilities by one temperature, and
    chooses what predicts: the best of those that may answer (``contenders``). A member that stops early predicts by the
    average of its fold models, any other by one model fitted on all examples. In an average each member has the weight
    that makes the gold emotions likeliest out-of-fold.

    Learnt: ``table_``, the scores of each member and of the averages; ``chosen_``, the row that predicts;
    ``weights_``, of its members; ``oof_``, its out-of-fold probabilities with the examples' news_id, name, gold
    emotion and fold.

    Args:
        config: options of the run.
        log: file that gets a JSON line for each epoch of each head.
    """

    def __init__(self, config: Config, *, log: Path | None = None) -> None:
        self.config = config
        self.log = log

    def fit(
        self,
        examples: Sequence[Target],
        folds: Mapping[str, int],
        *,
        folder: Path,
        others: Sequence[Target] = (),
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train, measure and choose. The folder then holds the stage; what was trained before is not repeated.

        Args:
            examples: labelled targets.
            folds: the fold of each ``Target.group``, the same as in every other stage.
            folder: of the stage in the run.
            others: labelled targets of other data (``sentiment.transfer``): every head learns from them first, and
                goes on from there in each fold. They take no part in anything else.
            training_map: runs the trainings.
        """
        gold = gold_emotions(examples)
        fold_of = [folds[example.group] for example in examples]
        names = measured(self.config.sentiment)
        self._digest = digest_of_list(examples)
        self._counted = count_ngrams(examples, fold_of, names, folder=folder, workers=self.config.workers)
        trainings: dict[str, MemberTraining | LinearTraining] = {}
        probs: dict[str, Probs] = {}
        seconds: dict[str, float] = {}
        self.temperatures_: dict[str, float] = {}
        for name in names:
            with StageTimer() as timer:
                trainings[name] = self._training(name, examples, fold_of, others, folder / name)
                raw = self._train(
                    trainings[name], examples, fold_of, folder / name, training_map, final=self._is_sure(name)
                )
            self.temperatures_[name] = fit_temperature(raw, gold)
            probs[name] = with_temperature(raw, self.temperatures_[name])
            seconds[name] = timer.seconds
        self.table_: list[Scores] = []
        weights: dict[str, list[float]] = {}
        averages: dict[str, Probs] = {}
        for row in table_rows(self.config.sentiment):
            of_members = [probs[name] for name in row.split(AND)]
            weights[row] = mixture_weights(of_members, gold).tolist()
            averages[row] = average = np.average(of_members, axis=0, weights=weights[row])
            scores = Scores.of(row, average, gold, seconds=sum(seconds[name] for name in row.split(AND)))
            logger.info("emotion, out-of-fold: %s accuracy %.4f macro-F1 %.4f", row, scores.accuracy, scores.macro_f1)
            self.table_.append(scores)
        answers = best_row(self.table_, contenders(self.config.sentiment))
        if warning := no_better(answers, self.table_[0], n_examples=len(examples)):
            logger.warning("%s", warning)
        self.chosen_ = answers.member
        self.weights_ = weights[self.chosen_]
        self.oof_ = _oof_table(examples, averages[self.chosen_], fold_of)
        places: dict[str, list[str]] = {}
        for name in self.chosen_.split(AND):
            keeps = trainings[name].keeps_fold_models
            self._train(trainings[name], examples, fold_of, folder / name, training_map, final=not keeps)
            places[name] = [f"{FOLDS}/{fold}" for fold in sorted(set(fold_of))] if keeps else [MODEL]
        state = {
            "emotions": ORDER,
            "chosen": self.chosen_,
            "weights": self.weights_,
            "models": places,
            "temperatures": self.temperatures_,
            "table": [asdict(scores) for scores in self.table_],
        }
        atomic_write_json(folder / STATE, state)
        for large in (folder / ENCODER / STATES, folder / COUNTS):  # and of use to learning members alone
            shutil.rmtree(large, ignore_errors=True)
        self._restore(folder)
        return self

    def predict(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion, float64 (n_examples, n_emotions), rows in the examples' order."""
        if not examples:
            return np.zeros((0, len(EMOTIONS)))
        calibrated = [
            with_temperature(
                np.mean([model.predict_proba(examples) for model in models], axis=0), self.temperatures_[name]
            )
            for name, models in self.models_.items()
        ]
        average: Probs = np.average(calibrated, axis=0, weights=self.weights_)
        return average

    def attention(self, examples: Sequence[Target]) -> dict[str, list[list[WeightedSpan]]]:
        """Return what each head that predicts looked at: by its name a list of spans of each example's text.

        Weights are averaged over the fold models. Members without attention are left out.
        """
        found: dict[str, list[list[WeightedSpan]]] = {}
        for name, models in self.models_.items():
            looked = [model.attention(examples) for model in models if isinstance(model, Attentive)]
            weights = [of_model for of_model in looked if of_model is not None]
            if weights:
                found[name] = [_weighted_spans(np.mean(of_text, axis=0)) for of_text in zip(*weights, strict=True)]
        return found

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``fit`` wrote; ``config`` is that of the run.

        Raises:
            ArtifactError: a file is missing or unreadable.
        """
        stage = cls(config)
        stage._restore(folder)
        return stage

    def _restore(self, folder: Path) -> None:
        state: dict[str, Any] = read_json(folder / STATE)
        try:
            check_order(folder / STATE, state.get("emotions"))
            self.chosen_, self.temperatures_ = state["chosen"], state["temperatures"]
            self.table_ = [Scores(**scores) for scores in state["table"]]
            # Earlier runs count their models, and weigh members alike.
            places = state.get("models") or {
                name: [str(number) for number in range(count)] for name, count in state["n_models"].items()
            }
            self.weights_ = state.get("weights") or [1.0] * len(places)
            _check_state(self.chosen_, places, self.weights_, self.temperatures_)
            self.models_: dict[str, list[Member]] = {
                name: [
                    build_member(name, self.config, shared=folder / ENCODER).load(folder / name / place)
                    for place in of_member
                ]
                for name, of_member in places.items()
            }
        except (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, SafetensorError) as error:
            raise ArtifactError(f"{folder}: not a sentiment stage of this configuration ({error})") from error

    def _training(
        self, name: str, examples: Sequence[Target], fold_of: Sequence[int], others: Sequence[Target], folder: Path
    ) -> MemberTraining | LinearTraining:
        if name in LINEAR and self._counted:
            return LinearTraining.on(
                examples, name, self.config, digest=self._digest, folds=fold_of, counted=self._counted
            )
        start = None
        if others and name in HEADS:
            start = transfer(others, name, self.config, folder=folder, log=self.log)
        return MemberTraining.on(
            examples,
            name,
            self.config,
            digest=self._digest,
            folds=fold_of,
            start=start,
            shared=folder.parent / ENCODER,
            log=self.log,
        )

    def _train(
        self,
        training: MemberTraining | LinearTraining,
        examples: Sequence[Target],
        fold_of: Sequence[int],
        folder: Path,
        training_map: TrainingMap,
        *,
        final: bool,
    ) -> Probs:
        """Return the out-of-fold probabilities of a member; what was trained before is not trained again."""
        train = partial(
            train_folds,
            folds=fold_of,
            folder=folder,
            workers=self.config.workers,
            final=final,
            training_map=training_map,
        )
        if isinstance(training, LinearTraining):
            return np.array(train(training, range(len(examples))))
        return np.array(train(training, examples))

    def _is_sure(self, name: str) -> bool:
        """Tell whether a member's model on all examples is wanted whatever the figures say."""
        chosen = self.config.sentiment.choose.split(AND)
        return name in chosen and not build_member(name, self.config).stops_early


def _check_state(chosen: Any, places: Any, weights: Any, temperatures: Any) -> None:
    """Check what a stage says of its models, before any is read.

    Raises:
        ValueError: it cannot be what ``fit`` wrote: a place outside the stage, or numbers that are none.
    """
    if not isinstance(chosen, str) or not isinstance(places, dict) or [*places] != chosen.split(AND):
        raise ValueError(f"models of {chosen!r} wanted")
    for name, of_member in places.items():
        if not isinstance(of_member, list) or not of_member:
            raise ValueError(f"{name}: no models")
        for place in of_member:
            if not isinstance(place, str) or not PLACE.fullmatch(place):
                raise ValueError(f"{name}: {place!r} is no place of a model in this stage")
    scales = [temperatures[name] for name in places]
    if not all(_is_positive(value) for value in scales):
        raise ValueError("temperatures: want a positive number for each model")
    shares = [isinstance(weight, int | float) and 0 <= weight < math.inf for weight in weights]
    if len(shares) != len(places) or not all(shares) or not sum(weights):
        raise ValueError("weights: want a number for each model, not all of them 0")


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < math.inf


def _weighted_spans(weights: NDArray[np.float64]) -> list[WeightedSpan]:
    """Return the characters of a text that a model looked at."""
    return [WeightedSpan(int(place), int(place) + 1, float(weights[place])) for place in weights.nonzero()[0]]


def _oof_table(examples: Sequence[Target], probs: Probs, fold_of: Sequence[int]) -> pd.DataFrame:
    import pandas as pd  # prediction does without

    return pd.DataFrame(
        {
            "news_id": [example.group for example in examples],
            "name": [example.name for example in examples],
            **{f"p_{emotion.lower()}": probs[:, column] for column, emotion in enumerate(EMOTIONS)},
            "fold": fold_of,
            "gold": [emotion.value for emotion in gold_emotions(examples)],
        }
    )

"""Stage two: members trained out-of-fold, measured side by side, and the best of them put to work."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib.externals.loky import get_reusable_executor
from numpy.typing import NDArray
from safetensors import SafetensorError

from pipeline.artifacts import StageTimer, atomic_write_json, read_json
from pipeline.config import Config
from pipeline.data.folds import out_of_fold
from pipeline.emotions.sentiment.contexts import WeightedSpan, gold_emotions
from pipeline.emotions.sentiment.members import Attentive, Member, build_member
from pipeline.emotions.sentiment.scores import Probs, Scores, fit_temperature, mixture_weights, with_temperature
from pipeline.emotions.sentiment.training import MemberTraining, train_and_save, transfer
from pipeline.errors import ArtifactError
from pipeline.registry import HEADS
from pipeline.runtime.fold_training import MODEL
from pipeline.runtime.processes import side_by_side
from pipeline.schema import EMOTIONS, Target

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

AND = "+"
"""Joins the names of members whose probabilities are averaged."""
BASELINE = "majority"
"""Is always measured, so that the table shows what the others gain."""


class SentimentStage:
    """The emotion toward each target.

    ``fit`` trains every member over the same folds, calibrates its out-of-fold probabilities by one temperature, and
    chooses what predicts. A member that stops early predicts by the average of its fold models,
    any other by one model fitted on all examples. In an average each member has the weight that makes the gold
    emotions likeliest out-of-fold.

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
        self._saved: set[Path] = set()
        """Folders of models that were saved as soon as they were trained."""

    def fit(
        self,
        examples: Sequence[Target],
        folds: Mapping[str, int],
        *,
        folder: Path | None = None,
        others: Sequence[Target] = (),
    ) -> Self:
        """Train, measure and choose.

        Args:
            examples: labelled targets.
            folds: the fold of each ``Target.group``, the same as in every other stage.
            folder: of the stage in the run. Heads on an encoder take long: each of their trainings is saved there as
                soon as it is done, and not repeated when ``fit`` is called again with the same data and options.
            others: labelled targets of other data (``sentiment.transfer``): every head learns from them first, and
                goes on from there in each fold. They take no part in anything else. They need a folder.
        """
        if others and folder is None:
            raise ValueError("what heads learn from first is kept in the folder of the stage")
        gold = gold_emotions(examples)
        fold_of = [folds[example.group] for example in examples]
        probs: dict[str, Probs] = {}
        models: dict[str, list[Member]] = {}
        seconds: dict[str, float] = {}
        self.temperatures_: dict[str, float] = {}
        trainings: dict[str, MemberTraining] = {}
        for name in dict.fromkeys([BASELINE, *self.config.sentiment.members]):
            with StageTimer() as timer:
                trainings[name] = MemberTraining(name, self.config, log=self.log)
                if folder is not None and others and name in HEADS:
                    trainings[name] = transfer(trainings[name], others, folder / name)
                raw, models[name] = self._train(trainings[name], examples, fold_of, folder)
            self.temperatures_[name] = fit_temperature(raw, gold)
            probs[name] = with_temperature(raw, self.temperatures_[name])
            seconds[name] = timer.seconds
        self.table_: list[Scores] = []
        weights: dict[str, list[float]] = {}
        averages: dict[str, Probs] = {}
        for row in self._rows():
            of_members = [probs[name] for name in row.split(AND)]
            weights[row] = mixture_weights(of_members, gold).tolist()
            averages[row] = average = np.average(of_members, axis=0, weights=weights[row])
            scores = Scores.of(row, average, gold, seconds=sum(seconds[name] for name in row.split(AND)))
            logger.info("emotion, out-of-fold: %s accuracy %.4f macro-F1 %.4f", row, scores.accuracy, scores.macro_f1)
            self.table_.append(scores)
        self.chosen_ = self._choose()
        self.weights_ = weights[self.chosen_]
        self.oof_ = _oof_table(examples, averages[self.chosen_], fold_of)
        self.models_ = {name: models[name] or [trainings[name].fit(examples, None)] for name in self.chosen_.split(AND)}
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
            if looked and any(looked[0]):
                found[name] = [
                    [
                        WeightedSpan(spans[0].start, spans[0].stop, float(np.mean([span.weight for span in spans])))
                        for spans in zip(*of_models, strict=True)
                    ]
                    for of_models in zip(*looked, strict=True)
                ]
        return found

    def save(self, folder: Path) -> None:
        """Write the chosen members, each in a folder of its own, and the table."""
        places: dict[str, list[str]] = {}
        for name, models in self.models_.items():
            if folder / name / MODEL in self._saved:
                places[name] = [MODEL]
                continue
            places[name] = [str(number) for number in range(len(models))]
            for place, model in zip(places[name], models, strict=True):
                model.save(folder / name / place)
        state = {
            "chosen": self.chosen_,
            "weights": self.weights_,
            "models": places,
            "temperatures": self.temperatures_,
            "table": [asdict(scores) for scores in self.table_],
        }
        atomic_write_json(folder / "stage.json", state)

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``save`` wrote; ``config`` is that of the run.

        Raises:
            ArtifactError: a file is missing or unreadable.
        """
        state: dict[str, Any] = read_json(folder / "stage.json")
        stage = cls(config)
        try:
            stage.chosen_, stage.temperatures_ = state["chosen"], state["temperatures"]
            stage.table_ = [Scores(**scores) for scores in state["table"]]
            # Earlier runs count their models, and weigh members alike.
            places = state.get("models") or {
                name: [str(number) for number in range(count)] for name, count in state["n_models"].items()
            }
            stage.weights_ = state.get("weights") or [1.0] * len(places)
            stage.models_ = {
                name: [build_member(name, config).load(folder / name / place) for place in of_member]
                for name, of_member in places.items()
            }
        except (OSError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ArtifactError(f"{folder}: not a sentiment stage of this configuration ({error})") from error
        return stage

    def _train(
        self, training: MemberTraining, examples: Sequence[Target], fold_of: Sequence[int], folder: Path | None
    ) -> tuple[Probs, list[Member]]:
        """Return the out-of-fold probabilities of a member, and its models if those that predict are trained by now."""
        name, config = training.member, self.config
        keep = build_member(name, config).stops_early
        if folder is not None and name in HEADS and not keep:
            place = folder / name
            found = train_and_save(training, examples, fold_of, folder=place, workers=config.workers)
            self._saved.add(place / MODEL)
            return np.array(found), [build_member(name, config).load(place / MODEL)]
        workers = side_by_side(config.workers) if name in HEADS else config.workers
        if workers > 1:
            # Workers left over from lighter jobs would take what a member needs for a leak, and stop halfway.
            get_reusable_executor().shutdown(wait=True)
        oof = out_of_fold(
            examples,
            fold_of,
            fit=training.fit,
            apply=_apply,
            workers=workers,
            keep_models=keep,
            description=f"sentiment: {name}",
        )
        return np.array(oof.results), list(oof.models)

    def _rows(self) -> list[str]:
        """Name the rows of the table: each member, the average of all, and what the configuration asks for."""
        options = self.config.sentiment
        real = [name for name in options.members if name != BASELINE]
        averages = [AND.join(real)] if len(real) > 1 else []
        asked = [options.choose] if options.choose != "auto" else []
        return list(dict.fromkeys([BASELINE, *real, *averages, *asked]))

    def _choose(self) -> str:
        if self.config.sentiment.choose != "auto":
            return self.config.sentiment.choose
        return max(self.table_, key=lambda scores: scores.accuracy).member  # the first of equals


def _apply(member: Member, examples: Sequence[Target]) -> list[NDArray[np.float64]]:
    return list(member.predict_proba(examples))


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

"""The comparison of modes as a table, as JSON values, and as one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.metric import Difference

COLUMNS = {
    "entity_f1": "entity F1",
    "emotion_f1": "emotion F1",
    "score": "score",
    "candidate_recall": "candidate recall",
    "emotion_accuracy": "emotion accuracy on hits",
}
COSTS = ("training minutes", "articles per second")


@dataclass(frozen=True)
class ModeRow:
    """Figures of a mode, and how far each is above that of the base; none for the base itself."""

    values: Mapping[str, float]
    gains: Mapping[str, Difference]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, rounded to 6 places."""
        gains = {
            name: {"delta": round(gain.delta, 6), "interval_95": [round(gain.low, 6), round(gain.high, 6)]}
            for name, gain in self.gains.items()
        }
        return {**{name: round(value, 6) for name, value in self.values.items()}, "gain": gains}

    def cell(self, name: str) -> str:
        """Return a figure, with its gain and interval."""
        if name not in self.values:
            return "-"
        if name not in self.gains:
            return f"{self.values[name]:.4f}"
        gain = self.gains[name]
        return f"{self.values[name]:.4f} ({gain.delta:+.4f}, {gain.low:+.4f} to {gain.high:+.4f})"


@dataclass(frozen=True)
class Comparison:
    """Modes side by side; mappings are by mode."""

    base: str
    """The mode that the others are held against."""
    runs: Mapping[str, list[str]]
    n_train: int
    n_test: int
    out_of_fold: Mapping[str, ModeRow]
    test: Mapping[str, ModeRow]
    """Empty without a test file."""
    minutes: Mapping[str, float]
    articles_a_second: Mapping[str, float]

    @property
    def verdict(self) -> str:
        """What the scores allow to say: those out-of-fold, which rest on more articles, then those of the test file."""
        places = {f"{self.n_train} training articles, out-of-fold": self.out_of_fold}
        if self.test:
            places[f"{self.n_test} test articles"] = self.test
        sentences = []
        for where, rows in places.items():
            said = "; ".join(f"{mode} is {_judged(row.gains['score'])}" for mode, row in rows.items() if row.gains)
            sentences.append(f"By the score on {where}, against {self.base}: {said}.")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "base": self.base,
            "runs": dict(self.runs),
            "n_train": self.n_train,
            "n_test": self.n_test,
            "out_of_fold": {mode: row.to_dict() for mode, row in self.out_of_fold.items()},
            "test": {mode: row.to_dict() for mode, row in self.test.items()},
            "training_minutes": {mode: round(value, 3) for mode, value in self.minutes.items()},
            "articles_a_second": {mode: round(value, 3) for mode, value in self.articles_a_second.items()},
            "verdict": self.verdict,
        }

    def to_markdown(self) -> str:
        """Return the tables and the verdict."""
        n_runs = len(self.runs[self.base])
        intro = f"In brackets: difference to {self.base} and its 95 % interval (paired bootstrap over articles)."
        runs = f"{n_runs} run{'s' if n_runs > 1 else ''} of each mode."
        lines = [f"Out-of-fold, {self.n_train} training articles. {runs} {intro}", "", *self._table(self.out_of_fold)]
        if self.test:
            lines += ["", f"Test file, {self.n_test} articles.", "", *self._table(self.test)]
        return "\n".join([*lines, "", self.verdict])

    def _table(self, rows: Mapping[str, ModeRow]) -> list[str]:
        columns = {name: title for name, title in COLUMNS.items() if any(name in row.values for row in rows.values())}
        lines = [f"| {' | '.join(['mode', *columns.values(), *COSTS])} |", f"|{' --- |' * (len(columns) + 3)}"]
        for mode, row in rows.items():
            costs = (f"{self.minutes[mode]:.1f}", f"{self.articles_a_second[mode]:.1f}")
            lines.append(f"| {' | '.join([mode, *map(row.cell, columns), *costs])} |")
        return lines


def _judged(gain: Difference) -> str:
    interval = f"({gain.delta:+.4f}, 95 % interval {gain.low:+.4f} to {gain.high:+.4f})"
    if gain.low > 0:
        return f"better {interval}"
    if gain.high < 0:
        return f"worse {interval}"
    return f"not told apart {interval}"

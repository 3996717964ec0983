"""Results of single trainings of heads: a file that keeps them as they come, and the table over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.errors import ArtifactError
from pipeline.text.terminal import padded, shown

FORMAT = 1
"""Raised when what is kept changes, so that older results are computed again."""
MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class Attention:
    """Where a head looked in one text."""

    text: str
    weights: list[float]
    """Of each character."""
    target: tuple[int, int]
    gold: str
    answer: str


@dataclass(frozen=True, slots=True)
class HeadResult:
    """One head, trained with one seed and scored on the test rows."""

    head: str
    seed: int
    accuracy: float
    macro_f1: float
    f1: dict[str, float | None]
    """By class; None where neither gold nor the answers have it."""
    dev_accuracy: float | None = None
    """On the rows by which the epoch was chosen: for choices between options."""
    n_parameters: int = 0
    seconds: float = 0.0
    """Training and scoring."""
    attention: list[Attention] = field(default_factory=list)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> HeadResult:
        """Rebuild what ``asdict`` made."""
        seen = [Attention(**{**item, "target": tuple(item["target"])}) for item in values["attention"]]
        return cls(**{**values, "attention": seen})


class ResultFile:
    """Keeps results in a JSON file, written whole after each: whoever stops the work loses none.

    Args:
        path: read where it exists; it may hold results of other data and options, which stay. None keeps nothing.

    Raises:
        ArtifactError: the file is something else.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._content: dict[str, Any] = {"format": FORMAT, "comparisons": {}}
        if path is not None and path.exists():
            self._content = read_json(path)
            found = self._content.get("format") if isinstance(self._content, dict) else None
            if found != FORMAT or not isinstance(self._content.get("comparisons"), dict):
                raise ArtifactError(
                    f"{path}: holds no results of this version of 'compare heads'", hint="give another file name"
                )

    def results(self, key: str) -> dict[tuple[str, int], HeadResult]:
        """Return what is kept of one comparison, by head and seed.

        Raises:
            ArtifactError: the file is damaged.
        """
        try:
            kept = [HeadResult.from_dict(values) for values in self._entry(key)["results"]]
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"{self.path}: damaged results ({error})") from error
        return {(result.head, result.seed): result for result in kept}

    def describe(self, key: str, description: dict[str, Any]) -> None:
        """Say what the results of a comparison are about."""
        self._entry(key).update(description)

    def add(self, key: str, result: HeadResult) -> None:
        """Keep a result, in place of an older one of the same head and seed."""
        entry = self._entry(key)
        others = [old for old in entry["results"] if (old["head"], old["seed"]) != (result.head, result.seed)]
        entry["results"] = sorted([*others, asdict(result)], key=lambda kept: (kept["head"], kept["seed"]))
        self.write()

    def write(self) -> None:
        """Write the file."""
        if self.path is not None:
            atomic_write_json(self.path, self._content)

    def _entry(self, key: str) -> dict[str, Any]:
        entry: dict[str, Any] = self._content["comparisons"].setdefault(key, {"results": []})
        return entry


@dataclass(frozen=True, slots=True)
class HeadSummary:
    """One row of the table: the seeds of one head together."""

    head: str
    n_seeds: int
    accuracy: tuple[float, float]
    """Mean and standard deviation (of a sample; 0 for one seed)."""
    macro_f1: tuple[float, float]
    f1: dict[str, float | None]
    """Mean by class, over the seeds that have one."""
    dev_accuracy: float | None
    n_parameters: int
    seconds: float
    """Of one training, on average."""

    @classmethod
    def of(cls, results: Sequence[HeadResult]) -> HeadSummary:
        """Summarise the results of one head."""
        return cls(
            head=results[0].head,
            n_seeds=len(results),
            accuracy=_mean_and_deviation([result.accuracy for result in results]),
            macro_f1=_mean_and_deviation([result.macro_f1 for result in results]),
            f1={name: _mean_of_known([result.f1[name] for result in results]) for name in results[0].f1},
            dev_accuracy=_mean_of_known([result.dev_accuracy for result in results]),
            n_parameters=results[0].n_parameters,
            seconds=mean(result.seconds for result in results),
        )


def summarise(results: Sequence[HeadResult]) -> list[HeadSummary]:
    """Return a row for each head, in the order in which they first come."""
    heads = dict.fromkeys(result.head for result in results)
    return [HeadSummary.of([result for result in results if result.head == head]) for head in heads]


def text_table(summaries: Sequence[HeadSummary]) -> str:
    """Lay the table out for a terminal."""
    lines = _cells(summaries)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rows = [
        [padded(line[0], widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        for line in lines
    ]
    return "\n".join("  ".join(row).rstrip() for row in rows)


def markdown_table(summaries: Sequence[HeadSummary]) -> str:
    """Lay the table out as Markdown."""
    header, *rows = ([cell.replace("|", "\\|") for cell in line] for line in _cells(summaries))
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows)) + "\n"


def _cells(summaries: Sequence[HeadSummary]) -> list[list[str]]:
    classes = list(summaries[0].f1)
    header = ["head", "seeds", "accuracy", "macro-F1", *(f"F1 {shown(name)}" for name in classes)]
    lines = [[*header, "dev accuracy", "parameters", "seconds"]]
    for row in summaries:
        f1 = [_figure(row.f1[name]) for name in classes]
        spreads = [_spread(pair, row.n_seeds) for pair in (row.accuracy, row.macro_f1)]
        tail = [_figure(row.dev_accuracy), f"{row.n_parameters:,}", f"{row.seconds:.1f}"]
        lines.append([row.head, str(row.n_seeds), *spreads, *f1, *tail])
    return lines


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _spread(pair: tuple[float, float], n_seeds: int) -> str:
    return f"{pair[0]:.4f} ± {pair[1]:.4f}" if n_seeds > 1 else f"{pair[0]:.4f}"


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    return mean(values), stdev(values) if len(values) > 1 else 0.0

"""Options of the time that a training may take."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.checks import check_ranges, option


@dataclass
class BudgetConfig:
    """Sizes that a training chooses by itself, so that it fits a time."""

    minutes: float = option(0.0, low=0.0, high=1_000_000.0)
    """Minutes of training on this machine, with ``workers`` processes; 0: no bound. Before anything is trained the
    stages are tried on a few of the articles, and sizes are chosen so that all of it fits. Options that are given with
    ``--set`` or ``--config`` stay as they are. A run stores the sizes, and 0 here."""

    def __post_init__(self) -> None:
        check_ranges("budget", self)

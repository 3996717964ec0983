"""Progress of a training apart from articles: a JSON line an epoch, and a bar in a terminal or a line elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pipeline.runtime.epoch_log import EpochReport, JsonLinesLog

logger = logging.getLogger(__name__)


class EpochBar(JsonLinesLog):
    """Appends a JSON line per epoch, and shows it.

    Args:
        path: of the JSON lines.
        n_epochs: most epochs.
        figure: what the development figure is called; "" where there may be none.
    """

    def __init__(self, path: Path, *, n_epochs: int, figure: str = "") -> None:
        super().__init__(path)
        self._figure = figure
        self._bar = tqdm(total=n_epochs, desc="train", unit="epoch", disable=None)

    def __enter__(self) -> EpochBar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, report: EpochReport | Mapping[str, Any]) -> None:
        """Append and show a report."""
        super().__call__(report)
        if isinstance(report, EpochReport):
            figures = {"loss": f"{report.loss:.4f}"}
            if self._figure:
                figures[self._figure] = f"{report.figure:.4f}"
            self._bar.set_postfix(figures)
            self._bar.update()
            if self._bar.disable:
                said = ", ".join(f"{name} {value}" for name, value in figures.items())
                logger.info(
                    "epoch %d of at most %d: %s, %.0f s", report.epoch + 1, self._bar.total, said, report.seconds
                )

"""What a training of one model says while it runs: a line of JSON for each epoch, and a bar or a message."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pipeline.runtime.epoch_log import EpochReport, JsonLinesLog

logger = logging.getLogger(__name__)


class EpochLog(JsonLinesLog):
    """Appends a JSON line per epoch, and shows a bar in a terminal and a line elsewhere."""

    def __init__(self, path: Path, *, n_epochs: int) -> None:
        super().__init__(path)
        self._bar = tqdm(total=n_epochs, desc="train", unit="epoch", disable=None)

    def __enter__(self) -> EpochLog:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, report: EpochReport | Mapping[str, Any]) -> None:
        """Append a report, and move on."""
        super().__call__(report)
        if isinstance(report, EpochReport):
            self._bar.set_postfix(loss=f"{report.loss:.4f}")
            self._bar.update()
            if self._bar.disable:
                logger.info(
                    "epoch %d of %d: loss %.4f, %.0f s",
                    report.epoch + 1,
                    self._bar.total,
                    report.loss,
                    report.seconds,
                )

"""The training loop in two processes (gloo) against one process with batches of twice the size."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, distributed, nn

from pipeline.config import TrainingConfig
from pipeline.nn.loop import train
from pipeline.runtime.processes import end_process
from tests.support.paths import ROOT

N_EPOCHS, BATCH = 3, 4
TIMEOUT_S = 120


@dataclass
class Points:
    x: Tensor
    y: Tensor

    def to(self, device: torch.device) -> Points:
        return Points(self.x.to(device), self.y.to(device))


class Curve:
    """The same 32 points in every size of batch, shuffled anew in each epoch."""

    def __init__(self, batch_size: int, n_points: int = 32) -> None:
        self.batch_size, self.n_points = batch_size, n_points

    def __len__(self) -> int:
        return self.n_points // self.batch_size

    def epoch(self, number: int) -> Iterator[Points]:
        x = torch.randn(self.n_points, 2, generator=torch.Generator().manual_seed(number))
        for part in x.split(self.batch_size):
            yield Points(part, part.prod(1, keepdim=True))


def fit(batch_size: int, n_points: int = 32) -> dict[str, list[float]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    config = TrainingConfig(max_epochs=N_EPOCHS, learning_rate=0.05, warmup_fraction=0.2)
    reports = train(
        model,
        Curve(batch_size, n_points),
        loss=lambda network, batch: ((network(batch.x) - batch.y) ** 2).mean(),
        evaluate=None,
        config=config,
        seed=3,
    )
    losses = [report.loss for report in reports]
    return {"losses": losses, "weights": torch.cat([part.flatten() for part in model.parameters()]).tolist()}


def fit_in_processes(folder: Path, n_points: int) -> list[dict[str, list[float]]]:
    """Run this file in two processes, as a launcher does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder / f"{rank}.json"), str(n_points)],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank), "PYTHONPATH": path},
        )
        for rank in range(2)
    ]
    try:
        assert [process.wait(TIMEOUT_S) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.enable_socket
@pytest.mark.parametrize("n_points", [32, 36], ids=["even", "a batch left over"])
def test_two_processes_take_the_steps_of_one_with_twice_the_batch(tmp_path: Path, n_points: int) -> None:
    alone = fit(2 * BATCH, n_points=n_points)
    together = fit_in_processes(tmp_path, n_points)
    assert len(alone["losses"]) == N_EPOCHS
    assert alone["losses"][-1] < alone["losses"][0]
    assert together[0] == together[1]
    assert [(tmp_path / f"{rank}.left").read_text() for rank in range(2)] == ["True", "True"]
    for what, values in alone.items():
        assert together[0][what] == pytest.approx(values, abs=1e-5), what


if __name__ == "__main__":
    end = os._exit

    def note_and_end(code: int) -> None:
        Path(sys.argv[1]).with_suffix(".left").write_text(str(not distributed.is_initialized()))
        end(code)

    os._exit = note_and_end
    Path(sys.argv[1]).write_text(json.dumps(fit(BATCH, int(sys.argv[2]))))
    end_process(0)

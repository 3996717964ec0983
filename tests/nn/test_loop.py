from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState, PartialState
from torch import Tensor, nn

from pipeline.config import TrainingConfig
from pipeline.errors import ConfigError
from pipeline.nn.loop import emulates_bf16, in_bf16, one_thread, train, warmup_then_linear
from pipeline.runtime.epoch_log import EpochReport, JsonLinesLog


@dataclass
class Points:
    x: Tensor
    y: Tensor

    def to(self, device: torch.device) -> Points:
        return Points(self.x.to(device), self.y.to(device))


class Line:
    """Batches of points on y = 3 x."""

    def __len__(self) -> int:
        return 4

    def epoch(self, number: int) -> Iterator[Points]:
        rng = torch.Generator().manual_seed(number)
        for _ in range(4):
            x = torch.randn(8, 1, generator=rng)
            yield Points(x, 3 * x)


def squared_error(model: nn.Module, batch: Points) -> Tensor:
    return ((model(batch.x) - batch.y) ** 2).mean()


def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(1, 1)


def run(model: nn.Module, evaluate, *, seed: int = 1, **options) -> Iterator[EpochReport]:
    config = TrainingConfig(**{"max_epochs": 6, "learning_rate": 0.3, "weight_decay": 0.0, **options})
    return train(model, Line(), loss=squared_error, evaluate=evaluate, config=config, seed=seed)


def test_training_learns_the_line() -> None:
    model = linear()
    reports = list(run(model, lambda m: -abs(m.weight.item() - 3), max_epochs=25, patience=25))
    assert model.weight.item() == pytest.approx(3, abs=0.05)
    assert reports[-1].loss < reports[0].loss
    assert reports[-1].step == 4 * len(reports)


def test_best_state_comes_back_and_equal_figures_keep_the_earlier() -> None:
    model = linear()
    figures = iter([1.0, 5.0, 5.0, 2.0])
    weights = []

    def evaluate(network: nn.Module) -> float:
        weights.append(network.weight.item())
        return next(figures)

    reports = list(run(model, evaluate, max_epochs=4, patience=9))
    assert [report.is_best for report in reports] == [True, True, False, False]
    assert model.weight.item() == weights[1]
    assert not model.training


def test_training_stops_when_patience_is_spent() -> None:
    assert len(list(run(linear(), lambda _: 0.0, max_epochs=9, patience=2))) == 3


def test_an_interrupt_passes_through_and_leaves_the_best_state() -> None:
    model = linear()
    weights: list[float] = []

    def evaluate(network: nn.Module) -> float:
        weights.append(network.weight.item())
        if len(weights) == 3:
            raise KeyboardInterrupt
        return -len(weights)

    with pytest.raises(KeyboardInterrupt):
        list(run(model, evaluate))
    assert model.weight.item() == weights[0]
    assert not AcceleratorState._shared_state


def test_leaving_early_leaves_the_best_state_too() -> None:
    model = linear()
    reports = run(model, lambda m: m.weight.item())
    next(reports)
    weight = model.weight.item()
    reports.close()
    assert model.weight.item() == weight


def test_training_leaves_no_global_state() -> None:
    list(run(linear(), lambda _: 0.0, max_epochs=1))
    assert not AcceleratorState._shared_state
    assert not PartialState._shared_state


def test_same_seed_same_weights() -> None:
    def weight(seed: int) -> float:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Dropout(0.5), nn.Linear(1, 1))
        list(run(model, lambda m: 0.0, seed=seed, max_epochs=2))
        return model[1].weight.item()

    assert weight(1) == weight(1)
    assert weight(1) != weight(2)


@pytest.mark.parametrize(("max_grad_norm", "stands_still"), [(1.0, False), (1e-6, True)])
def test_gradients_are_clipped(max_grad_norm: float, stands_still: bool) -> None:
    # With an epsilon above the clipped gradients AdamW moves in proportion to them, which by default it does not.
    model = linear()
    before = model.weight.item()
    config = TrainingConfig(max_epochs=1, learning_rate=0.1, weight_decay=0.0, max_grad_norm=max_grad_norm)
    groups = [{"params": list(model.parameters()), "eps": 1.0}]
    arguments = {"loss": squared_error, "evaluate": None, "config": config, "seed": 1, "parameters": groups}
    list(train(model, Line(), **arguments))
    assert (abs(model.weight.item() - before) < 1e-5) is stands_still


@pytest.mark.parametrize(("accumulate", "n_steps"), [(1, 8), (3, 2), (4, 2)])
def test_batches_are_added_up_for_a_step(accumulate: int, n_steps: int) -> None:
    reports = list(run(linear(), lambda _: 0.0, max_epochs=2, patience=9, accumulate_batches=accumulate))
    assert reports[-1].step == n_steps


def test_more_batches_for_a_step_than_an_epoch_has_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"accumulate_batches=5 is more than the 4 batch\(es\) of an epoch"):
        next(run(linear(), lambda _: 0.0, accumulate_batches=5))
    assert not AcceleratorState._shared_state


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_ends_training_at_the_best_epoch(value: float) -> None:
    model, weights = linear(), []
    batches = iter([1.0] * 4 + [1.0, value, 1.0, 1.0])

    def loss(network: nn.Module, batch: Points) -> Tensor:
        return squared_error(network, batch) * next(batches)

    def evaluate(network: nn.Module) -> float:
        weights.append(network.weight.item())
        return 0.0

    config = TrainingConfig(max_epochs=3, learning_rate=0.3)
    with pytest.raises(ConfigError, match=r"the loss of epoch 2 is not finite \((nan|inf)\)"):
        list(train(model, Line(), loss=loss, evaluate=evaluate, config=config, seed=1))
    assert [model.weight.item()] == weights
    assert not AcceleratorState._shared_state


def test_learning_rate_rises_then_falls_to_zero() -> None:
    factor = warmup_then_linear(100, 0.1)
    values = [factor(step) for step in range(101)]
    assert values[:10] == sorted(values[:10])
    assert max(values) == 1.0
    assert values[10:] == sorted(values[10:], reverse=True)
    assert values[0] > 0
    assert values[100] == 0.0


@pytest.mark.parametrize("n_steps", [0, 1, 2])
def test_schedule_of_very_short_training_stays_in_range(n_steps: int) -> None:
    assert all(0 <= warmup_then_linear(n_steps, 1.0)(step) <= 1 for step in range(4))


def test_log_appends_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.jsonl"
    log = JsonLinesLog(path, member="松果", fold=2)
    for report in run(linear(), lambda _: 0.0, max_epochs=2):
        log(report)
    log({"step": 9})
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["member"] for line in lines] == ["松果"] * 3
    assert lines[1]["epoch"] == 1
    assert lines[1]["loss"] > 0
    assert lines[2]["step"] == 9


def test_one_thread_restores_the_number_of_threads() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Pretend to run on a processor of some capabilities."""

    def pretend(**capabilities: Any) -> None:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "x86_64", **capabilities})

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    emulates_bf16.cache_clear()
    yield pretend
    emulates_bf16.cache_clear()


@pytest.mark.parametrize(("capabilities", "is_fast"), [({"avx512_bf16": True}, True), ({"avx2": True}, False)])
def test_the_number_format_is_chosen_by_the_processor(
    processor: Callable[..., None], capabilities: dict[str, bool], is_fast: bool
) -> None:
    processor(avx512_f=True, **capabilities)
    assert in_bf16(TrainingConfig(mixed_precision="auto")) is is_fast
    assert in_bf16(TrainingConfig(mixed_precision="bf16"))
    assert not in_bf16(TrainingConfig())


def test_a_processor_that_cannot_do_bf16_says_so_once(
    processor: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    processor(avx2=True)
    assert not in_bf16(TrainingConfig(mixed_precision="bf16"))
    assert not in_bf16(TrainingConfig(mixed_precision="bf16"))
    assert caplog.messages == ["mixed_precision is bf16, which this processor cannot do: float32 is used"]


def test_other_processors_are_taken_at_the_word(processor: Callable[..., None]) -> None:
    processor(architecture="aarch64")
    assert in_bf16(TrainingConfig(mixed_precision="bf16"))

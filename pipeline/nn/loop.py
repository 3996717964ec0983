"""The one training loop: every network of the project is trained by ``train``."""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs, set_seed
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from pipeline.config import TrainingConfig
from pipeline.errors import ConfigError
from pipeline.runtime.epoch_log import EpochReport
from pipeline.runtime.processes import from_main, leave_group_at_exit

logger = logging.getLogger(__name__)


class Movable(Protocol):
    """A batch: anything that can be moved to a device."""

    def to(self, device: torch.device) -> Self:
        """Return the same batch on a device."""
        ...


B = TypeVar("B", bound=Movable)
B_co = TypeVar("B_co", bound=Movable, covariant=True)


class Batches(Protocol[B_co]):
    """Batches that can be gone through again, in another order each epoch."""

    def __len__(self) -> int:
        """Batches in an epoch."""
        ...

    def epoch(self, number: int) -> Iterator[B_co]:
        """Yield the batches of an epoch."""
        ...


def train(
    model: nn.Module,
    batches: Batches[B],
    *,
    loss: Callable[[nn.Module, B], Tensor],
    evaluate: Callable[[nn.Module], float] | None,
    config: TrainingConfig,
    seed: int,
    parameters: Iterable[dict[str, Any]] | None = None,
) -> Iterator[EpochReport]:
    """Train a model, one epoch for each item taken from the generator.

    However the generator ends (all epochs, early stop, an exception in the caller, Ctrl-C), the model
    is left in evaluation mode, on the CPU, with the state of its best epoch; equal figures keep the earlier.
    Batches left over at the very end, fewer than ``config.accumulate_batches``, make no step.

    Where several processes call this together (accelerate's or torch's launcher), each trains on a batch in turn and
    gradients are averaged: two processes take the steps of one with batches of twice the size. Batches of an epoch
    that do not go round are left out. The first process alone evaluates, for all of them.

    Args:
        model: trained in place.
        batches: training batches.
        loss: maps model and batch to a scalar.
        evaluate: the development figure, higher is better; called in evaluation mode without gradients.
            None: every epoch counts as better than the one before.
        config: epochs, optimiser, schedule, clipping, patience.
        seed: of everything random in training; the model's own first weights are the caller's.
        parameters: groups with options of their own, as the optimiser takes them; None trains all alike.

    Raises:
        ConfigError: an epoch has fewer batches than there are processes, or than make one step; or the loss of an epoch
            is not finite.
    """
    started = time.perf_counter()
    accelerator = Accelerator(
        gradient_accumulation_steps=config.accumulate_batches,
        mixed_precision="bf16" if in_bf16(config) else "no",
        # Not every part of a pre-trained encoder takes part in what is learnt from it.
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )
    if accelerator.num_processes > 1:
        leave_group_at_exit()
    set_seed(seed, device_specific=True)  # of the first process ``seed`` itself
    n_batches = len(batches) // accelerator.num_processes
    if not n_batches and len(batches):
        raise ConfigError(
            f"{accelerator.num_processes} processes cannot share an epoch of {len(batches)} batch(es)",
            hint="start fewer processes, or lower training.batch_size of what is trained",
        )
    groups = model.parameters() if parameters is None else list(parameters)
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
    n_steps = n_batches * config.max_epochs // config.accumulate_batches
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_then_linear(n_steps, config.warmup_fraction))
    network, optimizer = accelerator.prepare(model, optimizer)
    best: tuple[float, dict[str, Any]] | None = None
    step = stale = 0
    try:
        if 0 < n_batches < config.accumulate_batches:
            raise ConfigError(
                f"accumulate_batches={config.accumulate_batches} is more than the {n_batches} batch(es) of an epoch",
                hint="lower accumulate_batches or batch_size of what is trained",
            )
        for epoch in range(config.max_epochs):
            network.train()
            total = 0.0
            first, rounds = accelerator.process_index, accelerator.num_processes
            for batch in islice(batches.epoch(epoch), first, n_batches * rounds, rounds):
                with accelerator.accumulate(network):
                    value = loss(network, batch.to(accelerator.device))
                    accelerator.backward(value)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(network.parameters(), config.max_grad_norm)
                    optimizer.step()
                    optimizer.zero_grad()
                if accelerator.sync_gradients:
                    schedule.step()
                    step += 1
                total += value.item()
            mean = _mean(total / max(1, n_batches), accelerator)
            if not math.isfinite(mean):  # alike in all processes, so that none waits for the others
                raise ConfigError(
                    f"the loss of epoch {epoch + 1} is not finite ({mean})",
                    hint="lower the learning rate, or set mixed_precision to no, for what is trained",
                )
            network.eval()
            with torch.no_grad():
                # Not the network: wrapped for several processes, it would wait for the others.
                figure = from_main(evaluate(model) if evaluate and accelerator.is_main_process else float(epoch))
            is_best = best is None or figure > best[0]
            if is_best:
                best, stale = (figure, copy.deepcopy(model.state_dict())), 0
            else:
                stale += 1
            yield EpochReport(
                epoch=epoch,
                step=step,
                loss=mean,
                learning_rate=float(schedule.get_last_lr()[0]),
                figure=figure,
                is_best=is_best,
                seconds=time.perf_counter() - started,
            )
            if stale >= config.patience:
                break
    finally:
        if best is not None:
            model.load_state_dict(best[1])
        model.cpu().eval()
        # accelerate keeps its settings in a process-wide singleton, which would bind the next training to them.
        AcceleratorState._reset_state(reset_partial_state=True)


def _mean(value: float, accelerator: Accelerator) -> float:
    """Return the mean of a number over the processes."""
    if accelerator.num_processes == 1:
        return value
    return float(accelerator.reduce(torch.tensor(value, dtype=torch.float64, device=accelerator.device), "mean"))


def warmup_then_linear(n_steps: int, warmup_fraction: float) -> Callable[[int], float]:
    """Return the learning rate's factor by step: up from near 0 to 1, then linearly down to 0 at ``n_steps``."""
    warmup = max(1, round(n_steps * warmup_fraction))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return max(0.0, (n_steps - step) / max(1, n_steps - warmup))

    return factor


def compute_device() -> torch.device:
    """Return where finished networks are best run: on the first GPU, where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def in_bf16(config: TrainingConfig) -> bool:
    """Tell whether matrix products are done in bf16, in training and in prediction.

    Where it is asked for on a processor that cannot, a warning says so once, and numbers stay in float32.
    """
    if config.mixed_precision == "no":
        return False
    if torch.cuda.is_available():
        return config.mixed_precision == "bf16" or torch.cuda.is_bf16_supported(including_emulation=False)
    if config.mixed_precision == "auto":
        return _cpu_has("avx512_bf16", "amx_bf16")
    return emulates_bf16()


@cache
def emulates_bf16() -> bool:
    """Tell whether bf16 can be had on this processor, fast or not; a warning says if it cannot."""
    # x86 without AVX-512: recurrent layers of oneDNN refuse bf16, and products take ten times as long and more.
    able = torch.cpu.get_capabilities().get("architecture") != "x86_64" or _cpu_has("avx512_f", "amx_bf16")
    if not able:
        logger.warning("mixed_precision is bf16, which this processor cannot do: float32 is used")
    return able


def _cpu_has(*features: str) -> bool:
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(feature) for feature in features)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch and BLAS on one thread: sums in one order give the same result on any number of cores."""
    with n_threads(1):
        yield


@contextmanager
def n_threads(number: int) -> Iterator[None]:
    """Run torch and BLAS on a number of threads; the last bits of results depend on it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(limits=number):
            yield
    finally:
        torch.set_num_threads(threads)

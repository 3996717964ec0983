"""Several processes that train one network together, as ``accelerate launch`` or ``torchrun`` start them.

The first process runs the program, and it alone owns the run folder and the terminal. The others wait for it, and take
part in each training of a network: in functions marked ``together``. So whatever is no network is done once, and only
the first process reads, writes and decides.

Without a launcher all of this is trivial, and torch is not imported.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial, wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from pipeline.errors import PipelineError

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_WAIT = timedelta(days=30)
"""The others wait while the first process is busy with anything but networks."""
GRACE_S = 5.0
"""Time for the first process to report what stopped both of them, before another reports it and ends."""


@dataclass
class _Group:
    """The processes that this one belongs to.

    Messages go over the CPU, in a group of their own: there a wait may be long, and costs no memory of a GPU.
    """

    rank: int
    size: int
    messages: Any
    is_training: bool = False
    """True for the first process from asking the others to train until that is done, and ever after if it failed."""


_group: _Group | None = None
_was_launched = False
"""Whether this process has belonged to a group; ever after."""


def n_processes() -> int:
    """Return how many processes train a network together."""
    return _group.size if _group else 1


def is_main() -> bool:
    """Tell whether this is the process that runs the program."""
    return _group is None or _group.rank == 0


def side_by_side(workers: int) -> int:
    """Return how many networks are trained at a time: one, where several processes share its training."""
    return workers if n_processes() == 1 else 1


@contextmanager
def joined() -> Iterator[None]:
    """Belong to the group that a launcher started, if one did; the others are let go when the first process leaves.

    A process that did is to end by ``end_if_launched``.
    """
    global _group, _was_launched
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield
        return
    _group, _was_launched = _join(), True
    try:
        yield
    finally:
        if is_main() and not _group.is_training:
            with suppress(PipelineError):  # one that is gone cannot be told
                _send(_group, None)
        _group = None


def follow() -> None:
    """Take part in every training of the first process, until that leaves.

    Raises:
        PipelineError: another process is gone, or what a training here raised.
    """
    group = _group
    if group is None:
        raise ValueError("this process belongs to no group")
    try:
        while (work := _receive(group)) is not None:
            with _told_when_alone():
                work()
    except Exception:
        time.sleep(GRACE_S)
        raise


def together(work: Callable[P, T]) -> Callable[P, T]:
    """Mark a module's function or a method that trains a network: all processes call it, with the same arguments.

    What it returns and changes counts in the first process alone. Arguments must be picklable. If another process ends
    meanwhile, the first raises a PipelineError.
    """

    @wraps(work)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        group = _group
        if group is None or group.rank > 0 or group.is_training:
            return work(*args, **kwargs)
        group.is_training = True
        _send(group, partial(call, *args, **kwargs))
        with _told_when_alone():
            result = work(*args, **kwargs)
        group.is_training = False
        return result

    return call


def from_main(value: T) -> T:
    """Return the first process's value in all of them."""
    from torch import distributed

    if not (distributed.is_available() and distributed.is_initialized()):
        return value
    shared = [value]
    distributed.broadcast_object_list(shared, src=0, group=_group.messages if _group else None)
    return shared[0]


def _join() -> _Group:
    # accelerate would set the threads of torch to all cores where nothing is said. torch would warn of every network
    # of which no part is unused, and of none that matters.
    for name, value in (("OMP_NUM_THREADS", "1"), ("TORCH_CPP_LOG_LEVEL", "ERROR")):
        os.environ.setdefault(name, value)
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from torch import distributed

    if not torch.cuda.is_available():
        os.environ["ACCELERATE_USE_CPU"] = "true"  # torchrun does not say it
    Accelerator(mixed_precision="no")  # opens the group that fits the devices
    AcceleratorState._reset_state(reset_partial_state=True)
    leave_group_at_exit()
    messages = distributed.new_group(backend="gloo", timeout=LONGEST_WAIT)
    return _Group(distributed.get_rank(), distributed.get_world_size(), messages)


def _send(group: _Group, work: Callable[[], Any] | None) -> None:
    from torch import distributed

    with _told_when_alone():
        distributed.broadcast_object_list([work], src=0, group=group.messages)


def _receive(group: _Group) -> Callable[[], Any] | None:
    from torch import distributed

    received: list[Callable[[], Any] | None] = [None]
    with _told_when_alone():
        distributed.broadcast_object_list(received, src=0, group=group.messages)
    return received[0]


@contextmanager
def _told_when_alone() -> Iterator[None]:
    """Tell from other errors that a connection to another process broke."""
    try:
        yield
    except RuntimeError as error:
        from torch import distributed

        # Those of gloo have no class of their own.
        if not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
            raise
        hint = "its own message, if it left one, says why"
        raise PipelineError("another of the processes that train together is gone", hint=hint) from error


def end_if_launched(code: int) -> None:
    """End this process at once if it has belonged to a group, and return otherwise; see ``end_process``."""
    if _was_launched:
        end_process(code)


def end_process(code: int) -> NoReturn:
    """Leave the group, write out what was said, and end, without the interpreter's coming down.

    Threads of torch that are still there while it does have been seen, rarely, to abort the process after all work was
    done (``terminate called without an active exception``). Nothing that is to run at exit runs.
    """
    with suppress(RuntimeError):  # of a group whose other members are gone
        _leave_group()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or its reader is gone
            stream.flush()
    os._exit(code)


@cache
def leave_group_at_exit() -> None:
    """Have this process leave the group of processes when it ends, if it has not left before; twice is once.

    For whoever trains in several processes without ``joined`` and ``end_process``: a group still open when the
    interpreter comes down takes its threads with it, and now and then the whole process.
    """
    atexit.register(_leave_group)


def _leave_group() -> None:
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()

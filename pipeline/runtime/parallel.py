"""Ordered, bounded parallel map over a stream, with one resource loaded in each worker process."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from threading import Thread, current_thread, main_thread
from typing import Any, Protocol, TypeVar

from pipeline.errors import PipelineError

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNKS_AHEAD = 3
"""Chunks in flight for each worker: enough to keep it busy, few enough to bound memory."""

_resource: Any = None
_load_error: Exception | None = None


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Cut a stream into lists of ``size`` items; the last may be shorter."""
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk


class ChunkMap(Protocol):
    """A map over the chunks of a stream, in order: ``map_chunks``, or the same on another engine."""

    def __call__(
        self,
        work: Callable[[Any, list[Item]], Sequence[Result]],
        items: Iterable[Item],
        *,
        load: Callable[[], Any],
        workers: int,
        chunk_size: int,
        alone: int = 0,
    ) -> Iterator[Result]:
        """Yield one result per item; see ``map_chunks``."""
        ...


def map_chunks(
    work: Callable[[Any, list[Item]], Sequence[Result]],
    items: Iterable[Item],
    *,
    load: Callable[[], Any],
    workers: int,
    chunk_size: int,
    alone: int = 0,
    in_order: bool = True,
) -> Iterator[Result]:
    """Yield ``work(resource, chunk)`` for every chunk of the stream, item by item and in order.

    Chunks are the same whatever the number of workers, so results cannot depend on it. One worker,
    a stream of one chunk, or one of fewer than ``alone`` items runs in this process: what other processes import and
    load would cost more than they save.

    Args:
        work: a module-level function of (resource, items), giving one result per item.
        items: the stream; at most ``workers * CHUNKS_AHEAD`` chunks of it, or ``alone`` items, are held.
        load: a picklable function that builds the resource, called once in each process.
        workers: processes.
        chunk_size: items of a chunk.
        alone: items from which on other processes are started.
        in_order: False yields what is done first, so that no finished work waits for a longer one.

    Raises:
        PipelineError: a worker process died.
    """
    chunks = chunked(items, chunk_size)
    n_enough = max(2, -(-alone // chunk_size))
    head = list(islice(chunks, n_enough if workers > 1 else 1))
    if workers == 1 or len(head) < n_enough or sum(map(len, head)) < alone:
        resource = load()
        for chunk in chain(head, chunks):
            yield from work(resource, chunk)
        return
    # Workers start from nothing ("spawn"): a fork of a process that has run OpenMP code may hang.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start, initargs=(load,))
    pending: deque[Future[Sequence[Result]]] = deque()
    others = set(active_children())
    finished = False
    try:
        for chunk in chain(head, chunks):
            with deaf_children():  # a task starts a process while there are too few
                pending.append(pool.submit(_run, work, chunk))
            if len(pending) >= workers * CHUNKS_AHEAD:
                yield from _next(pending, in_order=in_order).result()
        while pending:
            yield from _next(pending, in_order=in_order).result()
        finished = True
    except BrokenProcessPool as error:
        raise PipelineError("a worker process died (out of memory?)", hint="use fewer workers") from error
    finally:
        started = set(active_children()) - others
        pool.shutdown(wait=False, cancel_futures=True)
        if not finished:  # they only read, and nobody waits for what they work on
            for process in started:
                process.terminate()


def _next(pending: deque[Future[Sequence[Result]]], *, in_order: bool) -> Future[Sequence[Result]]:
    """Take the first of what is being worked on, or the first that is done."""
    if in_order:
        return pending.popleft()
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    first = next(future for future in pending if future in done)
    pending.remove(first)
    return first


@contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes started here ignore Ctrl-C: it reaches the whole group, and the main process alone answers it.

    A worker that is still importing would else die of it with a traceback. The main process gets what came meanwhile.
    """
    if current_thread() is not main_thread():
        yield
        return
    resource_tracker.ensure_running()  # it would unblock the signal when it starts
    caught: list[int] = []
    # Blocked here, it is blocked in what is started here. Ignored, it would be lost where another thread takes it.
    handler = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if caught:
            signal.raise_signal(signal.SIGINT)


def _start(load: Callable[[], Any]) -> None:
    global _resource, _load_error
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        _resource = load()
    except Exception as error:  # raised by the first chunk; here it would only break the pool, its reason lost
        _load_error = error


def _end_with_parent() -> None:
    """End this worker once the main process is gone: after a kill nobody else would tell it to."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


def _run(work: Callable[[Any, list[Item]], Sequence[Result]], chunk: list[Item]) -> Sequence[Result]:
    if _load_error is not None:
        raise _load_error
    return work(_resource, chunk)

"""Chunks of cases evaluated by several processes, their results in order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from threadpoolctl import threadpool_limits

from ...cases.errors import GrucibleError
from ...cases.expansion.case_spec import CaseSpec
from .chunks import Chunk, bytes_of, make_chunk

AHEAD_BYTES = 24 << 20
"""So many bytes of cases may be under way for each process; with tolerances they are about twice as many."""
LOOK_SECONDS = 1.0
"""How often it is looked whether a result can still come."""
Task = tuple[list[CaseSpec], int]
"""Cases of one block, and the seed of what is drawn."""


@contextlib.contextmanager
def in_order(tasks: Sequence[Task], jobs: int) -> Iterator[Iterator[Chunk]]:
    """The results of `tasks`, in their order, made by `jobs` processes, and no more than there are tasks.

    Raises GrucibleError where the system gives no processes, or no threads to serve them.
    """
    if jobs == 1:
        with threadpool_limits(1):  # matrices are small: more threads would wait for each other
            yield (make_chunk(cases, seed) for cases, seed in tasks)
        return
    if not os.access(sys.executable, os.X_OK):
        raise GrucibleError(
            f"this user cannot start {sys.executable or 'Python'}, so there are no other processes; "
            "--jobs 1 needs none"
        )
    most = max(1, min(jobs, len(tasks)))
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    try:
        with _starting_processes():
            pool = ProcessPoolExecutor(most, mp_context=context, initializer=_start_worker)
    except OSError as error:
        raise _unserved(error) from None
    try:
        with _dead_threads() as dead:
            yield _windowed(pool, tasks, AHEAD_BYTES * most, dead)
    except BrokenProcessPool:
        raise GrucibleError(
            "a process that evaluates cases was killed, perhaps for lack of memory; "
            "fewer --jobs need less, and files that are whole stay"
        ) from None
    except BaseException:  # Ctrl-C above all: what is at work may take minutes
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
            process.join()
        raise
    finally:
        with contextlib.suppress(RuntimeError):  # of a thread that could not be started
            pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threadpool_limits(1)  # the processes are the parallelism; BLAS threads would only fight
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # however it ends: a pool's process would wait for work for ever
    os._exit(1)


@contextlib.contextmanager
def _starting_processes() -> Iterator[None]:
    """A process that is started now begins with modules of Python's, not with those of this directory, and it
    never sees Ctrl-C, not while it imports them either."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    safe = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if safe is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = safe
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _windowed(
    pool: ProcessPoolExecutor, tasks: Sequence[Task], most: int, dead: Sequence[BaseException]
) -> Iterator[Chunk]:
    """The results in order; while the first is written, up to `most` bytes of others are under way."""
    running: deque[tuple[Future[Chunk], int]] = deque()
    held = 0
    for cases, seed in tasks:
        size = len(cases) * bytes_of(cases[0])
        try:
            with _starting_processes():
                future = pool.submit(make_chunk, cases, seed)
        except (RuntimeError, OSError) as error:
            raise _unserved(error) from None
        running.append((future, size))
        held += size
        while held > most and len(running) > 1:
            future, size = running.popleft()
            held -= size
            yield _waited_for(future, dead)
    while running:
        yield _waited_for(running.popleft()[0], dead)


def _waited_for(future: Future[Chunk], dead: Sequence[BaseException]) -> Chunk:
    """A result. Where a thread of the pool has died, none would ever come."""
    while not dead:
        with contextlib.suppress(TimeoutError):
            return future.result(timeout=LOOK_SECONDS)
    raise _unserved(dead[0])


def _unserved(error: BaseException) -> GrucibleError:
    if isinstance(error, OSError):  # no /dev/shm, a limit on files
        said = f"processes, and their semaphores and pipes, cannot be made ({error.strerror})"
    else:
        said = f"processes cannot be served: {error}"
    return GrucibleError(f"{said}; --jobs 1 needs none")


@contextlib.contextmanager
def _dead_threads() -> Iterator[list[BaseException]]:
    """What ends threads meanwhile, in place of tracebacks: those of a pool die where none can be started."""
    dead: list[BaseException] = []
    before = threading.excepthook
    threading.excepthook = lambda ended: dead.append(ended.exc_value or RuntimeError("it died"))
    try:
        yield dead
    finally:
        threading.excepthook = before

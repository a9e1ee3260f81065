"""The processes in which cases are evaluated; what they do may be broken off."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

import numpy as np  # noqa: F401  # only a BLAS that is loaded can be limited to one thread
from threadpoolctl import threadpool_limits

from ..cases.errors import GrucibleError
from ..cases.process import deferring_interrupts
from .cluster import Cluster


@contextlib.contextmanager
def open_executor(jobs: int, cluster: Cluster | None = None) -> Iterator[Executor]:
    """Open an executor of `jobs` processes, or of one thread if `jobs` is 1; each uses one BLAS thread.

    That of a `cluster` is open already.
    At the end of the `with`, tasks that run in processes are broken off, and others are dropped. Raises
    GrucibleError if a process dies.
    """
    if cluster:
        yield cluster
        return
    context = multiprocessing.get_context("spawn")
    waiting, over = context.Pipe(duplex=False)
    with threadpool_limits(1):
        pool = (
            _Processes(jobs, context, _start_worker, (waiting,))
            if jobs > 1
            else ThreadPoolExecutor(1)
        )
        try:
            yield pool
        except BrokenProcessPool:
            raise GrucibleError(
                "a process that evaluates cases was killed, perhaps for lack of memory; "
                "fewer --jobs need less, and files that are whole stay"
            ) from None
        finally:
            over.close()
            pool.shutdown(cancel_futures=True)  # a process killed as it writes would be waited for


class _Processes(ProcessPoolExecutor):
    """Processes that import no modules of the working directory, which may be a stranger's."""

    def submit(self, *args: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a task, and start a process for it if none is idle."""
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            with deferring_interrupts():
                return super().submit(_do, *args)
        finally:
            os.environ.pop("PYTHONSAFEPATH")
            if before is not None:
                os.environ["PYTHONSAFEPATH"] = before


_doing = False
"""Whether this process does a task, which may be broken off."""


def _do(task: Callable[..., Any], *arguments: Any) -> Any:
    global _doing
    _doing = True
    try:
        return task(*arguments)
    finally:
        _doing = False


def _break_off(*_: object) -> None:
    """Break a task off; its outcome, which is sent after it, is never cut."""
    global _doing
    if _doing:
        _doing = False
        raise KeyboardInterrupt


def _start_worker(over: Any) -> None:
    signal.signal(signal.SIGINT, _break_off)
    threadpool_limits(1)  # the processes use all CPUs; BLAS threads would compete
    for end in (_end_with_parent, partial(_break_off_when, over)):
        threading.Thread(target=end, daemon=True).start()


def _break_off_when(over: Any) -> None:
    """Break off all tasks once their outcomes are of no use."""
    while over.poll(None):  # an Event would wait for a process that was killed
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)


def _end_with_parent() -> None:
    """End when the parent ends, even if it is killed: a pool's process would wait for work for ever."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)

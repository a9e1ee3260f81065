"""Executors of concurrent.futures: this process or several others, and results in order, memory bounded."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from ..cases.errors import GrucibleError

Task = TypeVar("Task")
Result = TypeVar("Result")


class Here(Executor):
    """An executor that runs what is submitted at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn`; the future is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def open_executor(jobs: int) -> Iterator[Executor]:
    """Open an executor of `jobs` processes, or of this one where that is 1; matrices use one thread each.

    At the end of the block, what is at work is waited for, and what waits is dropped. Raises GrucibleError
    where a process dies.
    """
    if jobs == 1:
        with threadpool_limits(1):  # matrices are small: more threads would wait for each other
            yield Here()
        return
    with _no_modules_of_this_directory():
        pool = ProcessPoolExecutor(
            jobs, multiprocessing.get_context("spawn"), initializer=_start_worker
        )
        try:
            yield pool
        except BrokenProcessPool:
            raise GrucibleError(
                "a process that evaluates cases was killed, perhaps for lack of memory; "
                "fewer --jobs need less, and files that are whole stay"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)  # a process killed as it writes would be waited for


@contextlib.contextmanager
def _no_modules_of_this_directory() -> Iterator[None]:
    """Let processes that are started import no module of the working directory, which may be a stranger's."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH")
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threadpool_limits(1)  # the processes are the parallelism; BLAS threads would only fight
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # however it ends: a pool's process would wait for work for ever
    os._exit(1)


def map_in_order(
    executor: Executor,
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    weigh: Callable[[Task], int],
    most: int,
) -> Iterator[Result]:
    """Apply `function` to each task; yield the results in order.

    Tasks are submitted ahead of the result that is waited for, as long as together they weigh at most `most`.
    """
    ahead: deque[tuple[Future[Result], int]] = deque()
    weight = 0
    for task in tasks:
        ahead.append((executor.submit(function, task), weigh(task)))
        weight += ahead[-1][1]
        while ahead and (ahead[0][0].done() or (weight > most and len(ahead) > 1)):
            future, less = ahead.popleft()
            weight -= less
            yield future.result()
    while ahead:
        yield ahead.popleft()[0].result()

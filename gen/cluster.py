"""A Dask cluster in place of processes of this machine: the same tasks by the same interface."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, TypeVar
from weakref import WeakSet

import click

from .. import __version__
from ..cases.errors import GrucibleError, needing

T = TypeVar("T")
_WAIT, _LOAD = 10, 300
"""Maximum seconds until a scheduler answers or has a worker, and until a runtime loads on a worker."""
AHEAD = 2
"""Tasks under way for each thread of a worker; a scheduler that is given all at once stalls."""
SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS",
    help="Do the work on a Dask cluster, such as tcp://HOST:8786 (check/CLUSTER.md).",
)  # fmt: skip


class TaskLost(GrucibleError):
    """A task during which one worker after another died."""


class Cluster(Executor):
    """A Dask cluster, and the number of `threads` of all workers."""

    def __init__(self, client: Any) -> None:
        self._client, self._asked = client, WeakSet[Any]()
        self.threads: int = sum(client.nthreads().values())

    def submit(self, function: Callable[..., T], /, *given: Any) -> Future[T]:  # type: ignore[override]
        """Submit a task to the workers.

        The executor of Dask's own looks at a task's status twice, and takes a result for an error, or never
        ends, if a worker dies between.
        """
        asked, future = self._client.submit(function, *given, pure=False), Future[T]()
        self._asked.add(asked)
        self._client.loop.add_callback(_pass_on, asked, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Drop the tasks that are under way; those of a lost scheduler are lost."""
        if self._client.status == "running":
            self._client.cancel([*self._asked])

    def on_each(self, function: Callable[..., T], *given: Any) -> dict[str, T | Exception]:
        """Call a function in a task on each worker that stays; return what it gives or raises, by worker."""
        submit = self._client.submit
        futures = {
            one: submit(function, *given, workers=[one], pure=False)
            for one in self._client.nthreads()
        }
        found: dict[str, T | Exception] = {}
        for worker, future in futures.items():
            left = _LOAD
            while worker not in found and worker in self._client.nthreads():
                try:
                    found[worker] = future.result(timeout=1)
                except TimeoutError:
                    left -= 1
                    if not left:
                        found[worker] = TimeoutError(f"it gave nothing in {_LOAD} s")
                except Exception as error:
                    found[worker] = error
        return found

    def in_order(self, tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Run tasks, each a function with arguments; yield each with its result, or with TaskLost, in order.

        A window of tasks is under way. Raises GrucibleError if the scheduler is lost.
        """
        under_way: deque[tuple[tuple[Any, ...], Future[Any]]] = deque()
        for task in tasks:
            under_way.append((task, self.submit(*task)))
            if len(under_way) > AHEAD * self.threads:
                yield _settle(*under_way.popleft())
        while under_way:
            yield _settle(*under_way.popleft())


async def _pass_on(asked: Any, future: Future[Any]) -> None:
    """Wait for a task of Dask's, and give a future its result or error."""
    try:
        future.set_result(await asked._result())
    except asyncio.CancelledError:  # the client ends
        future.cancel()
    except BaseException as error:
        future.set_exception(error)


def _settle(task: tuple[Any, ...], future: Future[Any]) -> tuple[tuple[Any, ...], Any]:
    try:
        return task, result_of(future)
    except TaskLost as error:
        return task, error


def result_of(future: Future[T]) -> T:
    """Wait for a result. Raises TaskLost, and GrucibleError if the scheduler is lost."""
    try:
        return future.result()
    except CancelledError:
        why = "the scheduler was lost, and what is whole stays; start it, and run this again"
        raise GrucibleError(why) from None
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        why = "one worker after another died of it, perhaps for lack of memory"
        raise TaskLost(why) from None


@contextlib.contextmanager
def open_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Connect to the Dask scheduler at an address, if one is given; in the end, drop its tasks.

    Raises GrucibleError where there is none or no worker, and for workers with another version of grucible.
    """
    if address is None:
        yield None
        return
    with needing("distributed", "dask", "--scheduler"):
        from distributed import Client
    for name in [*logging.root.manager.loggerDict]:
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # errors become lines of ours
    try:
        client = Client(address, timeout=_WAIT, set_as_default=False)  # type: ignore[no-untyped-call,unused-ignore]
    except (OSError, ValueError):
        why = f"--scheduler {address}: no scheduler answers; start one with: dask scheduler"
        raise GrucibleError(why) from None
    with client:
        with contextlib.suppress(TimeoutError):
            client.wait_for_workers(1, timeout=_WAIT)
        cluster = Cluster(client)
        try:
            _check_workers(cluster, address)
            yield cluster
        finally:
            with contextlib.suppress(OSError, CancelledError):
                cluster.shutdown()


def _check_workers(cluster: Cluster, address: str) -> None:
    """Raise GrucibleError unless there are workers, and all have this version."""
    found = cluster.on_each(importlib.metadata.version, "grucible")
    if not found:
        start = f"dask worker {address} --nthreads 1 --nworkers -1"
        raise GrucibleError(f"--scheduler {address}: has no worker; start some with: {start}")
    for worker, version in found.items():
        if version != __version__:
            other = "no grucible" if isinstance(version, Exception) else f"grucible {version}"
            raise GrucibleError(f"{worker} has {other}; install {__version__} on every worker")

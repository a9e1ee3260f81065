"""Threads that the system may not give."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def start_thread(thread: threading.Thread) -> None:
    """Start a thread. Where the system gives none that is an OSError, as it is for a process."""
    try:
        thread.start()
    except RuntimeError:
        raise OSError(errno.EAGAIN, "the system gives no more threads") from None


def all_at_a_time(calls: Iterable[Callable[[], _T]]) -> list[_T]:
    """What the calls return, each made in a thread of its own; here where the system gives no more."""
    results: list[Future[_T]] = []
    for call in calls:
        results.append(Future())
        thread = threading.Thread(target=_keep, args=(results[-1], call), daemon=True)
        try:
            start_thread(thread)
        except OSError:
            _keep(results[-1], call)
    return [one.result() for one in results]


def _keep(result: Future[_T], call: Callable[[], _T]) -> None:
    try:
        result.set_result(call())
    except BaseException as error:
        result.set_exception(error)

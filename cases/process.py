"""This process: the signals that interrupt it, and the CPUs that it may use."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

INTERRUPTED = 130
"""The exit status after Ctrl-C: 128 and the number of SIGINT."""

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_caught = 0
_deferring = False
"""Whether an interruption waits: raised among a library's locks, it would leave one locked for ever."""


def catch_terminations() -> None:
    """Make SIGTERM and SIGHUP interrupt this process as Ctrl-C does, unless it ignores them."""
    for number in [signal.SIGINT, *_ENDING]:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def _interrupt(number: int, _: object) -> None:
    global _caught
    _caught = number
    if number != signal.SIGINT:
        signal.signal(number, signal.SIG_IGN)  # a terminal that closes sends several
    if not _deferring:
        raise KeyboardInterrupt


def end_if_interrupted() -> None:
    """Raise KeyboardInterrupt again if a signal raised it before: h5py may have swallowed it."""
    if _caught:
        raise KeyboardInterrupt


@contextlib.contextmanager
def deferring_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for a signal in the body of the `with` only at its end."""
    global _deferring
    _deferring = True
    try:
        yield
    finally:
        _deferring = False
    end_if_interrupted()


def interruption_status() -> int:
    """Get the exit status after an interruption: 128 and the number of the signal."""
    return 128 + _caught if _caught else INTERRUPTED


@contextlib.contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP in the body of the `with`, such as while reports are written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in [signal.SIGINT, *_ENDING]}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def count_cpus() -> int:
    """Count the CPUs that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # on Linux
    return len(affinity(0)) if affinity else os.cpu_count() or 1

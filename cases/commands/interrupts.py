"""Ctrl-C, and an end that is asked for by SIGTERM or SIGHUP, that count wherever they arrive."""

from __future__ import annotations

import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended: 128 and the number of SIGINT."""

NO_THREADS = "the system gives no more threads; raise its limit (ulimit -u, ulimit -v)"
"""What is said where none can be started, with the remedy."""

AGAIN_SECONDS = 5.0
"""After so long a Ctrl-C that nobody has acted on is raised once more: a library may have swallowed it, and
what is waited for then may take minutes."""

IMPORTED_SECONDS = 0.05
"""After so long a Ctrl-C is raised once more that arrived while numpy was imported."""

_interrupted = 0
"""The number of the signal that arrived; 0 before."""

_in_numpy = False
"""Whether it arrived while numpy was imported."""

_held = False
"""Whether what arrives is raised later."""

_waiting = False
"""Whether something has arrived meanwhile."""


def _handler(number: int, _: object) -> None:
    global _interrupted, _in_numpy, _waiting
    if number == signal.SIGHUP:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a session that ends sends several
        if _interrupted:
            return
    importing = _numpy_is_imported()
    if number != signal.SIGALRM:
        _interrupted, _in_numpy = number, importing
    signal.setitimer(signal.ITIMER_REAL, IMPORTED_SECONDS if importing else AGAIN_SECONDS)
    _waiting = _held
    if not (_held or importing):
        raise KeyboardInterrupt


def _numpy_is_imported() -> bool:
    """Whether numpy is being imported just now: its modules in C print what is raised in it."""
    spec = getattr(sys.modules.get("numpy"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """While something is written that must not be lost, and waits for nobody: Ctrl-C is raised afterwards."""
    global _held, _waiting
    _held = True
    try:
        yield
    finally:
        _held = False
        if _waiting:
            _waiting = False
            raise KeyboardInterrupt


def remember_interrupts() -> None:
    """Make Ctrl-C count even where it arrives in a finalizer, which would swallow it and print it, or
    while a module is imported, which may make another error of it. When all is done it changes nothing:
    Python would leave it to the system then, which ends the process by it."""

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        if not (_interrupted and issubclass(what.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(what)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handler)
        signal.signal(signal.SIGALRM, _handler)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        sys.unraisablehook = unraisable


def remember_terminations() -> None:
    """Make SIGTERM, and SIGHUP where a terminal is closed, an interruption as Ctrl-C is one, for who has
    something to write before the end. Where Ctrl-C is not remembered, or a signal is not left to the system,
    nothing changes."""
    if signal.getsignal(signal.SIGINT) is not _handler:
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _handler)


def acted_on() -> None:
    """Say that a Ctrl-C is acted on: it is not raised again."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def was_interrupted() -> bool:
    """Whether Ctrl-C arrived, whatever became of it."""
    return bool(_interrupted)


def was_for_lack_of_threads() -> bool:
    """Whether OpenBLAS interrupted us: it does where it is imported and the system gives it no thread."""
    if not _in_numpy:
        return False
    try:
        threading.Thread(target=bool).start()
    except RuntimeError:
        return True
    return False


def interruption_status() -> int:
    """The exit status of what was interrupted: 128 and the number of the signal."""
    return 128 + (_interrupted or signal.SIGINT)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C arrived and was swallowed."""
    if _interrupted:
        raise KeyboardInterrupt

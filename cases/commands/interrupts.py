"""Ctrl-C that counts wherever it arrives."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended: 128 and the number of SIGINT."""

AGAIN_SECONDS = 5.0
"""After so long a Ctrl-C that nobody has acted on is raised once more: a library may have swallowed it, and
what is waited for then may take minutes."""

_interrupted = False


def remember_interrupts() -> None:
    """Make Ctrl-C count even where it arrives in a finalizer, which would swallow it and print it, or
    while a module is imported, which may make another error of it."""

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        if not (_interrupted and issubclass(what.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(what)

    def handler(*_: object) -> None:
        global _interrupted
        _interrupted = True
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
        signal.signal(signal.SIGALRM, handler)
        sys.unraisablehook = unraisable


def acted_on() -> None:
    """Say that a Ctrl-C is acted on: it is not raised again."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def was_interrupted() -> bool:
    """Whether Ctrl-C arrived, whatever became of it."""
    return _interrupted


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C arrived and was swallowed."""
    if _interrupted:
        raise KeyboardInterrupt

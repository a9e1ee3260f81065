"""Ends of the process that no command chose: a library in C that calls `exit(1)`, as OpenBLAS does where
memory runs out, or memory that runs out while an error is told. 1 would be the status of a verdict."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from typing import Any

from .memory import NO_MEMORY, lacks_memory

ENDED = (
    "grucible: a library ended the process before the command was done, and there is no verdict; if memory "
    "ran out, raise its limit (ulimit -v)\n"
)
"""What is said where C's `exit` is called meanwhile."""

_running = False
_kept: list[Any] = []
"""What C calls at its `exit`, and what marks it as ours."""


@contextlib.contextmanager
def never_a_verdict() -> Iterator[None]:
    """While a command runs: an end that it did not choose is one line, and exit status 2."""
    global _running
    _running = True
    try:
        yield
    except Exception as error:
        if not lacks_memory(error):
            raise
        _write(f"grucible: {NO_MEMORY}\n")
        raise SystemExit(2) from None
    finally:
        _running = False


def look_out_for_exit() -> None:
    """Have C's `exit` call `_at_exit`, once, and forget it where Python itself ends: nothing of Python's may
    be called later. Where there is no ctypes, or C has no such call, nothing changes."""
    if _kept:
        return
    with contextlib.suppress(ModuleNotFoundError, AttributeError):
        import ctypes  # numpy imports it too, but the help needs neither

        library, mark = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        called = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_at_exit)
        _kept.extend((called, mark))
        if library.__cxa_atexit(called, None, mark) == 0:
            atexit.register(library.__cxa_finalize, mark)


def _at_exit(_: object) -> None:
    if _running:
        try:
            _write(ENDED)
        finally:
            os._exit(2)


def _write(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, line.encode())

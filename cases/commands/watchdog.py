"""Processes that must not outlive this one: a watchdog ends them, however this one ends.

The watchdog is a small process of a session of its own. It reads the numbers of processes from a pipe
of which this process alone holds the other end. Where that end is closed, by an orderly end as by
SIGKILL, it kills what it was told of and not told to forget: the process, and all that it started. What a
process starts inherits its environment, in which a mark tells whose it is.

It runs this file as a script, so nothing but the standard library is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
from pathlib import Path

_lock = threading.Lock()
_watchdog: subprocess.Popen[bytes] | None = None


MARK = "GRUCIBLE_RUNTIME"
"""The variable of the environment that holds a process's mark."""


def new_mark() -> str:
    """A mark that no other process has."""
    return secrets.token_hex(8)


def watch(process: int, mark: str) -> None:
    """Have the process of this number and mark, and what it started, killed when this one ends."""
    _tell(f"+{process} {mark}\n")


def forget(process: int) -> None:
    """Have the process of this number left alone: it was waited for, and the number may be another's."""
    _tell(f"-{process} -\n")


def _tell(line: str) -> None:
    global _watchdog
    with _lock:
        if _watchdog is None:
            _watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends us by our group does not end it
                bufsize=0,
            )
            atexit.register(_end)
        assert _watchdog.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # somebody killed it: then there is none
            _watchdog.stdin.write(line.encode())


def _end() -> None:
    assert _watchdog is not None
    assert _watchdog.stdin is not None
    _watchdog.stdin.close()
    try:
        _watchdog.wait(1)
    except subprocess.TimeoutExpired:  # somebody stopped it
        _watchdog.kill()
        _watchdog.wait()


def kill(process: int, mark: str) -> None:
    """Kill the process of this number and what it started, as far as they are there.

    That is the group and the session it leads, its descendants, whatever session these are in, and all that
    has its mark, also where it died before.
    """
    started = _started_by(process, mark)
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(process, signal.SIGKILL)
    for one in started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def _started_by(process: int, mark: str) -> set[int]:
    """The processes of the session of this number or with the mark, and all descendants; none where there
    is no /proc."""
    variable = f"{MARK}={mark}".encode()
    parents: dict[int, int] = {}
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            number, _, rest = place.read_bytes().partition(b" (")
            _, parent, _, session, *_ = rest.rpartition(b") ")[2].split()
            parents[int(number)] = int(parent)
            if int(session) == process or variable in _environment(place):
                found.add(int(number))
    found.add(process)
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process, os.getpid()}


def _environment(stat: Path) -> list[bytes]:
    """The environment that a process was started with; empty where it is another user's."""
    try:
        return stat.with_name("environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _watch() -> None:
    watched: dict[int, str] = {}
    for line in sys.stdin:
        number, mark = line[1:].split()
        if line.startswith("+"):
            watched[int(number)] = mark
        else:
            watched.pop(int(number), None)
    for process, mark in watched.items():
        kill(process, mark)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _watch()

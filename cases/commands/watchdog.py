"""Processes that must not outlive this one: a watchdog ends them, however this one ends.

The watchdog is a small process of a session of its own. It reads the numbers of processes from a pipe
of which this process alone holds the other end. Where that end is closed, by an orderly end as by
SIGKILL, it kills what it was told of and not told to forget: the process, and the group it leads.

It runs this file as a script, so nothing but the standard library is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

_lock = threading.Lock()
_watchdog: subprocess.Popen[bytes] | None = None


def watch(process: int) -> None:
    """Have the process of this number, and its group if it leads one, killed when this one ends."""
    _tell(f"+{process}\n")


def forget(process: int) -> None:
    """Have the process of this number left alone: it was waited for, and the number may be another's."""
    _tell(f"-{process}\n")


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


def kill(process: int) -> None:
    """Kill the process of this number and what it started, as far as they are there.

    That is the group and the session it leads, and its descendants, whatever session these are in. What
    it started in another session before it died itself is not found any more.
    """
    started = _started_by(process)
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(process, signal.SIGKILL)
    for one in started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def _started_by(process: int) -> set[int]:
    """The processes of the session of this number, and all descendants; none where there is no /proc."""
    parents: dict[int, int] = {}
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            number, _, rest = place.read_bytes().partition(b" (")
            _, parent, _, session, *_ = rest.rpartition(b") ")[2].split()
            parents[int(number)] = int(parent)
            if int(session) == process:
                found.add(int(number))
    found.add(process)
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process, os.getpid()}


def _watch() -> None:
    watched: set[int] = set()
    for line in sys.stdin:
        number = int(line[1:])
        (watched.add if line.startswith("+") else watched.discard)(number)
    for number in watched:
        kill(number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _watch()

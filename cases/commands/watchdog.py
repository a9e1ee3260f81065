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
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path

_lock = threading.Lock()
_watchdog: subprocess.Popen[bytes] | None = None


MARK = "GRUCIBLE_RUNTIME"
"""The variable of the environment that holds a process's mark."""


MOST_SCANS = 20
"""So often it is looked for what a process started: what forks and ends faster than that gets away."""


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
    has its mark, also where it died before. They are stopped first, until none is found that still runs: what
    is stopped starts nothing while others are looked for.
    """
    stopped = {process}
    _send(os.kill, stopped, signal.SIGSTOP)
    for _ in range(MOST_SCANS):
        more = _started_by(stopped, process, mark) - stopped
        if not more:
            break
        _send(os.kill, more, signal.SIGSTOP)
        stopped |= more
    _send(os.kill, stopped, signal.SIGKILL)
    _send(os.killpg, {process}, signal.SIGKILL)


def _send(send: Callable[[int, int], None], processes: Iterable[int], number: int) -> None:
    for one in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(one, number)


def _started_by(known: AbstractSet[int], session: int, mark: str) -> set[int]:
    """The known processes, those of the session or with the mark, and all descendants; of others than the
    known ones none where there is no /proc."""
    variable = f"{MARK}={mark}".encode()
    parents: dict[int, int] = {}
    found = set(known)
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            number, _, rest = place.read_bytes().partition(b" (")
            state, parent, _, its_session, *_ = rest.rpartition(b") ")[2].split()
            parents[int(number)] = int(parent)
            if int(its_session) == session or variable in _environment(place, state):
                found.add(int(number))
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _environment(stat: Path, state: bytes) -> list[bytes]:
    """The environment that a process was started with; empty where it is another user's.

    Where its main thread has ended (Z), any other thread that goes on has it.
    """
    threads = stat.parent.glob("task/*/environ") if state == b"Z" else [stat.with_name("environ")]
    found: list[bytes] = []
    for one in threads:
        with contextlib.suppress(OSError):
            found += one.read_bytes().split(b"\0")
    return found


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

"""Ends what runtimes started, however grucible itself ended: `python watchdog.py VARIABLE MARK`.

The watchdog waits until its standard input is closed. Then it kills each process that has the mark in its
environment; every process that a runtime starts inherits it.
"""

from __future__ import annotations

import contextlib
import sys
import time

import psutil

MOST_SWEEPS = 100
"""Maximum searches for processes; a process that forks while it is killed may escape one."""


def kill_marked(variable: str, mark: str) -> bool:
    """Kill all processes with this mark; tell whether there was any."""
    found = False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(variable) == mark:
                process.kill()
                found = True
    return found


if __name__ == "__main__":
    sys.stdin.read()
    for _ in range(MOST_SWEEPS):
        if not kill_marked(*sys.argv[1:]):
            break
        time.sleep(0.02)

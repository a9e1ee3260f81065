"""A small process that ends what runtimes started, however this one ends, SIGKILL included.

It waits until its standard input is closed. What a runtime starts inherits its environment, in which a mark
tells whose it is.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import subprocess
import sys
import time

import psutil

VARIABLE = "GRUCIBLE_RUNTIME"
"""The variable of the environment that holds the mark."""
MARK = secrets.token_hex(8)
"""The mark of what this process starts."""
MOST_SWEEPS = 100
"""Maximum times to look for processes; what forks while it is killed may escape one."""


@functools.cache
def start_watchdog() -> None:
    """Start it once; it looks for processes with our mark when we have ended."""
    _kept.append(
        subprocess.Popen(
            [sys.executable, "-P", __file__, MARK],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what ends us by our group does not end it
        )
    )


_kept: list[subprocess.Popen[bytes]] = []


def kill_marked(mark: str) -> bool:
    """Kill all processes with this mark; tell whether there was one."""
    found = False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(VARIABLE) == mark:
                process.kill()
                found = True
    return found


def kill_started_by(number: int) -> None:
    """Kill a process and its descendants, in any session."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(number)
        for one in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.Error):
                one.kill()


if __name__ == "__main__":
    sys.stdin.read()
    for _ in range(MOST_SWEEPS):
        if not kill_marked(sys.argv[1]):
            break
        time.sleep(0.02)

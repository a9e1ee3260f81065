"""In scripts that call a function: the call is made in a process of its own, for the function may end it."""

from __future__ import annotations

import os
import subprocess
import sys

JUDGED = 100
"""What a process that has judged adds to its exit status: no other status is taken for a verdict."""


def asked_apart(mark: str) -> int:
    """The exit status of this script, run once more with `mark` in its environment."""
    command = [sys.executable, *sys.orig_argv[1:]]
    ended = subprocess.run(command, env={**os.environ, mark: "1"}, check=False).returncode
    if ended - JUDGED in (0, 1, 2):
        return ended - JUDGED
    print(f"refused: the process ended (exit status {ended}) before there was a verdict")
    return 1

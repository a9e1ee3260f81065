"""Ctrl-C that a library swallows is raised again, until somebody acts on it."""

from __future__ import annotations

import subprocess
import sys

SWALLOWS = """
import os, signal, time
from grucible.cases.commands import interrupts
interrupts.AGAIN_SECONDS = 0.2
interrupts.remember_interrupts()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except BaseException:
    pass  # as a library's finalizer or import may
try:
    time.sleep(60)
except KeyboardInterrupt:
    interrupts.acted_on()
    print("again")
time.sleep(0.5)
print(interrupts.was_interrupted())
"""


def test_a_swallowed_ctrl_c_comes_again_and_then_no_more() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SWALLOWS], capture_output=True, text=True, check=False, timeout=50
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "again\nTrue\n", "")

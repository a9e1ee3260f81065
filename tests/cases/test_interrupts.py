"""Ctrl-C that a library swallows is raised again, until somebody acts on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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

AT_THE_END = """
import os, signal
from grucible.cases.commands import interrupts
interrupts.remember_interrupts()

class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), number=signal.SIGINT):
        kill(own, number)

last = Last()
print("done")
"""


def test_a_ctrl_c_when_all_is_done_changes_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False, timeout=50
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


IMPORTS = """
import os, pathlib, signal, sys
from grucible.cases.commands import interrupts
pathlib.Path("numpy.py").write_text(
    "import os, signal, time\\nos.kill(os.getpid(), signal.SIGINT)\\ntime.sleep(0.2)\\nprint('whole')\\n"
)
sys.path.insert(0, os.getcwd())
interrupts.remember_interrupts()
try:
    import numpy, time
    time.sleep(60)
except KeyboardInterrupt:
    interrupts.acted_on()
    print("raised")
"""

SEVERAL = """
import os, signal, sys
from grucible.cases.commands import interrupts
interrupts.remember_interrupts()
interrupts.remember_terminations()
first = signal.Signals[sys.argv[1]]
try:
    signal.raise_signal(first)
except KeyboardInterrupt:
    for _ in range(2):
        signal.raise_signal(signal.SIGHUP)
    interrupts.acted_on()
    print(interrupts.interruption_status() - 128 - first)
"""


@pytest.mark.parametrize("first", ["SIGHUP", "SIGTERM"])
def test_further_signals_of_a_session_that_ends_disturb_nothing(first: str) -> None:
    """A shell and the system send a SIGHUP each; what ends a service sends SIGTERM and SIGHUP."""
    command = [sys.executable, "-c", SEVERAL, first]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "0\n", "")


def test_numpy_is_imported_before_a_ctrl_c_is_raised(tmp_path: Path) -> None:
    """Its modules in C would print the frames of what is raised in them."""
    command = [sys.executable, "-c", IMPORTS]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=50, cwd=tmp_path
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "whole\nraised\n", "")


def test_a_swallowed_ctrl_c_comes_again_and_then_no_more() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SWALLOWS], capture_output=True, text=True, check=False, timeout=50
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "again\nTrue\n", "")

"""Whatever ends a command, nothing that it started outlives it, and its pipes are closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from .conftest import HERE
from .made import IMPORT_ANSWER, make_block, write_vectors

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
HANGS = (
    IMPORT_ANSWER
    + """
import ctypes, os, subprocess, sys, time
from pathlib import Path
def run(question):
    if "bad" not in question.id:
        return answer(question)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", __file__])
    if os.fork() == 0:
        time.sleep(600)
    Path(__file__).with_name(f"hangs-{os.getpid()}").touch()
    ctypes.PyDLL(None).sleep(600)  # never gives the interpreter's lock back
"""
)


def running(mark: str) -> list[int]:
    """The processes that name `mark` in their command line."""
    found = psutil.process_iter(["cmdline"])
    return [one.pid for one in found if any(mark in word for word in one.info["cmdline"] or ())]


def soon(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [0, *SIGNALS])
def test_of_check(number: int, tmp_path: Path) -> None:
    """Two processes that hang for ever in C, each with a child and with a process that it forked.

    A signal ends the command, or (0) its time-outs do.
    """
    module = tmp_path / "hangs.py"
    module.write_text(HANGS)
    write_vectors(tmp_path / "cell.h5", make_block([f"{n:02}-bad" for n in range(64)]))
    command = ["check", str(tmp_path / "cell.h5"), "--runtime", f"{module}:run", "--jobs", "2"]
    more = [] if number else ["--timeout", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", *command, *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            if number:
                assert soon(lambda: len(list(tmp_path.glob("hangs-*"))) == 2)
                # the command, two processes and two for each, of which one may not be named yet
                assert soon(lambda: len(running(str(module))) >= 7)
                process.send_signal(number)
            process.communicate(timeout=30)  # until all that hold its pipes have ended
            # SIGTERM and SIGHUP are acted on: what was compared would have been reported
            status = -number if number == signal.SIGKILL else 128 + number if number else 1
            assert process.returncode == status
            assert soon(lambda: not running(str(module)))
        finally:
            for left in running(str(module)):
                os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_of_gen(number: signal.Signals, tmp_path: Path) -> None:
    specs = HERE.parents[1] / "cases" / "openvino" / "gru_sequence"
    command = ["gen", str(specs), "-o", str(tmp_path / "out"), "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        gen = psutil.Process(process.pid)
        assert soon(lambda: len(gen.children()) >= 3)  # two, and multiprocessing's own
        started = gen.children(recursive=True)
        process.send_signal(number)
        try:
            process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode in (-number, 128 + number)
        assert soon(lambda: not any(one.is_running() for one in started))

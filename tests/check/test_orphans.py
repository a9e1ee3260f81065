"""Whatever ends a command, nothing that it started outlives it, and its pipes are closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in place.read_bytes():
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


def soon(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", SIGNALS, ids=lambda s: s.name)
def test_of_check(number: signal.Signals, tmp_path: Path) -> None:
    """Two processes that hang for ever in C, each with a child and with a process that it forked."""
    module = tmp_path / "hangs.py"
    module.write_text(HANGS)
    write_vectors(tmp_path / "cell.h5", make_block([f"{n:02}-bad" for n in range(64)]))
    command = ["check", str(tmp_path / "cell.h5"), "--runtime", f"{module}:run", "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert soon(lambda: len(list(tmp_path.glob("hangs-*"))) == 2)
            # the command, two processes and two for each, of which one may not be named yet
            assert soon(lambda: len(running(str(module))) >= 7)
            process.send_signal(number)
            process.communicate(timeout=30)  # until all that hold its pipes have ended
            # SIGTERM and SIGHUP are acted on: what was compared would have been reported
            killed = number is signal.SIGKILL
            assert process.returncode == (-number if killed else 128 + number)
            assert soon(lambda: not running(str(module)))
        finally:
            for left in running(str(module)):
                os.kill(left, signal.SIGKILL)


def test_of_an_orderly_end(tmp_path: Path) -> None:
    module = tmp_path / "hangs.py"
    module.write_text(HANGS)
    write_vectors(tmp_path / "cell.h5", make_block(["a-bad", "b-good"]))
    command = ["check", str(tmp_path / "cell.h5"), "--runtime", f"{module}:run", "--timeout", "1"]
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", *command],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert soon(lambda: not running(str(module)))


@pytest.mark.parametrize("number", SIGNALS, ids=lambda s: s.name)
def test_of_gen(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    specs = HERE.parents[1] / "cases" / "openvino" / "gru_sequence"
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", "gen", str(specs), "-o", str(out), "--jobs", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert soon(lambda: len(children(process.pid)) >= 3)  # two, and multiprocessing's own
        time.sleep(0.5)
        started = children(process.pid)
        process.send_signal(number)
        process.communicate(timeout=30)
        assert process.returncode in (-number, 128 + number)
        assert soon(lambda: not any(Path(f"/proc/{one}").exists() for one in started))


def children(process: int) -> list[int]:
    place = Path(f"/proc/{process}/task/{process}/children")
    return [int(number) for number in place.read_text().split()]

"""A terminal that goes away takes nothing but what is drawn on it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .made import IMPORT_ANSWER, make_block, write_vectors

WAITS = (
    IMPORT_ANSWER
    + """
import time
from collections.abc import Iterator
from pathlib import Path
here = Path(__file__)
def run(question):
    if question.id.endswith("c-good"):
        here.with_suffix(".asked").touch()
        while not here.with_suffix(".gone").exists():
            time.sleep(0.05)
    return answer(question)
"""
)


@contextlib.contextmanager
def without_its_terminal(
    folder: Path, *arguments: str, printed: int | None = None, signalled: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """A command whose terminal goes away while it waits for the last case; where it is `signalled`, the
    terminal sends SIGHUP to it. `printed` is standard output, None for the terminal, too."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", *arguments], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=theirs if printed is None else printed, stderr=theirs, start_new_session=True,
        preexec_fn=(lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0)) if signalled else None,
    ) as process:  # fmt: skip
        os.close(theirs)
        while not (folder / "waits.asked").exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.3)
        os.close(ours)
        yield process


def ended_by_itself(folder: Path, *arguments: str, printed: int | None) -> int:
    """The status of a command that goes on when its terminal has gone away without a signal."""
    with without_its_terminal(folder, *arguments, printed=printed) as process:
        (folder / "waits.gone").touch()
        return process.wait(60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "waits.py").write_text(WAITS)
    write_vectors(tmp_path / "before.h5", make_block(["a-good", "b-good"], dtype="float64"))
    write_vectors(tmp_path / "cell.h5", make_block(["c-good"]))
    return tmp_path


CHECK = ["check", ".", "--runtime", "waits.py:run", "--report", "json=r.json"]


@pytest.mark.parametrize("printed", [None, subprocess.DEVNULL], ids=["all", "stderr"])
def test_check_goes_on_without_its_terminal(printed: int | None, folder: Path) -> None:
    assert ended_by_itself(folder, *CHECK, printed=printed) == 0
    report = json.loads((folder / "r.json").read_text())
    assert (report["verdict"], len(report["cases"])) == ("conforms", 3)


def test_run_goes_on_without_its_terminal(folder: Path) -> None:
    command = ["run", "cell.h5", "--runtime", "waits.py:run", "-o", "out.h5"]
    assert ended_by_itself(folder, *command, printed=None) == 0
    assert (folder / "out.h5").exists()


def test_check_that_a_terminal_ends_reports_what_it_compared(folder: Path) -> None:
    with without_its_terminal(folder, *CHECK, signalled=True) as process:
        assert process.wait(60) == 128 + signal.SIGHUP
    report = json.loads((folder / "r.json").read_text())
    assert (report["verdict"], report["interrupted"]) == ("incomplete", True)
    assert len(report["cases"]) == 2

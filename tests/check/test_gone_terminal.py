"""A terminal that goes away takes nothing but what is drawn on it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .made import IMPORT_ANSWER, make_block, write_vectors

WAITS = (
    IMPORT_ANSWER
    + """
import time
from pathlib import Path
here = Path(__file__)
def run(question):
    here.with_suffix(".asked").touch()
    while not here.with_suffix(".gone").exists():
        time.sleep(0.05)
    return answer(question)
"""
)


def ended_without_its_terminal(folder: Path, *arguments: str, printed: int | None) -> int:
    """The status of a command whose terminal goes away meanwhile, without a signal; `printed` is standard
    output, None for the terminal, too."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "grucible", *arguments], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=theirs if printed is None else printed, stderr=theirs, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        while not (folder / "waits.asked").exists():
            assert process.poll() is None
            time.sleep(0.05)
        os.close(ours)
        (folder / "waits.gone").touch()
        return process.wait(60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "waits.py").write_text(WAITS)
    write_vectors(tmp_path / "cell.h5", make_block(["a-good", "b-bad", "c-good"]))
    return tmp_path


@pytest.mark.parametrize("printed", [None, subprocess.DEVNULL], ids=["all", "stderr"])
def test_check_goes_on_without_its_terminal(printed: int | None, folder: Path) -> None:
    command = ["check", "cell.h5", "--runtime", "waits.py:run", "--report", "json=r.json"]
    assert ended_without_its_terminal(folder, *command, printed=printed) == 0
    report = json.loads((folder / "r.json").read_text())
    assert (report["verdict"], len(report["cases"])) == ("conforms", 3)


def test_run_goes_on_without_its_terminal(folder: Path) -> None:
    command = ["run", "cell.h5", "--runtime", "waits.py:run", "-o", "out.h5"]
    assert ended_without_its_terminal(folder, *command, printed=None) == 0
    assert (folder / "out.h5").exists()

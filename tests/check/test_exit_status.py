"""What a shell is told: 0, 1, 2, 70 for an error of grucible's own, 130 after Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import grucible

from .conftest import HERE, Command
from .made import IMPORT_ANSWER, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("status") / "cell.h5"
    write_vectors(path, make_block(["a-good", "b-bad", "c-good"]))
    return path


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), AssertionError()])
def test_70_is_an_error_of_grucibles_own(
    error: Exception, vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("grucible.check.verdict.judge_block", fails)
    ended = command("check", vectors, "--runtime", NUMPY)
    assert (ended.status, ended.out) == (70, "")
    assert ended.err.startswith("Traceback (most recent call last):")
    last = ended.err.splitlines()[-1]
    assert last.startswith(f"grucible: no verdict, for an error of its own: {type(error).__name__}")
    assert f"version {grucible.__version__}" in last


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnosis has an error of its own."""

    def breaks(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("grucible.check.verdict.diagnose", breaks)


WRONG = f"""{IMPORT_ANSWER}
def run(question):
    return {{name: array + ("bad" in question.id) for name, array in answer(question).items()}}
"""
BROKE_OFF = "the diagnosis broke off, and the verdict stands: IndexError: list index out of range."


@pytest.mark.usefixtures("broken", "in_this_process")
def test_1_where_the_diagnosis_broke_off(vectors: Path, tmp_path: Path, command: Command) -> None:
    """The verdict and the reports are given all the same, and one line says how to report it."""
    (tmp_path / "wrong.py").write_text(WRONG)
    asked = ("check", vectors, "--runtime", f"{tmp_path / 'wrong.py'}:run")
    file = tmp_path / "r.json"
    ended = command(*asked, "--report", f"json={file}")
    assert ended.status == 1
    assert ended.out.startswith("does not conform: ")
    assert ended.err.startswith("Traceback (most recent call last):")
    assert ended.err.splitlines()[-1].startswith(f"grucible: {BROKE_OFF}")
    report = json.loads(file.read_text())
    assert report["verdict"] == "does not conform"
    assert report["summary"]["failed"] == report["unexplained"] > 0
    assert [hint.startswith(BROKE_OFF) for hint in report["hints"]] == [True]
    assert BROKE_OFF.partition(":")[0] in " ".join(ended.out.split())


ASLEEP_AT_LAST = f"""{IMPORT_ANSWER}
import time
from pathlib import Path
def run(question):
    if question.id.endswith("c-good"):
        Path(__file__).with_suffix(".asked").touch()
        time.sleep(60)
    return answer(question)
"""


def interrupted(folder: Path, number: int, *arguments: str) -> tuple[int, str, str]:
    """Status, output and errors of a check that gets a signal while its runtime is asleep."""
    (folder / "asleep.py").write_text(ASLEEP_AT_LAST)
    running = subprocess.Popen(
        [sys.executable, "-m", "grucible", "check", *arguments, "--runtime", "asleep.py:run"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (folder / "asleep.asked").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    return running.returncode, out, err


def test_130_after_ctrl_c_before_anything_was_compared(tmp_path: Path) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["c-good"]))
    assert interrupted(tmp_path, signal.SIGINT, "cell.h5") == (130, "", "interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_with_what_was_compared(number: int, tmp_path: Path) -> None:
    """A report of it is written, and marked."""
    write_vectors(tmp_path / "before.h5", make_block(["a-good", "b-good"], dtype="float64"))
    write_vectors(tmp_path / "cell.h5", make_block(["c-good"]))
    status, out, err = interrupted(tmp_path, number, ".", "--report", "json=r.json")
    assert (status, err) == (128 + number, "")
    assert out.startswith("incomplete: 2 of 2 cases passed, interrupted before the others\n")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["interrupted"]) == ("incomplete", True)
    assert len(report["cases"]) == 2

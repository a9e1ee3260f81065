"""Where the system gives few threads: fewer processes, or one line."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from grucible.cases.commands.interrupts import NO_THREADS
from grucible.check.observed import pool
from grucible.check.observed.child import Child
from grucible.check.observed.pool import RuntimePool
from grucible.check.observed.threads import all_at_a_time

from .conftest import HERE, Command, bad_usage
from .made import make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight cases, which are worth four processes here."""
    monkeypatch.setattr(pool, "RUN", 2)
    monkeypatch.setattr(pool, "WORTH_A_CHILD", 1)
    path = tmp_path / "cell.h5"
    write_vectors(path, make_block([f"{n}-good" for n in range(8)]))
    return path


def given(threads: int, patch: pytest.MonkeyPatch) -> None:
    """Let the system give so many threads and no more."""
    left, start = iter(range(threads)), threading.Thread.start

    def start_if_given(self: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(self)

    patch.setattr(threading.Thread, "start", start_if_given)


@pytest.mark.parametrize("threads", [2, 3, 4, 5, 6])
def test_processes_that_no_thread_is_given_for_are_done_without(
    threads: int, vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first needs two: one listens, one asks."""
    given(threads, monkeypatch)
    ended = command("check", vectors, "--runtime", NUMPY, "--jobs", "4")
    assert ended.out.startswith("conforms: 8 of 8 cases passed\n")
    assert (ended.err, ended.status) == ("", 0)


@pytest.mark.parametrize("threads", [0, 1])
def test_not_even_the_first(
    threads: int, vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(threads, monkeypatch)
    ended = command("check", vectors, "--runtime", NUMPY, "--jobs", "4")
    bad_usage(ended, r"no more threads; raise its limit \(ulimit -u, ulimit -v\)")


def test_a_process_that_nobody_listens_to_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    given(0, monkeypatch)
    with pytest.raises(OSError, match="no more threads"):
        Child(["sleep", "60"], "sleep")
    assert started[0].returncode == -9
    assert started[0].stdout.closed


def test_a_thread_that_ctrl_c_kept_from_starting_is_not_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = RuntimePool(NUMPY, 60.0, jobs=1)

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    question = make_block(["a-good"])[1].question(0)
    with pytest.raises(KeyboardInterrupt):
        made.replies([question])
    made.close()


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_calls_are_made_all_the_same(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given(threads, monkeypatch)
    assert all_at_a_time([lambda: 1, lambda: 2]) == [1, 2]
    given(threads, monkeypatch)
    with pytest.raises(ZeroDivisionError):
        all_at_a_time([lambda: 1, lambda: 1 // 0])


OPENBLAS = """
import os, pathlib, sys, threading
pathlib.Path("numpy.py").write_text("import os, signal\\nos.kill(os.getpid(), signal.SIGINT)\\n")
sys.path.insert(0, os.getcwd())
from grucible.__main__ import main

def refused(_):
    raise RuntimeError("can't start new thread")

if {few}:
    threading.Thread.start = refused
main(args=["check", "x", "--runtime", "x"])
"""
"""What OpenBLAS does where the system gives it no thread: it sends the process a SIGINT."""


@pytest.mark.parametrize(
    ("few", "status", "says"),
    [(True, 2, f"grucible: {NO_THREADS}"), (False, 130, "interrupted")],
)
def test_openblas_without_threads_is_no_ctrl_c(
    few: bool, status: int, says: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", OPENBLAS.format(few=few)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "", f"{says}\n")

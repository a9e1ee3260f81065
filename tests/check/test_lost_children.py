"""A runtime that ends without being asked to, or ends its process in ours, is a finding."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from shipped import core_cases

from grucible.check.observed.isolated import IsolatedRuntime

from .test_orphans import running

RUNTIME = f"{Path(__file__).with_name('numpy_gru.py')}:run"


@pytest.fixture
def child() -> Iterator[IsolatedRuntime]:
    isolated = IsolatedRuntime(RUNTIME, 60.0)
    yield isolated
    isolated.close()


def test_a_death_after_an_answer_is_the_next_question_s_finding(child: IsolatedRuntime) -> None:
    questions = [case.question for case in core_cases() if case.operator.startswith("openvino.")]
    assert child.answer(questions[0]).status == "ok"
    assert child._child is not None
    os.kill(child._child._process.pid, signal.SIGKILL)
    while child._child.alive():
        time.sleep(0.01)
    lost = child.answer(questions[1])
    assert (lost.status, lost.message) == ("error", "the runtime crashed (SIGKILL)")
    assert child.answer(questions[1]).status == "ok"


STARTS = """
import subprocess, sys, time
from pathlib import Path
def run(question):
    for more in ({"start_new_session": True}, {"process_group": 0}):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", __file__], **more)
    Path(__file__).with_suffix(".asked").touch()
    time.sleep(600)
"""


def left_after(source: str, module: Path, timeout: float) -> str:
    """The answer to one question of a runtime of this source; nothing that it started is left after it."""
    module.write_text(source)
    isolated = IsolatedRuntime(f"{module}:run", timeout)
    try:
        message = isolated.answer(core_cases()[0].question).message
        until = time.monotonic() + 10
        while running(str(module)) and time.monotonic() < until:
            time.sleep(0.05)
        assert running(str(module)) == []
        return message
    finally:
        isolated.close()
        for left in running(str(module)):
            os.kill(left, signal.SIGKILL)


def test_what_a_runtime_starts_elsewhere_ends_too(tmp_path: Path) -> None:
    """In a session or a group of its own, as long as the runtime lives when it is ended."""
    assert left_after(STARTS, tmp_path / "starts.py", 2.0) == "no answer in 2 s; stopped"
    assert (tmp_path / "starts.asked").exists()

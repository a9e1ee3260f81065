"""A runtime that ends without being asked to, or ends its process in ours, is a finding."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grucible import Question, load_vectors, verify
from grucible.check.observed.isolated import IsolatedRuntime

RUNTIME = f"{Path(__file__).with_name('numpy_gru.py')}:run"


@pytest.fixture
def child() -> Iterator[IsolatedRuntime]:
    isolated = IsolatedRuntime(RUNTIME, 60.0)
    yield isolated
    isolated.close()


def test_a_death_after_an_answer_is_the_next_question_s_finding(child: IsolatedRuntime) -> None:
    questions = [case.question for case in load_vectors() if case.operator.startswith("openvino.")]
    assert child.answer(questions[0]).status == "ok"
    assert child._child is not None
    os.kill(child._child._process.pid, signal.SIGKILL)
    while child._alive():
        time.sleep(0.01)
    lost = child.answer(questions[1])
    assert (lost.status, lost.message) == (
        "error",
        "the runtime crashed (SIGKILL) after its last answer",
    )
    assert child.answer(questions[1]).status == "ok"


def test_ending_the_process_in_ours_is_an_error() -> None:
    def run(_: Question) -> dict[str, Any]:
        sys.exit(0)

    select = ("openvino.GRUCell-3/core/float32/lbr-*",)
    report = verify(runtime=run, select=select, diagnosis=False)
    assert report.verdict == "does not conform"
    assert {result.message for result in report.results} == {"SystemExit: 0"}

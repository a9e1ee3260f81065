"""Ctrl-C does not wait for what is at work, and leaves the verdict that was reached."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged import judge_source

from grucible import Question
from grucible.cases.dtypes import Array
from grucible.check import verdict
from grucible.check.commands.checking import Reporting
from grucible.check.diagnosis.finding import Diagnosis
from grucible.check.observed.source import FromRuntime
from grucible.check.report import Report
from grucible.check.reports.formats import Format
from grucible.check.runtimes.runtime import describe_runtime
from grucible.vectors.vector_set import open_set

from . import numpy_gru
from .made import make_block, write_vectors

LONG = """\
operator: openvino.GRUSequence-5
about: cases that take long
dtypes: [float64]
sizes: {batch_size: 8, seq_length: 40, input_size: 160, hidden_size: 160}
cases:
  - product:
      clip: [absent, 0.25, 0.5, 1.0]
      direction: [forward, reverse, bidirectional]
"""


def test_ctrl_c_does_not_wait_for_what_is_at_work(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    command = [sys.executable, "-m", "grucible", "gen", "long.yaml", "-o", "out", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(3)  # both processes evaluate a case, which takes far longer
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted; 0 of 1 files in out are whole\n")


def test_a_report_that_is_being_written_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_vectors(tmp_path / "v.h5", make_block(["a"]))
    source = FromRuntime(describe_runtime("right", numpy_gru.run))
    report = judge_source(tmp_path / "v.h5", source)
    text = Format.text

    def pressed(self: Format, reports: Sequence[Report]) -> str:
        signal.raise_signal(signal.SIGINT)
        return text(self, reports)

    monkeypatch.setattr(Format, "text", pressed)
    to = Reporting(
        [f"{name}={tmp_path / name}" for name in ("json", "junit")], quiet=True, as_json=False
    )
    to.report([report])
    assert json.loads((tmp_path / "json").read_text())["verdict"] == "conforms"
    assert (tmp_path / "junit").read_text().startswith("<?xml")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_while_failures_are_explained_leaves_the_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(parts: list[Any], *_: Any) -> Diagnosis:
        if parts:
            raise KeyboardInterrupt
        return Diagnosis()

    monkeypatch.setattr(verdict, "diagnose", interrupted)
    write_vectors(tmp_path / "v.h5", make_block(["a"]))

    def zeros(question: Question) -> dict[str, Array]:
        return {n: np.full(t.shape, 0.25, t.dtype) for n, t in question.outputs.items()}

    source = FromRuntime(describe_runtime("zeros", zeros))
    with open_set(tmp_path / "v.h5") as vectors:
        report = verdict.judge(vectors, source, verdict.Demand(), interruptible=True)
    assert report.interrupted
    assert [result.verdict for result in report.results] == ["failed"]
    with pytest.raises(KeyboardInterrupt):
        judge_source(tmp_path / "v.h5", source)

"""Ctrl-C and SIGTERM leave the verdict that was reached, and reports whole."""

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


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_check_that_is_interrupted_reports_what_was_compared(
    number: int, status: int, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(
        "import pathlib, sys, time\n"
        f"sys.path.insert(0, {str(Path(numpy_gru.__file__).parent)!r})\n"
        "import numpy_gru\nasked = 0\ndef run(question):\n    global asked\n    asked += 1\n"
        "    if asked > 40:\n        pathlib.Path('asked').touch()\n        time.sleep(60)\n"
        "    return numpy_gru.run(question)\n"
    )
    command = [sys.executable, "-m", "grucible", "check", "--runtime", "slow.py:run"]
    command += ["--select", "openvino.GRUCell-3/core/*", "--report", "json=report.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "asked").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.partition(":")[0]) == (status, "incomplete")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["interrupted"], report["verdict"]) == (True, "incomplete")

"""Ctrl-C and SIGTERM leave the verdict that was reached, and reports whole."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import numpy_gru


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

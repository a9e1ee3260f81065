"""Ctrl-C does not wait for what is at work, and leaves the verdict that was reached."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

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

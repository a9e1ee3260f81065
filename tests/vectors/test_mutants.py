"""A sample of the mutants and flips of tests/robustness: each is refused, or judged rightly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "robustness/run.py"


def test_mutants_and_flips_are_refused_or_judged_rightly() -> None:
    words = [sys.executable, str(RUN), "--share", "0.002", "mutants", "flips"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(" refused") >= 8
    assert "otherwise" not in ended.stdout

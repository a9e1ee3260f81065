"""Defects of real runtimes, each reduced to a few lines: they are still there, and still that short.

A reproducer asserts the wrong behaviour. When one fails, the runtime has changed: look at it, and at
check/known, before anything else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "reproducers"
FILES = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_defect_is_there(file: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    assert len(file.read_text().splitlines()) <= 25
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_known_findings_name_reproducers_that_exist() -> None:
    known = Path(__file__).parents[2] / "check" / "known" / "onnxruntime.yaml"
    named = {w.strip(".)\n") for w in known.read_text().split() if w.startswith("ort_")}
    assert named
    assert named <= {file.stem for file in FILES}

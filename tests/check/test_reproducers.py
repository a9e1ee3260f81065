"""Defects of real runtimes, each reduced to a few lines: they are still there, and still that short.

A reproducer asserts the wrong behaviour. When one fails, the runtime has changed: look at it, and at
check/known, before anything else.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "reproducers"
FILES = sorted(FOLDER.glob("*.py"))


NEEDED = {
    "iree": "iree",
    "mnn": "MNN",
    "opencv": "cv2",
    "openvino": "openvino",
    "ort": "onnxruntime",
    "tract": "tract",
}
"""The module that a reproducer needs, by the first word of its name."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_defect_is_there(file: Path) -> None:
    for module in ("onnx", NEEDED[file.stem.partition("_")[0]]):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    assert len(file.read_text().splitlines()) <= 30
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_known_findings_name_reproducers_that_exist() -> None:
    known = Path(__file__).parents[2] / "check" / "known"
    named = {
        name
        for file in known.glob("*.yaml")
        for name in re.findall(r"reproducer ([a-z0-9]+_\w+)", file.read_text())
    }
    assert named
    assert named <= {file.stem for file in FILES}

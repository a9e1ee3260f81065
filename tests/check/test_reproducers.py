"""Defects of real runtimes, each in a script of its own: they are still there.

The scripts of check/known/reproducers are made, and end with status 1 as long as the runtime is wrong. Those
beside this file are written by hand: what no case asks. They assert the wrong behaviour. When one of either
fails, the runtime has changed: look at it, and at check/known, before anything else.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .make_reproducers import FOLDER as MADE_FOLDER
from .make_reproducers import listed, scripts
from .test_scripts import WITHOUT

FILES = sorted((Path(__file__).parent / "reproducers").glob("*.py"))
MADE = sorted(MADE_FOLDER.glob("*.py"))
MOST_BYTES = 10 << 10

NEEDED = {
    "iree": "iree",
    "mnn": "MNN",
    "opencv": "cv2",
    "openvino": "openvino",
    "ort": "onnxruntime",
    "tract": "tract",
}
"""The module that a reproducer needs, by the first word of its name."""


def needs(file: Path) -> None:
    """Skip where what a reproducer needs is not installed."""
    for module in ("onnx", NEEDED[file.stem.partition("_")[0]]):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_defect_is_there(file: Path) -> None:
    needs(file)
    assert len(file.read_text().splitlines()) <= 30
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.rows(4)
@pytest.mark.parametrize("file", MADE, ids=lambda file: file.stem)
def test_the_made_script_shows_the_defect(file: Path) -> None:
    needs(file)
    ended = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, file], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stdout
    last = ended.stdout.splitlines()[-1]
    refused = file.stem.endswith(("_required", "_refused"))
    assert last.startswith("refused: " if refused else "wrong: "), ended.stdout + ended.stderr


def test_the_made_scripts_are_what_is_made_now() -> None:
    """python tests/check/make_reproducers.py"""
    now = dict(scripts())
    assert {file.stem: file.read_text(encoding="utf-8") for file in MADE} == now
    assert [*now] == sorted(listed())
    for name, text in now.items():
        assert len(text.encode()) <= MOST_BYTES, name


def test_known_findings_name_reproducers_that_exist() -> None:
    known = Path(__file__).parents[2] / "check" / "known"
    named = {
        name
        for file in known.glob("*.yaml")
        for name in re.findall(r"reproducer\s+([a-z0-9]+_\w+)", file.read_text())
    }
    assert named
    assert named <= {file.stem for file in (*FILES, *MADE)}

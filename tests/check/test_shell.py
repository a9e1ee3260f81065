"""What a shell sees of each command: one process, its exit status, and standard output without colours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HERE
from .made import CELL

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
COMMANDS = {
    "check, right": (["check", "vectors", "--runtime", NUMPY], 0, "conforms: 5 of 5 cases passed"),
    "check, wrong": (["check", "vectors", "--runtime", WRONG], 1, "does not conform: 4 of 5 cases"),
    "check, no runtime": (["check", "vectors", "--runtime", "nonsense"], 2, ""),
    "run": (["run", "vectors/cell.h5", "--runtime", NUMPY, "-o", "out.h5"], 0, "out.h5: 5 ok"),
    "show": (["show", "vectors", "*/a-good"], 0, f"{CELL}/made/float32/a-good"),
    "score": (
        ["score", "vectors/cell.h5", "--misreading", "h0-ignored"],
        1,
        "weak: 1 of 2 times",
    ),
    "runtimes": (["runtimes"], 0, "iree"),
    "cases": (["cases", "vectors"], 2, ""),
    "gen": (["gen", "nothing.yaml", "-o", "out"], 2, ""),
}


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_shell_sees_the_exit_status(name: str, some_vectors: Path) -> None:
    arguments, status, first = COMMANDS[name]
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", *arguments],
        capture_output=True, text=True, check=False, cwd=some_vectors.parent,
        env={**os.environ, "FORCE_COLOR": "1"},
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(first)
    assert "\x1b" not in ended.stdout
    if status == 2:
        assert ended.stdout == ""
        assert ended.stderr.startswith("grucible: ")
        assert ended.stderr.count("\n") == 1
    else:
        assert "Traceback" not in ended.stderr

"""No module of the working directory is run."""

from __future__ import annotations

from pathlib import Path

from grucible.vectors.find import CORE

from .conftest import HERE, grucible_in
from .made import THREE_CASES

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
FLOAT32 = "openvino.GRUCell-3/core/float32/*"


def test_modules_of_the_working_directory_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(THREE_CASES)
    for name in ("json", "pickle", "socket", "signal", "threadpoolctl", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    ended = grucible_in(tmp_path, "check", CELL, "--runtime", NUMPY, "--select", FLOAT32)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = grucible_in(tmp_path, "gen", "spec.yaml", "-o", "out", "--jobs", "2")
    assert (ended.returncode, ended.stderr) == (0, "")

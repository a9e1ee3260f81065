"""Where and how a command is started changes nothing: other modules, another driver, no directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py

import grucible
from grucible.vectors.find import CORE

from .conftest import HERE, Command, grucible_in
from .made import THREE_CASES

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
FLOAT32 = "openvino.GRUCell-3/core/float32/*"


def test_a_working_directory_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = subprocess.run(
        f"cd {gone}; rmdir {gone}; {sys.executable} -m grucible check {CELL} --runtime {NUMPY}",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_h5py_that_is_found_by_a_path_of_the_user(tmp_path: Path, command: Command) -> None:
    """The process that reads texts of variable length finds the modules that this one has."""
    outputs = tmp_path / "outputs.h5"
    assert command("run", CELL, "--runtime", NUMPY, "-o", outputs).status == 0
    with h5py.File(outputs, "r+") as file:
        file.attrs["runtime"] = "mine"
    (tmp_path / "site").mkdir()
    (tmp_path / "site/grucible").symlink_to(Path(grucible.__file__).parent)
    code = (
        "import sys; sys.path[:] = sys.argv.pop(1).split(':')\n"
        "from grucible.__main__ import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ":".join([str(tmp_path / "site"), *sys.path]), "check", CELL, "--outputs", outputs],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\nmine: " in ended.stdout


def test_modules_of_the_working_directory_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(THREE_CASES)
    for name in ("json", "pickle", "socket", "signal", "threadpoolctl", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    ended = grucible_in(tmp_path, "check", CELL, "--runtime", NUMPY, "--select", FLOAT32)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = grucible_in(tmp_path, "gen", "spec.yaml", "-o", "out", "--jobs", "2")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_another_driver_of_hdf5() -> None:
    environment = os.environ | {"HDF5_DRIVER": "direct", "HDF5_DRIVER_CONFIG": "x"}
    arguments = ["check", CELL, "--runtime", NUMPY, "--select", "*/float32/relu_relu*"]
    command = [sys.executable, "-m", "grucible", *map(str, arguments)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")

"""Where and how a command is started changes nothing: other modules, another driver, no directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py

import grucible
from grucible.vectors.find import CORE

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


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

"""What attacks on the command line found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import grucible
from grucible import load_vectors
from grucible.vectors.find import CORE

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
SPEC = """\
operator: openvino.GRUCell-3
about: one case
dtypes: [float32]
sizes: {batch_size: 1, input_size: 2, hidden_size: 2}
cases:
  - list: [{}]
"""


def test_links_in_circles_are_followed_once(tmp_path: Path) -> None:
    shutil.copy(CELL, tmp_path / "core.h5")
    for name in ("a", "b"):
        (tmp_path / name).symlink_to(".")
    assert len(list(load_vectors(tmp_path))) == 232


def test_a_spec_behind_a_link_that_leads_elsewhere(tmp_path: Path, command: Command) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    (tmp_path / "y/tiny.yaml").write_text(SPEC)
    (tmp_path / "x/l.yaml").symlink_to("../y/tiny.yaml")
    for asked in (tmp_path / "x/l.yaml", tmp_path / "x"):
        ended = command("cases", "--list", asked)
        assert (ended.status, ended.out) == (0, "openvino.GRUCell-3/l/float32/noact\n")


@pytest.mark.parametrize("name", ["\u202eabc", "\x1b[2J", "a\udcffb", "a\nb"])
def test_a_spec_whose_name_nobody_can_print(name: str, tmp_path: Path, command: Command) -> None:
    """`check` would refuse what `gen` makes of it."""
    (tmp_path / f"{name}.yaml").write_text(SPEC)
    said = command("gen", tmp_path, "-o", tmp_path / "out").said_in_one_line()
    assert "expected a printable name" in said


def test_a_working_directory_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = subprocess.run(
        f"cd {gone}; rmdir {gone}; {sys.executable} -m grucible check {CELL} --runtime {NUMPY}",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_share_is_a_number(command: Command) -> None:
    said = command("check", "--recompute", "nan", "--runtime", NUMPY).said_in_one_line()
    assert "nan is not a share" in said


def test_what_a_runtime_said_before_it_ended_is_read(tmp_path: Path, command: Command) -> None:
    """However long the judge takes to greet it."""
    code = "print('grucible 1\\nunusable no licence\\nend', flush=True)"
    (tmp_path / "says.py").write_text(f"import os\n{code}\nos.close(0)\n")
    runtime = f"exec: {sys.executable} {tmp_path / 'says.py'}"
    for _ in range(3):
        assert command("check", "--runtime", runtime).said_in_one_line() == "grucible: no licence\n"


FLOODS = """
import sys
sys.path.insert(0, {here!r})
from numpy_gru import run as answer
sys.stderr.write("x\\r" * (20 << 20))
sys.stderr.write("y" * (4 << 20))
def run(question):
    return answer(question)
"""


def test_progress_without_end_does_not_hold_up_the_judge(tmp_path: Path, command: Command) -> None:
    """8 MB on standard error that hold no line feed."""
    (tmp_path / "floods.py").write_text(FLOODS.format(here=str(HERE)))
    ended = command("check", CELL, "--runtime", f"{tmp_path / 'floods.py'}:run", "--timeout", "60")
    assert ended.status == 0
    assert len(ended.err) < 40_000


def test_a_report_goes_where_a_link_leads(tmp_path: Path, command: Command) -> None:
    (tmp_path / "there.json").write_text('{"grucible_report": 1}')
    (tmp_path / "link.json").symlink_to("there.json")
    (tmp_path / "out").symlink_to("/proc/self/fd/1")
    for name in ("link.json", "out"):
        report = f"json={tmp_path / name}"
        assert command("check", CELL, "--runtime", NUMPY, "--report", report).status == 0
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "there.json").read_text().startswith("{\n")


def test_a_report_into_links_in_a_circle(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    ended = command("check", CELL, "--runtime", NUMPY, "--report", f"json={tmp_path / 'a.json'}")
    assert ended.status == 2
    assert ended.err.startswith(f"grucible: {tmp_path}/a.json: cannot be written (")


def test_outputs_are_a_file_or_a_directory(command: Command) -> None:
    said = command("check", CELL, "--outputs", "/dev/null").said_in_one_line()
    assert "/dev/null: is no regular file; expected outputs" in said


def bomb(path: Path, name: str, make: str) -> None:
    """A copy of the cell's core, without a seal, in which a dataset was replaced."""
    path.write_bytes(CELL.read_bytes()[512:])
    with h5py.File(path, "r+") as file:
        block = next(iter(file["float32"].values()))
        del block[name]
        if make == "chunk":
            block.create_dataset(name, (4, 30 << 20), "<f4", chunks=(1, 30 << 20), compression=9)
            block[name][0] = 0
        else:
            block.create_dataset(name, (4,), np.dtype("S120000000"), chunks=(1,), compression=9)
            block[name][0] = b"x" * 120_000_000


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("inputs/X", "chunk", "is compressed in chunks of more than 16 MiB"),
        ("id", "text", "has texts of 120000000 bytes; expected at most 65536"),
    ],
)
def test_bombs(name: str, make: str, says: str, tmp_path: Path, command: Command) -> None:
    bomb(tmp_path / "bomb.h5", name, make)
    said = command("check", tmp_path / "bomb.h5", "--runtime", NUMPY).said_in_one_line()
    assert says in said


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

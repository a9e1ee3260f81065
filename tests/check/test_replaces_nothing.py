"""What is written replaces nothing of others: no text, no file of another program, no later version."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from edited import edited

from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.find import CORE

from .conftest import HERE, Command
from .made import THREE_CASES, make_block, write_outputs, write_vectors
from .suites import OF_CELL, ONE, suites

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/null")
    before = Path("/dev/null").stat()
    for name in ("fifo", "device"):
        said = command("run", CELL, "--runtime", NUMPY, "-o", tmp_path / name).said_in_one_line()
        assert "is no regular file; name another place" in said
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    assert Path("/dev/null").stat().st_ino == before.st_ino


def test_what_a_user_wrote_is_not_replaced(tmp_path: Path, command: Command) -> None:
    """A spec, a program, expectations: neither by outputs nor by digests nor by a report."""
    spec, source = tmp_path / "mine.yaml", tmp_path / "mine.py"
    spec.write_text(THREE_CASES)
    shutil.copy(HERE / "numpy_gru.py", source)
    package = tmp_path / "package.json"
    package.write_text('{"name": "mine"}')
    before = spec.read_bytes(), source.read_bytes()
    runtime = f"{source}:run"
    for arguments in (
        ["gen", spec, "-o", tmp_path / "out", "--digests", spec],
        ["gen", spec, "-o", tmp_path / "out", "--tolerance-digests", spec],
        ["run", CELL, "--runtime", runtime, "-o", source],
        ["check", CELL, "--runtime", runtime, "--report", f"json={source}"],
        ["check", CELL, "--runtime", runtime, "--report", f"json={spec}"],
        ["check", CELL, "--runtime", runtime, "--report", f"json={package}"],
    ):
        said = command(*arguments).said_in_one_line()
        assert "is there already, and " in said
        assert "name another place" in said
    assert (spec.read_bytes(), source.read_bytes()) == before
    assert package.read_text() == '{"name": "mine"}'
    report = tmp_path / ("a" * 245 + ".json")
    for _ in range(2):  # an earlier one is replaced, however long its name
        assert (
            command("check", CELL, "--runtime", runtime, "--report", f"json={report}").status == 0
        )
    assert not list(tmp_path.glob(".*"))


def test_vectors_of_another_version_are_not_replaced(tmp_path: Path, command: Command) -> None:
    copy = Path(shutil.copy(CELL, tmp_path / "core.h5"))
    with edited(copy) as file:
        file.attrs["format_version"] = 3
    before = copy.read_bytes()
    said = command("run", CELL, "--runtime", NUMPY, "-o", copy).said_in_one_line()
    assert "is a vector file; name another place for the outputs" in said
    assert copy.read_bytes() == before


@pytest.mark.parametrize("holds", ["outputs", "vectors"])
def test_what_a_later_grucible_wrote_is_not_replaced(
    holds: str, tmp_path: Path, command: Command
) -> None:
    write_vectors(tmp_path / "v.h5", make_block(["a"]))
    later = tmp_path / "later.h5"
    if holds == "outputs":
        write_outputs(later, tmp_path / "v.h5")
        words: list[Any] = ["run", tmp_path / "v.h5", "--runtime", NUMPY, "-o", later]
    else:
        words = ["import", tmp_path / "suite", "--from", "npz", *OF_CELL, "-o", later]
        suites(tmp_path)
        (tmp_path / "npz").rename(tmp_path / "suite")
        assert command(*words).status == 0
    with h5py.File(later, "r+") as file:
        file.attrs.modify("format_version", 3)
    before = later.read_bytes()
    said = command(*words).said_in_one_line()
    assert said.startswith(
        f"grucible: {later}: is there already, and a later grucible wrote it (format_version 3; this one writes 2)"
    )
    assert later.read_bytes() == before


@pytest.mark.parametrize("command_line", ["import", "run"])
def test_somebody_s_hdf5_file_is_not_replaced(
    command_line: str, tmp_path: Path, command: Command
) -> None:
    for name in ("weights.h5", "weights.outputs.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file["w"] = np.arange(5)
    if command_line == "run":
        arguments = ["run", CELL, "--runtime", NUMPY, "-o", tmp_path / "weights.h5"]
    else:
        export_vectors(None, tmp_path / "x", "raw", select=[ONE])
        arguments = ["import", tmp_path / "x", "-o", tmp_path / "weights.h5"]
    said = command(*arguments).said_in_one_line()
    assert "is there already, and holds no vectors or outputs; name another place" in said
    with h5py.File(tmp_path / "weights.h5") as file:
        assert file["w"][()].tolist() == [0, 1, 2, 3, 4]


def weights(path: Path, name: str) -> bytes:
    with h5py.File(path, "w") as file:
        if name == "format":
            file.attrs["format"] = "keras checkpoint"
        if name == "outputs":
            file.attrs["format"] = "grucible outputs"
        file["w"] = np.arange(1000.0)
    if name == "truncated":
        os.truncate(path, path.stat().st_size - 100)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["format", "outputs", "truncated"])
def test_hdf5_files_of_others_stay(name: str, tmp_path: Path, command: Command) -> None:
    before = weights(tmp_path / "w.h5", name)
    said = command("run", CELL, "--runtime", NUMPY, "-o", tmp_path / "w.h5").said_in_one_line()
    assert "is there already, and holds no vectors or outputs" in said
    assert (tmp_path / "w.h5").read_bytes() == before


def test_what_appears_meanwhile_stays(tmp_path: Path, command: Command) -> None:
    (tmp_path / "slow.py").write_text(
        "import h5py, numpy as np\nasked = 0\n"
        "def run(q):\n    global asked\n    asked += 1\n"
        f"    if asked == 200:\n        with h5py.File({str(tmp_path / 'late.h5')!r}, 'w') as f:\n"
        "            f['w'] = [1, 2, 3]\n"
        "    return {n: np.zeros(t.shape, t.dtype) for n, t in q.outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'slow.py'}:run"
    said = command("run", CELL, "--runtime", runtime, "-o", tmp_path / "late.h5").said_in_one_line()
    assert "holds no vectors or outputs" in said
    with h5py.File(tmp_path / "late.h5") as file:
        assert file["w"][()].tolist() == [1, 2, 3]


def test_texts_of_others_stay(tmp_path: Path, command: Command) -> None:
    (tmp_path / "q").mkdir()
    spec = "operator: openvino.GRUCell-3\nabout: x\ndtypes: [float32]\n"
    spec += (
        "sizes: {batch_size: 2, input_size: 2, hidden_size: 2}\ncases:\n  - list: [{clip: 0.5}]\n"
    )
    (tmp_path / "spec.yaml").write_text(spec)
    texts = {
        "q/core.questions": "my quiz\n",
        "pyproject.toml": "[build-system]\nrequires=[]\n",
        "theme.yaml": "# my spec\noperator: x\n",
        "SUMS": f"{'0' * 64}  weights.npz\n{'1' * 64}  core.h5\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for arguments in (
        ["ask", CELL, "-o", tmp_path / "q"],
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={tmp_path / 'pyproject.toml'}"],
        ["audit", CELL, "-o", tmp_path / "theme.yaml"],
        ["gen", tmp_path / "spec.yaml", "-o", tmp_path / "out", "--digests", tmp_path / "SUMS"],
    ):
        said = command(*arguments).said_in_one_line()
        assert "is there already, and holds something else; name another place" in said
    assert {name: (tmp_path / name).read_text() for name in texts} == texts

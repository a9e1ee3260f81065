"""What is written replaces nothing of others: no text, no file of another program."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from exporting import export_vectors

from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command
from .made import THREE_CASES
from .suites import ONE

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
pytestmark = pytest.mark.usefixtures("in_this_process")


def test_what_a_user_wrote_is_not_replaced(tmp_path: Path, command: Command) -> None:
    """A spec, a program, a quiz: neither by outputs nor by digests nor by a report."""
    (tmp_path / "q").mkdir()
    texts = {
        "mine.yaml": THREE_CASES,
        "mine.py": (HERE / "numpy_gru.py").read_text(),
        "package.json": '{"name": "mine"}',
        "q/core.questions": "my quiz\n",
        "SUMS": f"{'0' * 64}  weights.npz\n{'1' * 64}  core.h5\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    spec, source, package = (tmp_path / n for n in ("mine.yaml", "mine.py", "package.json"))
    for arguments in (
        ["gen", spec, "-o", tmp_path / "out", "--digests", spec],
        ["gen", spec, "-o", tmp_path / "out", "--tolerance-digests", tmp_path / "SUMS"],
        ["run", CELL, "--runtime", NUMPY, "-o", source],
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={source}"],
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={package}"],
        ["audit", CELL, "-o", spec],
        ["ask", CELL, "-o", tmp_path / "q"],
    ):
        assert "is there already, and " in command(*arguments).said_in_one_line()
    assert {name: (tmp_path / name).read_text() for name in texts} == texts
    report = tmp_path / ("a" * 245 + ".json")
    for _ in range(2):  # an earlier one is replaced, however long its name
        ended = command("check", CELL, "--runtime", NUMPY, "--report", f"json={report}")
        assert ended.status == 0
    assert not list(tmp_path.glob(".*"))


def test_force_replaces_a_file_of_others(tmp_path: Path, command: Command) -> None:
    spec = tmp_path / "mine.yaml"
    for arguments in (
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={spec}"],
        ["run", CELL, "--runtime", NUMPY, "-o", spec],
    ):
        spec.write_text(THREE_CASES)
        assert command(*arguments, "--force").status == 0
        assert spec.read_bytes() != THREE_CASES.encode()
        assert "--force" in command("audit", CELL, "-o", spec).said_in_one_line()


def test_vectors_are_replaced_by_nothing_else(tmp_path: Path, command: Command) -> None:
    copy = Path(shutil.copy(CELL, tmp_path / "core.h5"))
    with h5py.File(copy, "r+") as file:
        file.attrs["format_version"] = 3
    (tmp_path / "mine.yaml").write_text(THREE_CASES)
    before = copy.read_bytes()
    for arguments in (
        ["run", CELL, "--runtime", NUMPY, "-o", copy],
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={copy}"],
        ["gen", tmp_path / "mine.yaml", "-o", tmp_path / "out", "--digests", copy],
    ):
        assert f"{copy}: " in command(*arguments).said_in_one_line()
        assert copy.read_bytes() == before


@pytest.mark.parametrize("verb", ["import", "run"])
@pytest.mark.parametrize("file_format", [None, "keras checkpoint"])
def test_somebody_s_hdf5_file_is_not_replaced(
    verb: str, file_format: str | None, tmp_path: Path, command: Command
) -> None:
    for name in ("weights.h5", "weights.outputs.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file["w"] = np.arange(5)
            if file_format:
                file.attrs["format"] = file_format
    before = (tmp_path / "weights.h5").read_bytes()
    arguments = ["run", CELL, "--runtime", NUMPY, "-o", tmp_path / "weights.h5"]
    if verb == "import":
        export_vectors(None, tmp_path / "x", "raw", select=[ONE])
        arguments = ["import", tmp_path / "x", "-o", tmp_path / "weights.h5"]
    assert "is there already" in command(*arguments).said_in_one_line()
    assert (tmp_path / "weights.h5").read_bytes() == before


def test_what_appears_meanwhile_stays(tmp_path: Path, command: Command) -> None:
    late = tmp_path / "late.h5"
    (tmp_path / "slow.py").write_text(
        "import h5py, numpy as np\nasked = 0\n"
        "def run(q):\n    global asked\n    asked += 1\n"
        f"    if asked == 200:\n        with h5py.File({str(late)!r}, 'w') as f:\n"
        "            f['w'] = [1, 2, 3]\n"
        "    return {n: np.zeros(t.shape, t.dtype) for n, t in q.outputs.items()}\n"
    )
    command("run", CELL, "--runtime", f"{tmp_path / 'slow.py'}:run", "-o", late).said_in_one_line()
    with h5py.File(late) as file:
        assert file["w"][()].tolist() == [1, 2, 3]

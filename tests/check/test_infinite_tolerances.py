"""A tolerance that admits everything decides nothing: no junk conforms by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command
from .signed import changed, signed_anew, with_y
from .suites import ONE

FLOAT32 = "openvino.GRUCell-3/core/float32/*"
NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def limits(value: Callable[[str], float]) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        for block in file["float32"].values():
            for name, arrays in block["tolerance"].items():
                arrays["Ho"][...] = value(name)

    return change


@pytest.fixture
def junk(tmp_path: Path) -> str:
    code = "{name: np.full(t.shape, -12345.0).astype(t.dtype) for name, t in q.outputs.items()}"
    (tmp_path / "junk.py").write_text(f"import numpy as np\ndef run(q):\n    return {code}\n")
    return f"{tmp_path / 'junk.py'}:run"


def test_junk_does_not_conform_where_another_chain_admits_nothing(
    tmp_path: Path, junk: str, command: Command
) -> None:
    """An infinite tolerance of the demanded class says nothing, whatever the last class admits."""
    path = changed(tmp_path, limits(lambda name: np.inf if name == "bfloat16-gemm" else 0.0))
    ended = command("check", path, "--runtime", junk, "--select", FLOAT32,
                    "--arithmetic", "float32=bfloat16-gemm")  # fmt: skip
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)
    assert "62 decide nothing" in ended.out


def test_junk_does_not_conform_where_no_class_admits_anything(
    tmp_path: Path, junk: str, command: Command
) -> None:
    path = changed(tmp_path, limits(lambda _: 0.0))
    ended = command("check", path, "--runtime", junk, "--select", FLOAT32, "--atol", "1e30")
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)


def test_a_case_with_an_infinite_tolerance_does_not_decide(
    tmp_path: Path, command: Command
) -> None:
    def half(file: Any) -> None:
        for block in file["float32"].values():
            for limits in block["tolerance"].values():
                limits["Ho"][:, 0] = np.inf

    path = signed_anew(CELL, tmp_path / "v.h5", half)
    ended = command("check", path, "--runtime", NUMPY)
    assert (ended.status, "62 decide nothing" in ended.out) == (1, True)
    said = command("score", path, "--pairs", "--select", ONE).said_in_one_line()
    assert (
        f"{ONE}: a tolerance is infinite, which no rtol and atol admit; leave out --pairs" in said
    )


def test_an_export_without_a_pair_leaves_the_case_out(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnx")

    def some(file: Any) -> None:
        with_y(file)[0]["tolerance/float32/Y"][0] = np.inf
        del with_y(file)[-1]["tolerance/float32"]

    path = signed_anew(CORE / "onnx/gru/plain.h5", tmp_path / "v.h5", some)
    ended = command("export", path, "--to", "onnx", "-o", tmp_path / "x")
    assert ended.status == 0
    assert "left out: 1 of onnx.GRU-14: a tolerance is infinite, which no rtol" in ended.out
    assert "of onnx.GRU-14: the file has no tolerances of the class float32, which" in ended.out

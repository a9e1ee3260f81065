"""What a vector file states of its cases is held against them: tiers, readings, attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from grucible.vectors.find import CORE
from grucible.vectors.hdf5.attributes import write_text_attribute

from .conftest import HERE, Command
from .signed import changed, signed_anew

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def test_a_share_is_a_number(command: Command) -> None:
    said = command("check", "--recompute", "nan", "--runtime", NUMPY).said_in_one_line()
    assert "nan is not a share" in said


def test_a_case_that_was_moved_out_of_the_verdict_is_found(
    tmp_path: Path, command: Command
) -> None:
    def demoted(file: Any) -> None:
        for name in list(file["float32"]):
            file.move(f"float32/{name}", f"float32/{name}-nonportable")
            write_text_attribute(file[f"float32/{name}-nonportable"], "tier", "nonportable")

    path = changed(tmp_path, demoted)
    said = command("check", path, "--runtime", NUMPY, "--recompute", "1").said_in_one_line()
    assert "is marked as nonportable, and it holds nothing that is" in said


def test_cases_of_nan_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    """NaN with tolerance 0 admits nothing but NaN, and says nothing of a GRU."""

    def nan(file: Any) -> None:
        for block in file["float32"].values():
            for name in ("inputs/X", "inputs/initial_hidden_state", "outputs/Ho"):
                block[name][...] = np.nan
            for limits in block["tolerance"].values():
                limits["Ho"][...] = 0

    path = signed_anew(CELL, tmp_path / "v.h5", nan)
    (tmp_path / "nan.py").write_text(
        "import numpy as np\ndef run(q):\n"
        "    return {n: np.full(t.shape, np.nan, t.dtype) for n, t in q.outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'nan.py'}:run"
    for more in ((), ("--recompute", "1")):
        said = command("check", path, "--runtime", runtime, *more).said_in_one_line()
        assert "expects NaN or an infinity, and its tier is required; expected finite" in said


def test_ambiguous_cases_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    def required(file: Any) -> None:
        for name in list(file["float32"]):
            if "-ambiguous" not in name:
                del file[f"float32/{name}"]
                continue
            new = f"float32/{name.replace('-ambiguous', '')}"
            file.move(f"float32/{name}", new)
            del file[new]["readings"]
            del file[new].attrs["tier"]
            write_text_attribute(file[new], "tier", "required")

    path = signed_anew(CORE / "onnx/gru/core.h5", tmp_path / "v.h5", required)
    said = command("check", path, "--runtime", "onnxruntime", "--recompute", "1").said_in_one_line()
    assert "is marked as required, and it is ambiguous" in said

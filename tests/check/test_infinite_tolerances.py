"""A tolerance that admits everything decides nothing: no junk conforms by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Command
from .signed import changed

FLOAT32 = "openvino.GRUCell-3/core/float32/*"


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
    assert "58 decide nothing" in ended.out


def test_junk_does_not_conform_where_no_class_admits_anything(
    tmp_path: Path, junk: str, command: Command
) -> None:
    path = changed(tmp_path, limits(lambda _: 0.0))
    ended = command("check", path, "--runtime", junk, "--select", FLOAT32, "--atol", "1e30")
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)

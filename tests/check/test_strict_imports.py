"""What is imported is what stands there: nothing is passed over, and nothing is taken for something else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Command
from .test_attacked_imports import forged

CELL = "openvino.GRUCell-3"
SHAPES = {"X": (2, 3), "initial_hidden_state": (2, 4), "W": (12, 3), "R": (12, 4), "B": (12,)}


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """A folder with the inputs of a cell."""
    (tmp_path / "cell").mkdir()
    arrays: dict[str, Any] = {name: np.full(shape, 0.5, "f4") for name, shape in SHAPES.items()}
    np.savez(tmp_path / "cell/a.npz", **arrays)
    return tmp_path / "cell"


@pytest.mark.parametrize(("said", "says"), [
    ('"attributes": {"hidden_size": 4, "clip": 0.5, "clip": 1.0}', "a key stands there twice: 'clip'"),
    ('"attributes": {"hidden_size": 4}, "attributes": {"hidden_size": 4, "clip": 1.0}',
     "a key stands there twice: 'attributes'"),
    ('"attributes": {"hidden_size": 4}, "clip": 0.5',
     "has the key 'clip'; expected operator and attributes alone"),
    ('"attributes": {"hidden_size": 4, "clip": 1e400}', "1e400 is beyond float64"),
])  # fmt: skip
def test_the_json_beside_an_npz_file(said: str, says: str, cell: Path, command: Command) -> None:
    (cell / "a.json").write_text(f'{{"operator": "{CELL}", {said}}}')
    ended = command("import", cell, "--from", "npz", "-o", cell / "v.h5")
    assert f"{cell / 'a.json'}: {says}" in ended.said_in_one_line()


def test_attributes_beyond_float64(cell: Path, command: Command) -> None:
    large = '{"hidden_size": 4, "clip": 1e400}'
    given = ["--operator", CELL, "--attributes", large]
    for words in (
        ["answer", cell / "a.npz"],
        ["import", cell, "--from", "npz", "-o", cell / "v.h5"],
    ):
        assert "1e400 is beyond float64" in command(*words, *given).said_in_one_line()
    endless = ["--operator", CELL, "--attributes", large.replace("1e400", '"inf"')]
    assert command("answer", cell / "a.npz", *endless).status == 0


def test_an_export_whose_clip_is_no_number_of_json(tmp_path: Path, command: Command) -> None:
    def endless(manifest: Any) -> None:
        manifest["cases"][0]["attributes"]["clip"] = math.inf

    folder = forged(tmp_path / "x", endless)
    assert "Infinity" in (folder / "manifest.json").read_text()
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert "'clip' has a value that no attribute has" in said

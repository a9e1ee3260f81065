"""Vector files that are too large, or say so, are refused before they are read."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from grucible.vectors.find import CORE

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


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

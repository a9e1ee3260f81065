"""Copies of core files that a stranger changed and signed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from grucible.vectors.hdf5 import CORE
from grucible.vectors.writer import write_digests

CELL = CORE / "openvino/gru_cell/core.h5"


def changed(tmp_path: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a core file, changed and signed again by a stranger."""
    copy = Path(shutil.copy(CELL, tmp_path / "copy.h5"))
    with h5py.File(copy, "r+") as file:
        change(file)
        write_digests(file)
    return copy


def signed_anew(source: Path, copy: Path, change: Callable[[Any], None]) -> Path:
    shutil.copy(source, copy)
    with h5py.File(copy, "r+") as file:
        for dtype in [d for d in file if d not in ("spec", "float32")]:
            del file[dtype]
        change(file)
        write_digests(file)
    return copy


def with_y(file: Any) -> list[Any]:
    """The blocks of float32 that have Y."""
    return [block for block in file["float32"].values() if "Y" in block["outputs"]]

"""Files changed by someone else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py


@contextlib.contextmanager
def edited(path: Path) -> Iterator[Any]:
    """The open HDF5 file at `path`, to be changed."""
    with h5py.File(path, "r+") as file:
        yield file

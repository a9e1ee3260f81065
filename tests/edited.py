"""Files changed by someone who seals them again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from grucible.vectors.hdf5.seal import SEAL_BYTES, sealed


@contextlib.contextmanager
def edited(path: Path) -> Iterator[Any]:
    """The open HDF5 file at `path`, sealed, to be changed; afterwards it is sealed again."""
    with h5py.File(path, "r+") as file:
        assert file.userblock_size == SEAL_BYTES
        yield file
    path.write_bytes(sealed(path.read_bytes()[SEAL_BYTES:]))

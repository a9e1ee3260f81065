"""Every byte of a small core file, flipped: each is noticed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from robustness.measured import Row

from grucible.cases.errors import VectorFileError
from grucible.vectors.hdf5 import CORE
from grucible.vectors.reader import open_vectors

FILE = CORE / "openvino/gru_cell/plain.h5"


def rows(folder: Path) -> Iterator[Row]:
    """One row: every byte, by what `check` does before it believes anything else in a file."""
    raw = bytearray(FILE.read_bytes())
    path = folder / "flipped.h5"
    path.write_bytes(raw)
    row = Row(f"each byte of {FILE.relative_to(CORE)}, one bit flipped")
    start = time.monotonic()
    with path.open("r+b", buffering=0) as file:
        for at, byte in enumerate(raw):
            file.seek(at)
            file.write(bytes([byte ^ 1 << at % 8]))
            try:
                open_vectors(path).verify_content()
                row.see("not noticed")
                row.findings.append(f"byte {at} of {FILE}")
            except VectorFileError:
                row.see("noticed")
            file.seek(at)
            file.write(bytes([byte]))
    open_vectors(path).verify_content()
    row.seconds = (time.monotonic() - start) / row.tried
    yield row

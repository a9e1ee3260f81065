"""The seal of a vector file: its first 512 bytes say the SHA-256 of all that follow.

HDF5 leaves the first bytes of a file to whoever wrote it (its user block). So a changed byte is noticed
wherever it is, in what no digest covers and between the objects too. A file that others wrote may have none.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...cases.errors import VectorFileError

SEAL_BYTES = 512
_HDF5 = b"\x89HDF\r\n\x1a\n"
_SLICE = 1 << 20


def sealed(image: bytes) -> bytes:
    """The bytes of an HDF5 file, behind their seal."""
    return _seal(hashlib.sha256(image).hexdigest()) + image


def check_seal(path: Path) -> None:
    """Raise VectorFileError unless the file has no user block, or one that is its seal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        first = file.read(SEAL_BYTES)
        if first.startswith(_HDF5):
            return
        while piece := file.read(_SLICE):
            digest.update(piece)
    if first != _seal(digest.hexdigest()):
        raise VectorFileError(
            f"{path}: was changed after it was written: its bytes are not those of the SHA-256 at "
            "their beginning; generate the file again"
        )


def _seal(digest: str) -> bytes:
    return f"grucible vectors\nsha256 of all bytes after the first {SEAL_BYTES}: {digest}\n".encode().ljust(
        SEAL_BYTES, b"\n"
    )

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
_BEGINNING = b"grucible vectors\n"
_SLICE = 1 << 20
_BASE_AND_END = {0: (24, 40), 1: (28, 44), 2: (12, 28), 3: (12, 28)}
"""Where a superblock of each version has the base address, and the address of the end of the file."""


def sealed(image: bytes) -> bytes:
    """The bytes of an HDF5 file, behind their seal."""
    return _seal(hashlib.sha256(image).hexdigest()) + image


def has_seal(path: Path) -> bool:
    """Whether a file begins as a seal does."""
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def check_seal(path: Path) -> None:
    """Raise VectorFileError unless the file has no user block, or one that is its seal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        first = file.read(SEAL_BYTES)
        if first.startswith(_HDF5):
            return
        superblock = file.read(_SLICE)
        if SEAL_BYTES + _end_of_file(superblock) == path.stat().st_size:
            digest.update(superblock)
            while piece := file.read(_SLICE):
                digest.update(piece)
    if first != _seal(digest.hexdigest()):
        raise VectorFileError(
            f"{path}: was changed after it was written: its bytes are not those of the SHA-256 at "
            "their beginning; generate the file again"
        )


def _end_of_file(superblock: bytes) -> int:
    """Where the data of an HDF5 file end, counted from its superblock, as that says; -1 where there is none.

    The address of the end is counted from the base address, whichever that is.
    """
    version = superblock[len(_HDF5)] if superblock.startswith(_HDF5) else -1
    if version not in _BASE_AND_END:
        return -1
    base, end = (int.from_bytes(superblock[at : at + 8], "little") for at in _BASE_AND_END[version])
    return end - base


def _seal(digest: str) -> bytes:
    said = f"sha256 of all bytes after the first {SEAL_BYTES}: {digest}\n".encode()
    return (_BEGINNING + said).ljust(SEAL_BYTES, b"\n")

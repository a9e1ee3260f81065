"""SHA256SUMS: the digests of all files of an export, which `sha256sum -c` verifies.

The SHA-256 of that file is the root digest of the whole.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from .bounded import bounded_bytes
from .manifest import ExportError

SUMS = "SHA256SUMS"
_SLICE = 1 << 20
_MOST_BYTES = 32 << 20
_MOST_LINES = 250_000
"""An export of all shipped cases to ONNX has some 80,000 files."""
_LINE = re.compile(rb"([0-9a-f]{64})  (.+)")
MOST_EXPORT_BYTES = 4 << 30
"""The largest export: that of all shipped cases has 0.4 GB."""


def write_sums(folder: Path, files: Collection[str]) -> str:
    """Write the digests of `files` in `folder`; returns the root digest. Raises ExportError for one that is
    no longer there."""
    lines: list[str] = []
    for name in sorted(files):
        try:
            lines.append(f"{_digest(folder / name)[0]}  {name}\n")
        except FileNotFoundError:
            raise ExportError(
                f"{name}: somebody removed it from the export while that was made; export again"
            ) from None
    text = "".join(lines)
    (folder / SUMS).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Sums:
    """The list of digests of an export: what it says of each file, and its own SHA-256."""

    folder: Path
    listed: Mapping[str, str]
    root_sha256: str

    def check(self, files: Collection[str]) -> None:
        """Raise ExportError for one of `files` that is not as the list says, and where together they are
        larger than any export."""
        left = MOST_EXPORT_BYTES
        for name in files:
            file = self.folder / name
            if name not in self.listed or not _stands_there(self.folder, name):
                raise ExportError(
                    f"{self.folder / SUMS}: names no file {name!r}, which the export needs"
                )
            size = file.stat().st_size
            found, size = ("", size) if size > left else _digest(file, left)
            left -= size
            if left < 0:
                raise ExportError(
                    f"{file}: with it the export has more than {MOST_EXPORT_BYTES >> 30} GiB"
                )
            if found != self.listed[name]:
                raise ExportError(f"{file}: was changed: it is not what {SUMS} says")


def read_sums(folder: Path) -> Sums:
    """The list of digests of an export; ExportError where there is none."""
    path = folder / SUMS
    if not _stands_there(folder, SUMS):
        raise ExportError(
            f"{path}: is no list of digests; the export was not finished: make it again"
        )
    raw = bounded_bytes(path, _MOST_BYTES)
    listed: dict[str, str] = {}
    for number, line in enumerate(io.BytesIO(raw), 1):
        parts = _LINE.fullmatch(line.removesuffix(b"\n"))
        if not parts or number > _MOST_LINES:
            raise ExportError(
                f"{path}: line {number} is none of at most {_MOST_LINES:,}, each of 64 hex digits, two "
                "spaces and a file; export again"
            )
        digest, name = parts[1].decode(), parts[2].decode("utf-8", "replace")
        if listed.setdefault(name, digest) != digest:
            raise ExportError(f"{path}: names {name[:200]!r} twice")
    return Sums(folder, listed, hashlib.sha256(raw).hexdigest())


def _stands_there(folder: Path, name: str) -> bool:
    """Whether `folder` itself holds a regular file of that name: no symlink leads out of it."""
    at = folder
    for part in Path(name).parts:
        at /= part
        if at.is_symlink():
            return False
    return at.is_file()


def _digest(path: Path, most: int | None = None) -> tuple[str, int]:
    """The SHA-256 of a file and how many bytes it has; it is read no further than beyond `most`, for it may
    say that it has fewer."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while (most is None or size <= most) and (piece := file.read(_SLICE)):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size

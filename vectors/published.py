"""The digests of all shipped vector files, as published with this version: of content, and of tolerances.

Content is the same on every machine. Tolerances rest on sums in float64, rounded up to 8 bits: another BLAS
may now and then give the next number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

GENERATOR = 1
"""The generator that makes files. Raise it when what `gen` writes into a file changes: files made by an older
one are then made again."""

PUBLISHED = Path(__file__).parent / "digests.txt"
TOLERANCES = Path(__file__).parent / "tolerance_digests.txt"


def published_digests() -> dict[str, str]:
    """Content digest by relative path, e.g. `openvino/gru_cell/core.h5`."""
    return _digests(PUBLISHED)


def published_tolerances() -> dict[str, str]:
    """Digest of the tolerances by relative path."""
    return _digests(TOLERANCES)


@cache
def published_pairs() -> frozenset[tuple[str, str]]:
    """Return the digests of content and of tolerances of each published file."""
    tolerances = _digests(TOLERANCES)
    return frozenset((digest, tolerances[name]) for name, digest in published_digests().items())


def _digests(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return {relative: digest for digest, _, relative in (line.partition("  ") for line in lines)}

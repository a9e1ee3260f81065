"""Exports of the cases that globs select."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grucible.vectors.exchange import export
from grucible.vectors.vector_set import open_set


def export_vectors(
    vectors: Path | None, out: Path, layout: Any, select: Sequence[str] = (), **options: Any
) -> export.Exported:
    """Export the selected cases of vectors; None: of the core."""
    return export.export_vectors(open_set(vectors, select), out, layout, **options)


def forge(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the manifest of an export, and list the digests of all files again."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    sums = folder / "SHA256SUMS"
    names = [line.partition("  ")[2] for line in sums.read_text().splitlines()]
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    sums.write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))

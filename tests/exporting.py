"""Exports of the cases that globs select."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grucible.vectors.exchange import export
from grucible.vectors.vector_set import open_set


def export_vectors(
    vectors: Path | None, out: Path, layout: Any, select: Sequence[str] = (), **options: Any
) -> export.Exported:
    """Export the selected cases of vectors; None: of the core."""
    return export.export_vectors(open_set(vectors, select), out, layout, **options)

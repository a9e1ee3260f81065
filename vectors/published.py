"""The content digests of all shipped vector files, as published with this version."""

from __future__ import annotations

from pathlib import Path

PUBLISHED = Path(__file__).parent / "digests.txt"


def published_digests() -> dict[str, str]:
    """Content digest by relative path, e.g. `openvino/gru_cell/core.h5`."""
    if not PUBLISHED.exists():
        return {}
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    return {relative: digest for digest, _, relative in (line.partition("  ") for line in lines)}

"""Copies of core files that a stranger changed and signed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edited import edited

from grucible.vectors.find import CORE
from grucible.vectors.writer import write_digests

CELL = CORE / "openvino/gru_cell/core.h5"


def changed(tmp_path: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a core file, changed and signed again by a stranger."""
    copy = Path(shutil.copy(CELL, tmp_path / "copy.h5"))
    with edited(copy) as file:
        change(file)
        write_digests(file)
    return copy

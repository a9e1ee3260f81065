"""Parsers that do what strangers' files make parsers do."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from grucible.cases.errors import GrucibleError


def tree(count: int) -> Any:
    """A tree of all that there may be."""
    numbers = np.arange(count, dtype=np.float32)
    return {
        "numbers": numbers,
        "others": [np.array([b"x", b"yy"]), numbers.astype(ml_dtypes.bfloat16), "text", 1.5, None],
        "/array": "no array",
    }


def crash() -> None:
    ctypes.string_at(0)


def hang() -> None:
    while True:
        pass


def fill_memory() -> Any:
    return np.ones(3 << 30, np.uint8)


def refuse() -> None:
    raise GrucibleError("x.h5: is no file")


def fail() -> None:
    raise ValueError("bad\nbytes")

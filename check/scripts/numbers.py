"""Values as Python writes them: the fewest digits that tell a number from its neighbours, every bit kept."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, dtype_name

WIDTH = 98
"""Lines of a script that are made here are no wider: with the mark of a comment 100."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


def array_text(array: Array, indent: str = "") -> str:
    """An expression that makes this array; of bfloat16 its bits, as uint16, by the function `bfloat16`."""
    shape = ", ".join(map(str, array.shape))
    flat = [number(value) for value in array.ravel()]
    kind = dtype_name(array.dtype)
    head, tail = ("bfloat16([", "])") if kind == "bfloat16" else ("np.array([", f"], np.{kind})")
    if array.ndim != 1:
        tail += f".reshape({shape})"
    whole = f"{head}{', '.join(flat)}{tail}"
    if len(indent) + len(whole) <= WIDTH - 20:  # what it is assigned to stands before it
        return whole
    lines = textwrap.wrap(", ".join(flat), WIDTH - len(indent) - 4, break_on_hyphens=False)
    return "\n".join([head, *(f"{indent}    {line}" for line in lines), f"{indent}{tail}"])


def number(value: Any) -> str:
    """A number of numpy's; as its dtype, the text is the same number, bit for bit."""
    if isinstance(value, np.integer):
        return str(int(value))
    if value.dtype == _BFLOAT16:
        value = np.float32(value)
    if np.isnan(value):
        return "np.nan"
    if np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    text = str(value)
    if value.dtype.type(float(text)) != value:  # it is rounded twice, to float64 first
        text = repr(float(value))
    return text if text.startswith("-0.0") else text.removesuffix(".0")


def literal(value: Any) -> str:
    """A value of an attribute."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, str) and '"' not in value and "\\" not in value and value.isprintable():
        return f'"{value}"'
    return repr(value)

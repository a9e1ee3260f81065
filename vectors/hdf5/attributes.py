"""HDF5 attributes: written as fixed-length texts, and read only where their type is one that is safe to read.

A text of variable length lies elsewhere in the file, and a damaged one crashes the HDF5 library itself. So
the type of an attribute is looked at before its value, and vector files have none of that type.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from ...cases.errors import VectorFileError

_MOST_BYTES = 1 << 20
_PLAIN = (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.STRING)

Value = str | int | float | None
AttributeReader = Callable[[Any, str], Value]


def attribute(node: Any, name: str) -> Value:
    """A scalar attribute of what has a low-level `id`, a file, group or dataset: a text or a number.

    None where there is none, or it is something else. Raises VectorFileError for a text of variable
    length, which is not read.
    """
    held = held_attribute(node, name)
    if held is not None and is_variable(held):
        file = os.fsdecode(h5py.h5f.get_name(held))
        raise VectorFileError(
            f"{file}: attribute {name} is a text of variable length; expected one of fixed length"
        )
    return None if held is None else value_of(held)


def write_text_attribute(node: Any, name: str, text: str) -> None:
    """Write an attribute of fixed-length UTF-8 text."""
    raw = text.encode("utf-8")
    node.attrs.create(name, np.array(raw, h5py.string_dtype("utf-8", max(1, len(raw)))))


def held_attribute(node: Any, name: str) -> Any:
    """The open attribute, h5py's low-level one; None if there is none or it does not open."""
    try:
        raw = name.encode("utf-8")
        return h5py.h5a.open(node.id, raw) if h5py.h5a.exists(node.id, raw) else None
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None


def is_variable(held: Any) -> bool:
    """Whether an open attribute is a text of variable length."""
    kind = held.get_type()
    return kind.get_class() == h5py.h5t.STRING and bool(kind.is_variable_str())


def value_of(held: Any) -> Value:
    """The value of an open scalar attribute; None if it is something else."""
    try:
        kind = held.get_type()
        scalar = held.get_space().get_simple_extent_type() == h5py.h5s.SCALAR
        if not scalar or kind.get_class() not in _PLAIN or kind.get_size() > _MOST_BYTES:
            return None
        array = np.empty((), kind.dtype)
        held.read(array)
    except (OSError, RuntimeError, ValueError, TypeError):
        return None
    value = array.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, (int, float)) else None

"""Structural mutants of HDF5 files: objects, types, shapes, links and attributes that are not the format's."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

VALUES: list[Any] = [
    0, -1, 2**31, 2**63 - 1, 1.5, float("nan"), float("inf"), "", "x" * 5000, "\x1b[2J", "ü", "../x",
    b"bytes", [1, 2], np.float16(1), np.uint64(2**64 - 1), True, "[]", "{}", '{"clip": "nan"}',
    "bfloat16", "required", "invalid", "ambiguous", np.zeros((2, 2)),
]  # fmt: skip
DTYPES = ["<f2", "<f4", ">f4", "<f8", "<i1", "<u2", "<i8", "<c8", "S3", "bool", "S0"]
ODD_DTYPES = [
    h5py.string_dtype(), h5py.vlen_dtype(np.float32), h5py.ref_dtype, h5py.enum_dtype({"a": 0, "b": 1}),
    h5py.opaque_dtype(np.dtype("V5")), np.dtype([("a", "<f4"), ("b", "<i4")]), np.dtype(("<f4", (2,))),
]  # fmt: skip
NAMES = ["x", "outputs", "tolerance", "readings", "id", "status", "\x1b[31m", "float32"]


def delete(_: random.Random, file: Any, where: str) -> None:
    del file[where]


def rename(draw: random.Random, file: Any, where: str) -> None:
    parent, _, name = where.rpartition("/")
    new = draw.choice(["x", name.upper(), name + " ", "ü", "-1", "a" * 300])
    file.move(where, f"{parent}/{new}")


def link(draw: random.Random, file: Any, where: str) -> None:
    """Put a link in its place: to another object, to itself, to nothing, into another file."""
    other = draw.choice(names(file))
    target, inside = file[other], other.startswith(where)
    del file[where]
    soft = [h5py.SoftLink(f"/{name}") for name in (other, where, "")]
    outside = [h5py.ExternalLink("/etc/passwd", "/"), h5py.ExternalLink(file.filename, other)]
    file[where] = draw.choice([*soft, *outside]) if inside or draw.random() < 0.5 else target


def retype(draw: random.Random, file: Any, where: str) -> None:
    """Make the dataset anew in another type."""
    shape, odd = file[where].shape, draw.random() < 0.3
    del file[where]
    file.create_dataset(where, shape, draw.choice(ODD_DTYPES if odd else DTYPES))


def reshape(draw: random.Random, file: Any, where: str) -> None:
    """Make the dataset anew in another shape, or stored in another way."""
    shape, dtype = list(file[where].shape), file[where].dtype
    axis = draw.randrange(len(shape))
    shape[axis] = draw.choice([0, 1, shape[axis] + 1, 1000, shape[axis]])
    if draw.random() < 0.3:
        shape = draw.choice([[], shape[:-1], [*shape, 1], shape[::-1]])
    filtered = {"chunks": True, "compression": draw.choice(["gzip", "lzf"]), "fletcher32": True}
    growing = {"chunks": True, "maxshape": [None] * len(shape)}
    options: dict[str, Any] = draw.choice([{}, {}, filtered, growing]) if shape else {}
    del file[where]
    file.create_dataset(where, shape, dtype, **options)


def revalue(draw: random.Random, file: Any, where: str) -> None:
    """Put other values into the dataset."""
    array = file[where][()]
    flat = array.reshape(-1)
    at = draw.randrange(len(flat))
    if array.dtype.kind == "S":
        width = array.dtype.itemsize
        text = draw.choice([b"", b"\xff" * width, b"{}", b"x" * width, b"\0a", b"a\nb", flat[0]])
        flat[at] = text[:width]
    elif array.dtype.kind == "f":
        value = draw.choice([np.nan, np.inf, -np.inf, -0.0, -1.0, 1e30, 0.0])
        flat[at : at + draw.choice([1, len(flat)])] = value
    else:
        flat[at] = draw.choice([0, 1, 127])
    file[where][...] = array


def add(draw: random.Random, file: Any, where: str) -> None:
    """Put one more object beside it."""
    parent, name = file[where].parent, draw.choice(NAMES)
    if draw.random() < 0.5:
        parent.create_group(name)
    else:
        parent[name] = draw.choice(VALUES)


def attribute(draw: random.Random, file: Any, where: str) -> None:
    """Change, add or remove an attribute of the object, of its parent or of the root."""
    node = draw.choice([file, file[where], file[where].parent])
    name = draw.choice([*node.attrs, "dtype", "tier", "format", "hidden_size", "x"])
    if name in node.attrs and draw.random() < 0.3:
        del node.attrs[name]
    else:
        node.attrs[name] = draw.choice(VALUES)


CHANGES = (delete, rename, link, retype, reshape, revalue, revalue, add, attribute, attribute)


def names(file: Any) -> list[str]:
    """The paths of all objects."""
    found: list[str] = []
    file.visit(found.append)
    return found


def mutate(path: Path, seed: int, sign: Callable[[Path], None] | None) -> None:
    """Change a file in one to three ways; with `sign`, two thirds are signed again after it."""
    draw = random.Random(seed)
    for _ in range(draw.choice([1, 1, 2, 3])):
        change = draw.choice(CHANGES)
        with h5py.File(path, "r+") as file:
            try:
                change(draw, file, draw.choice(names(file)))
            except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
                continue  # HDF5 itself does not make such a thing
    if sign and draw.random() < 0.67:
        try:
            sign(path)
        except Exception:
            return  # not to be signed

"""Structural mutants of HDF5 files: objects, types, shapes, links and attributes that are not the format's."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Change = Callable[[random.Random, Any, str], None]
VALUES: list[Any] = [
    0, -1, 2**31, 2**63 - 1, 1.5, float("nan"), float("inf"), "", "x" * 5000, "\x1b[2J", "ü", "../x",
    b"bytes", [1, 2], [], np.float16(1), np.uint64(2**64 - 1), True, "[]", "{}", '{"clip": "nan"}',
    "bfloat16", "required", "invalid", "ambiguous", np.zeros((2, 2)),
]  # fmt: skip
DTYPES = ("<f2", "<f4", ">f4", "<f8", "<i1", "<u2", "<i8", "<c8", "S3", "bool", "S0")
ODD_DTYPES = (
    h5py.string_dtype(),
    h5py.vlen_dtype(np.float32),
    h5py.ref_dtype,
    h5py.enum_dtype({"a": 0, "b": 1}),
    h5py.opaque_dtype(np.dtype("V5")),
    np.dtype([("a", "<f4"), ("b", "<i4")]),
    np.dtype(("<f4", (2,))),
)


def names(file: Any) -> list[str]:
    """The paths of all objects."""
    found: list[str] = []
    file.visit(found.append)
    return found


def delete(_: random.Random, file: Any, where: str) -> None:
    """Without the object."""
    del file[where]


def rename(draw: random.Random, file: Any, where: str) -> None:
    """Under another name."""
    parent, _, name = where.rpartition("/")
    file.move(
        where, f"{parent}/{draw.choice(['x', name.upper(), name + ' ', 'ü', '-1', 'a' * 300])}"
    )


def link(draw: random.Random, file: Any, where: str) -> None:
    """A link in its place: to another object, to itself, to nothing, into another file."""
    other = draw.choice(names(file))
    del file[where]
    file[where] = draw.choice(
        [
            h5py.SoftLink(f"/{other}"),
            h5py.SoftLink(f"/{where}"),
            h5py.SoftLink("/"),
            h5py.ExternalLink("/etc/passwd", "/"),
            h5py.ExternalLink(file.filename, f"/{other}"),
        ]
        if other == where or other.startswith(where) or draw.random() < 0.5
        else [file[other]]
    )


def retype(draw: random.Random, file: Any, where: str) -> None:
    """The dataset in another type."""
    data = file[where]
    if not isinstance(data, h5py.Dataset):
        return
    shape = data.shape
    del file[where]
    if draw.random() < 0.3:
        file.create_dataset(where, shape, dtype=draw.choice(ODD_DTYPES))
    else:
        file[where] = np.zeros(shape, draw.choice(DTYPES))


def reshape(draw: random.Random, file: Any, where: str) -> None:
    """The dataset in another shape, or with other ways to store it."""
    data = file[where]
    if not isinstance(data, h5py.Dataset) or not data.shape:
        return
    shape, dtype = list(data.shape), data.dtype
    axis = draw.randrange(len(shape))
    shape[axis] = draw.choice([0, 1, shape[axis] + 1, 1000, shape[axis]])
    if draw.random() < 0.3:
        shape = draw.choice([[], shape[:-1], [*shape, 1], shape[::-1]])
    options: dict[str, Any] = {}
    if shape and draw.random() < 0.4:
        options = {"chunks": True, "compression": draw.choice(["gzip", "lzf"]), "fletcher32": True}
    if shape and draw.random() < 0.2:
        options = {"maxshape": [None] * len(shape), "chunks": True}
    del file[where]
    file.create_dataset(where, shape, dtype, **options)


def revalue(draw: random.Random, file: Any, where: str) -> None:
    """Other values in the dataset."""
    data = file[where]
    if not isinstance(data, h5py.Dataset) or not data.size:
        return
    array = data[()]
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
    data[...] = array


def add(draw: random.Random, file: Any, where: str) -> None:
    """One object more."""
    parent = file[where] if isinstance(file[where], h5py.Group) else file[where].parent
    name = draw.choice(
        ["x", "outputs", "tolerance", "readings", "id", "status", "\x1b[31m", "float32"]
    )
    if name in parent:
        return
    if draw.random() < 0.5:
        parent.create_group(name)
    else:
        parent[name] = draw.choice([v for v in VALUES if not isinstance(v, list) or v])


def attribute(draw: random.Random, file: Any, where: str) -> None:
    """An attribute of the object, or of the root, that is other, more, or gone."""
    node = draw.choice([file, file[where], file[where].parent])
    known = [*node.attrs, "dtype", "tier", "format", "hidden_size", "x"]
    name = draw.choice(known)
    if name in node.attrs and draw.random() < 0.3:
        del node.attrs[name]
    else:
        node.attrs[name] = draw.choice(VALUES)


CHANGES: tuple[Change, ...] = (
    delete, rename, link, retype, reshape, revalue, revalue, add, attribute, attribute,
)  # fmt: skip


def mutate(path: Path, seed: int, sign: Callable[[Path], None] | None) -> str:
    """Change the file at `path` in one to three ways; with `sign`, two thirds are signed again after it.

    Returns what was done, in short.
    """
    draw = random.Random(seed)
    done = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        change = draw.choice(CHANGES)
        with h5py.File(path, "r+") as file:
            there = names(file)
            where = draw.choice(there)
            try:
                change(draw, file, where)
            except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
                continue  # HDF5 itself does not make such a thing
        done.append(f"{change.__name__} {where}")
    if sign and draw.random() < 0.67:
        try:
            sign(path)
            done.append("signed")
        except Exception:
            done.append("not to be signed")
    return "; ".join(done)

"""Vector files and outputs files as trees of groups and datasets.

A file may be anything. It is read whole, by a process of its own (`cases.apart`), which takes from it what
the format has: numbers and texts of fixed length, in groups with attributes, reached by hard links alone. The
core vectors, which come with the package, are read by this process.
"""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..cases.apart import NotParsed, Tree, parse_apart
from ..cases.dtypes import FLOAT_TYPES, Array, dtype_name
from ..cases.errors import GrucibleError, VectorFileError

FORMAT_VERSION = 2
VECTORS = "grucible vectors"
OUTPUTS = "grucible outputs"
CORE = Path(__file__).parent
"""The directory of the core vectors."""
MOST_BYTES, MOST_TIMES = 512 << 20, 16
"""Maximum bytes that a file may hold, and times its own size in addition; zeros are compressed 1000-fold."""
MOST_NAMES = 4096
"""Maximum members of a group; the largest of ours has some 300 blocks."""
MOST_ROWS = 1 << 15
"""Maximum rows of a dataset; a case takes 20 µs and 2 KB, however small it is."""
MOST_TEXT_WIDTH = 64 << 10
"""Maximum bytes of a text, such as an id."""
MOST_DEPTH = 8
"""Maximum groups within each other; the format has 6."""
_MOST_ATTRIBUTES = 100
"""Maximum attributes of a group or dataset; a block of ours has 8."""
_MOST_ATTRIBUTE_BYTES = 1 << 20
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy
_READ = {VECTORS: (2,), OUTPUTS: (1, 2)}  # nothing in outputs files changed with version 2
_OF_OUTPUTS = ("id", "outputs", "status", "message")
"""What is read of a block of outputs; what else stands there is not looked at."""

Value = str | int | float | None


class Stored:
    """A dataset: its `shape`, and its `dtype` by name, or `text`. `where` names it in errors."""

    def __init__(self, array: Array, where: str) -> None:
        self.array, self.where = array, where
        self.shape: tuple[int, ...] = array.shape
        self.dtype = "text" if array.dtype.kind == "S" else dtype_name(array.dtype)

    def texts(self) -> list[str]:
        """Return the rows of a list of texts. Raises VectorFileError for other data."""
        if self.dtype != "text" or len(self.shape) != 1:
            raise VectorFileError(f"{self.where}: is not a list of texts")
        try:
            texts = [row.decode("utf-8") for row in self.array.tolist()]
        except UnicodeDecodeError:
            raise VectorFileError(f"{self.where}: is not UTF-8 text") from None
        if any("\n" in text for text in texts):
            raise VectorFileError(f"{self.where}: a text has a line feed")
        return texts


class Folder:
    """A group. `where` names it in errors: `FILE: /path`, or `FILE: ` of the root."""

    def __init__(self, tree: Tree, where: str) -> None:
        self._attributes, self._members, self.where = tree["attributes"], tree["members"], where
        self.names: list[str] = sorted(self._members)
        """The names in the group, ascending by code points."""

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def attribute(self, name: str) -> Value:
        """Return a scalar attribute of the group; None where there is none."""
        value: Value = self._attributes.get(name)
        return value

    def group(self, name: str) -> Folder:
        """Return the group `name`; VectorFileError if there is none."""
        found = self._member(name)
        if not isinstance(found, dict):
            raise VectorFileError(f"{self.where}/{name}: is not a group")
        return Folder(found, f"{self.where}/{name}")

    def groups(self) -> dict[str, Folder]:
        """All members, by name; VectorFileError for anything that is not a group."""
        return {name: self.group(name) for name in self.names}

    def dataset(self, name: str) -> Stored:
        """Return the dataset `name`; VectorFileError if there is none that can be read."""
        found = self._member(name)
        if not isinstance(found, np.ndarray):
            raise VectorFileError(f"{self.where}/{name}: is not a dataset")
        return Stored(found, f"{self.where}/{name}")

    def _member(self, name: str) -> Any:
        if name not in self._members:
            raise VectorFileError(f"{self.where}/{name}: is missing")
        found = self._members[name]
        if isinstance(found, str):  # why it was not read
            raise VectorFileError(f"{self.where}/{name}: {found}")
        return found


def open_file(path: Path, kind: str, *, whole: bool = True) -> Folder:
    """Read a file of `kind` (VECTORS or OUTPUTS), or its attributes; VectorFileError if it is none."""
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file; expected {kind} (HDF5)")
    place = str(path.absolute())  # the child has a working directory of its own
    try:
        if path.is_relative_to(CORE):
            tree = read_file(place, kind, whole)
        else:
            tree = parse_apart(read_file, place, kind, whole)
    except (NotParsed, OSError, RuntimeError, ValueError, KeyError) as error:
        raise VectorFileError(f"{path}: is damaged ({error})") from None
    except GrucibleError as error:
        raise VectorFileError(str(error)) from None
    if isinstance(tree, str):
        raise VectorFileError(f"{path}: {tree}")
    root = Folder(tree, f"{path}: ")
    version = root.attribute("format_version")
    if (found := root.attribute("format")) != kind:
        raise VectorFileError(f"{path}: format is {found!r}; expected {kind!r}")
    if version not in _READ[kind]:
        read = " and ".join(map(str, _READ[kind]))
        again = "; make the file again with: grucible gen" if kind == VECTORS else ""
        raise VectorFileError(
            f"{path}: format_version is {version}; this grucible reads {read}{again}"
        )
    return root


def read_file(path: str, kind: str, whole: bool) -> Tree:
    """Parse a file: groups as `attributes` and `members`, datasets as arrays.

    A text says why a member was not read. Unless `whole`, there are the attributes of the root alone.
    """
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise VectorFileError(f"{path}: {_why_not_open(error, kind)}") from None
    with file:
        if whole:
            return tree_of(file, outputs=kind == OUTPUTS)
        return {"attributes": _attributes(file.id), "members": {}}


def tree_of(file: h5py.File, *, outputs: bool = False) -> Tree:
    """Return the tree of an open file."""
    root = h5py.h5o.open(file.id, b"/")
    return _Reading(MOST_BYTES + MOST_TIMES * file.id.get_filesize(), outputs).group(root, ())


def _why_not_open(error: OSError, kind: str) -> str:
    why = str(error)
    if "lock file" in why and error.errno in (errno.EAGAIN, errno.EACCES):
        return "is open in another program; close it there, and try again"
    if "already open for" in why:
        return "is marked as open for writing; close the program that writes it, or remove the file"
    if error.errno is not None:
        reason = os.strerror(error.errno)
        return f"cannot be read ({reason}); make it readable, or name another place"
    if "truncated" in why:
        return f"is truncated; expected {kind}"
    return f"is not an HDF5 file; expected {kind}"


class _Reading:
    """Reads what a file holds, `left` bytes at most."""

    def __init__(self, left: int, outputs: bool) -> None:
        self._left, self._outputs = left, outputs

    def group(self, group: Any, path: tuple[str, ...]) -> Tree:
        """Return a group at a path, or why it is not read."""
        links: list[tuple[bytes, int]] = []

        def list_one(name: bytes, link: Any) -> bool | None:
            links.append((name, link.type))
            return len(links) > MOST_NAMES or None  # all but None ends it

        if len(path) > MOST_DEPTH:
            return "is a group too deep in others"
        if (count := group.get_num_objs()) <= MOST_NAMES:  # as the file says
            group.links.iterate(list_one, info=True)
        if (count := max(count, len(links))) > MOST_NAMES:
            return f"holds {count} things; expected at most {MOST_NAMES}"
        members = {}
        for name, link in links:
            inside = (*path, name.decode("utf-8"))
            if not self._outputs or _is_part_of_outputs(inside):
                members[inside[-1]] = self._member(group, name, link, inside)
        return {"attributes": _attributes(group), "members": members}

    def _member(self, group: Any, name: bytes, link: int, path: tuple[str, ...]) -> Tree:
        if link != h5py.h5l.TYPE_HARD:
            return "is a link; expected the thing itself"
        try:
            member = h5py.h5o.open(group, name)
            if (names := h5py.h5o.get_info(member).rc) != 1:
                return f"has {names} names in the file; expected one"
            if isinstance(member, h5py.h5g.GroupID):
                return self.group(member, path)
            if isinstance(member, h5py.h5d.DatasetID):
                return _why_not_whole(member) or self._dataset(member)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            return f"is damaged ({str(error)[:200]})"
        return "is neither a group nor a dataset"

    def _dataset(self, data: Any) -> Array | str:
        """Return the array of a dataset, in the machine's byte order, or why it is not read."""
        shape, dtype = data.shape, data.dtype
        if dtype.kind not in "fiuS" or not shape:
            return f"is damaged (type {dtype} is not one of the format's)"
        if dtype.kind == "S" and dtype.itemsize > MOST_TEXT_WIDTH:
            return f"has texts of {dtype.itemsize} bytes; expected at most {MOST_TEXT_WIDTH}"
        if shape[0] > MOST_ROWS:
            return f"has {shape[0]:,} rows; expected at most {MOST_ROWS:,}"
        self._left -= math.prod(shape) * dtype.itemsize
        if self._left < 0:
            return (
                f"with it the file claims to hold more than {MOST_BYTES >> 20} MiB "
                f"and {MOST_TIMES} times its size; write it with less compression"
            )
        array: Array = np.zeros(shape, dtype.newbyteorder("="))
        if array.size:
            data.read(h5py.h5s.ALL, h5py.h5s.ALL, array)
        marked = array.dtype == np.uint16 and _attributes(data).get("dtype") == "bfloat16"
        return array.view(_BFLOAT16) if marked else array


def _is_part_of_outputs(path: tuple[str, ...]) -> bool:
    """Whether something at a path of an outputs file is part of the format."""
    return path[0] in FLOAT_TYPES and (len(path) < 3 or path[2] in _OF_OUTPUTS)


def _why_not_whole(data: Any) -> str:
    """Why a dataset does not hold all its data, in this file; "" where it does.

    What was never written reads as the fill value. Where there is none, the HDF5 library leaves in an array
    what was in memory.
    """
    creation, layout = data.get_create_plist(), data.get_create_plist().get_layout()
    empty = data.get_space().get_simple_extent_type() == h5py.h5s.NULL
    if empty or layout == h5py.h5d.VIRTUAL or creation.get_external_count():
        return "does not hold its data in this file"
    never = creation.get_fill_time() == h5py.h5d.FILL_TIME_NEVER
    if not never and creation.fill_value_defined() != h5py.h5d.FILL_VALUE_UNDEFINED:
        return ""
    if layout == h5py.h5d.CHUNKED:
        sides = zip(data.shape, creation.get_chunk(), strict=True)
        whole = data.get_num_chunks() >= math.prod(-(-length // side) for length, side in sides)
    else:
        whole = layout == h5py.h5d.COMPACT or data.get_offset() is not None or 0 in data.shape
    why = "was not written as a whole, and has no fill value for the rest; write all of it"
    return "" if whole else why


def _attributes(node: Any) -> dict[str, Value]:
    """Return the scalar attributes of something with a low-level id, texts and numbers."""
    found: dict[str, Value] = {}
    if (count := h5py.h5a.get_num_attrs(node)) > _MOST_ATTRIBUTES:
        where = h5py.h5i.get_name(node).decode("utf-8", "replace")
        raise ValueError(f"{where} has {count:,} attributes; expected at most {_MOST_ATTRIBUTES}")
    for index in range(count):
        stored = h5py.h5a.open(node, index=index)
        scalar = stored.get_space().get_simple_extent_type() == h5py.h5s.SCALAR
        if scalar and stored.get_type().get_size() <= _MOST_ATTRIBUTE_BYTES:
            array: Array = np.empty((), stored.dtype)
            if array.dtype.kind in "fiuSO":
                stored.read(array)
                value = array.item()
                value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                if isinstance(value, (str, int, float)):
                    found[stored.name.decode("utf-8", "replace")] = value
    return found

"""Vector files and outputs files as trees of groups and datasets.

A file may hold anything. Another process (`cases.apart`) reads the whole file, and takes only what the format
has: numbers and texts of fixed length, in groups with attributes, reached by hard links. This process itself
reads the core vectors, which come with the package.
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
from ..cases.dtypes import Array, dtype_name, numpy_dtype
from ..cases.errors import GrucibleError, VectorFileError
from .packed import PACKED, unpack

FORMAT_VERSION = 2
VECTORS = "grucible vectors"
OUTPUTS = "grucible outputs"
CORE = Path(__file__).parent
"""The directory of the core vectors."""
MOST_BYTES, MOST_TIMES = 512 << 20, 16
"""Maximum content of a file: bytes, plus a multiple of the file's size; zeros are compressed 1000-fold."""
MOST_NAMES = 4096
"""Maximum members of a group; the largest of ours has some 300 blocks."""
MOST_ROWS = 1 << 15
"""Maximum rows of a dataset; a case takes 20 µs and 2 KB, however small it is."""
MOST_TEXT_WIDTH = 64 << 10
"""Maximum bytes of a text, such as an id."""
MOST_DEPTH = 8
"""Maximum depth of groups inside groups; the format has 6."""
STORED_AS: dict[str, np.dtype[Any]] = {"bfloat16": np.dtype(np.uint16), "bool": np.dtype(np.uint8)}
"""The integers that stand for types that HDF5 lacks; the dataset's attribute `dtype` names the type."""
_READ = {VECTORS: (2,), OUTPUTS: (1, 2)}  # nothing in outputs files changed with version 2

Value = str | int | float | None


class Stored:
    """A dataset: its `shape`, and its `dtype`, a name or `text`. `where` names the dataset in errors."""

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

    def has_group(self, name: str) -> bool:
        """Say whether a member is a group that was read."""
        return isinstance(self._members[name], dict)

    def group(self, name: str) -> Folder:
        """Return the group `name`; VectorFileError if there is none."""
        found = self._member(name)
        if not isinstance(found, dict):
            raise VectorFileError(f"{self.where}/{name}: is not a group")
        return Folder(found, f"{self.where}/{name}")

    def groups(self) -> dict[str, Folder]:
        """Return all members, by name; VectorFileError for a member that is no group."""
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
        if isinstance(found, str):  # the reason why it was not read
            raise VectorFileError(f"{self.where}/{name}: {found}")
        return found


def is_later(path: Path) -> bool:
    """Say whether the file at `path` has a later format version."""
    try:
        version = Folder(_parse(path, "", whole=False), "").attribute("format_version")
    except VectorFileError:
        return False
    return isinstance(version, int) and version > FORMAT_VERSION


def _parse(path: Path, kind: str, *, whole: bool) -> Tree:
    """Read a file, or its attributes; VectorFileError if it cannot be read."""
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file; expected {kind} (HDF5)")
    try:
        if path.resolve().is_relative_to(CORE.resolve()):
            return _unpacked(read_file(str(path), whole))
        return parse_apart(read_file, str(path.absolute()), whole)
    except (NotParsed, OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
        raise VectorFileError(f"{path}: is damaged ({error})") from None
    except GrucibleError as error:
        raise VectorFileError(f"{path}: {error}; expected {kind}") from None


def _unpacked(tree: Tree) -> Tree:
    if tree["attributes"].get("format") == PACKED:
        unpack(tree)
        tree["attributes"]["format"] = VECTORS
    return tree


def open_file(path: Path, kind: str, *, whole: bool = True) -> Folder:
    """Read a file of `kind` (VECTORS or OUTPUTS), or its attributes; VectorFileError for another kind."""
    root = Folder(_parse(path, kind, whole=whole), f"{path}: ")
    version = root.attribute("format_version")
    if (found := root.attribute("format")) != kind:
        why = "; it is read where it is installed; make a copy with: grucible gen" * (
            found == PACKED
        )
        raise VectorFileError(f"{path}: format is {found!r}; expected {kind!r}{why}")
    if version not in _READ[kind]:
        read = " and ".join(map(str, _READ[kind]))
        again = "; make the file again with: grucible gen" if kind == VECTORS else ""
        raise VectorFileError(
            f"{path}: format_version is {version}; this grucible reads {read}{again}"
        )
    return root


def read_file(path: str, whole: bool) -> Tree:
    """Parse a file: groups as `attributes` and `members`, datasets as arrays.

    A text in place of a member says why it was not read. Unless `whole`, only the root's attributes are read.
    """
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        if "lock file" in why or error.errno in (errno.EAGAIN, errno.EACCES):
            why += "; is it open in another program?"
        raise VectorFileError(f"is not an HDF5 file that can be read ({why})") from None
    with file:
        return tree_of(file) if whole else {"attributes": _attributes(file["/"].id), "members": {}}


def tree_of(file: h5py.File) -> Tree:
    """Return the tree of an open file."""
    return _Reading(MOST_BYTES + MOST_TIMES * file.id.get_filesize()).group(file["/"], 0)


class _Reading:
    """The reader of a file's content, of at most `left` bytes."""

    def __init__(self, left: int) -> None:
        self._left = left

    def group(self, group: h5py.Group, depth: int) -> Tree:
        """Return a group that is inside `depth` others, or the reason why it is not read."""
        links: list[tuple[bytes, int]] = []
        group.id.links.iterate(lambda name, link: links.append((name, link.type)), info=True)
        if len(links) > MOST_NAMES or depth > MOST_DEPTH:
            return (
                f"holds {len(links)} things, {depth} groups deep; expected at most {MOST_NAMES} things, "
                f"{MOST_DEPTH} deep"
            )
        members = {
            name.decode("utf-8"): self._member(group, name, kind, depth) for name, kind in links
        }
        return {"attributes": _attributes(group.id), "members": members}

    def _member(self, group: h5py.Group, name: bytes, kind: int, depth: int) -> Tree:
        if kind != h5py.h5l.TYPE_HARD:
            return "is a link; expected the thing itself"
        try:
            member = h5py.h5o.open(group.id, name)
            if (names := h5py.h5o.get_info(member).rc) != 1:
                return f"has {names} names in the file; expected one"
            if isinstance(member, h5py.h5g.GroupID):
                return self.group(h5py.Group(member), depth + 1)
            return self._dataset(member)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            return f"is damaged ({str(error)[:200]})"

    def _dataset(self, data: h5py.h5d.DatasetID) -> Array | str:
        """Return the array of a dataset, in the machine's byte order, or the reason why it is not read."""
        shape, dtype, creation = data.shape, data.dtype, data.get_create_plist()
        virtual = creation.get_layout() == h5py.h5d.VIRTUAL
        if not shape or virtual or creation.get_external_count():
            return "is damaged (it does not hold an array in this file)"
        if dtype.kind not in "fiuS" or dtype.itemsize > MOST_TEXT_WIDTH or shape[0] > MOST_ROWS:
            return (
                f"is damaged ({shape[0]:,} rows of type {dtype}; expected at most {MOST_ROWS:,} of "
                f"numbers, or of texts of at most {MOST_TEXT_WIDTH} bytes)"
            )
        self._left -= math.prod(shape) * dtype.itemsize
        if self._left < 0:
            return (
                f"with it the file claims to hold more than {MOST_BYTES >> 20} MiB "
                f"and {MOST_TIMES} times its size; write it with less compression"
            )
        if not _is_whole(data, creation):
            return "was not written as a whole, and has no fill value for the rest; write all of it"
        array: Array = np.zeros(shape, dtype.newbyteorder("="))
        if array.size:
            data.read(h5py.h5s.ALL, h5py.h5s.ALL, array)
        name = str(_attributes(data).get("dtype"))
        if name not in STORED_AS or array.dtype != STORED_AS[name]:
            return array
        if name == "bool" and array.max(initial=0) > 1:
            return "is damaged (a mask holds other numbers than 0 and 1)"
        return array.view(numpy_dtype(name))


def _is_whole(data: h5py.h5d.DatasetID, creation: h5py.h5p.PropDCID) -> bool:
    """Say whether all of a dataset was written, or has a fill value for the rest.

    Without a fill value, the HDF5 library leaves old memory in the unwritten part of an array.
    """
    never = creation.get_fill_time() == h5py.h5d.FILL_TIME_NEVER
    if not never and creation.fill_value_defined() != h5py.h5d.FILL_VALUE_UNDEFINED:
        return True
    if creation.get_layout() != h5py.h5d.CHUNKED:
        return bool(data.get_storage_size() >= math.prod(data.shape) * data.dtype.itemsize)
    sides = zip(data.shape, creation.get_chunk(), strict=True)
    return bool(data.get_num_chunks() >= math.prod(-(-length // side) for length, side in sides))


def _attributes(node: h5py.h5g.GroupID | h5py.h5d.DatasetID) -> dict[str, Value]:
    """Return the scalar attributes of a group or dataset that are texts or numbers."""
    if not h5py.h5a.get_num_attrs(node):  # most have none; opening them would take longer
        return {}
    found: dict[str, Value] = {}
    kind = h5py.Group if isinstance(node, h5py.h5g.GroupID) else h5py.Dataset
    for name, stored in kind(node).attrs.items():
        value = stored.item() if isinstance(stored, np.generic) else stored
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(value, (str, int, float)):
            found[name] = value
    return found

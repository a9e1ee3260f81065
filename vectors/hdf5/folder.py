"""A group of an open HDF5 file, read as hostile.

What is in it is listed once and opened once. It is reached by hard links alone: a soft link may lead in
circles, an external one into other files.
"""

from __future__ import annotations

from typing import Any

import h5py

from ...cases.errors import VectorFileError
from .attributes import AttributeReader, Value, attribute
from .stored import Stored

_Members = dict[str, int]
MOST_BYTES = 512 << 20
MOST_TIMES = 16
"""What a file holds may be so many bytes, and so many times the file's own: our own files hold no more
than theirs. A few megabytes can be made to inflate to gigabytes, which would be read for minutes."""


MOST_CHUNKS = 1 << 15
"""So many chunks the datasets of a file may have together: half a second's reading."""
MOST_NAMES = 4096
"""So many things may stand in a group: the largest of ours has some 300 blocks."""


class Room:
    """How much the datasets of a file of `size` bytes may still hold."""

    def __init__(self, size: int) -> None:
        self._left = MOST_BYTES + MOST_TIMES * size
        self._chunks_left = MOST_CHUNKS

    def take(self, stored: Stored) -> None:
        """Count a dataset; VectorFileError for the one that is too much."""
        self._left -= stored.nbytes
        self._chunks_left -= stored.chunk_count
        if self._chunks_left < 0:
            raise VectorFileError(
                f"{stored.where}: with it the file has more than {MOST_CHUNKS:,} chunks; write larger chunks"
            )
        if self._left < 0:
            raise VectorFileError(
                f"{stored.where}: with it the file claims to hold more than {MOST_BYTES >> 20} MiB "
                f"and {MOST_TIMES} times its size; write it with less compression"
            )


class Folder:
    """A group. `where` names it in errors: `FILE: /path`, or `FILE: ` of the root.

    `id` is h5py's low-level group; attributes, here and of the datasets below, are read by `reader`. All
    folders of a file share `room`.
    """

    def __init__(
        self, group: Any, where: str, room: Room, reader: AttributeReader = attribute
    ) -> None:
        self.id, self.where, self._room, self._reader = group, where, room, reader
        self._listed: _Members | None = None
        self._groups: dict[str, Folder] = {}
        self._datasets: dict[str, Stored] = {}

    @property
    def _links(self) -> _Members:
        """The kind of link of each name, ascending by name."""
        if self._listed is None:
            found: dict[bytes, int] = {}
            place = f"{self.where}/" if self.where.endswith(" ") else self.where
            count = self.id.get_num_objs()

            def list_one(name: bytes, link: Any) -> bool | None:
                found[name] = link.type
                return len(found) > MOST_NAMES or None  # all but None ends it

            if count <= MOST_NAMES:  # as the file says
                self.id.links.iterate(list_one, info=True)
            if (count := max(count, len(found))) > MOST_NAMES:
                raise VectorFileError(
                    f"{place}: holds {count} things; expected at most {MOST_NAMES}"
                )
            try:
                self._listed = {name.decode(): found[name] for name in sorted(found)}
            except UnicodeDecodeError:
                raise VectorFileError(f"{place}: holds a name that is not UTF-8") from None
        return self._listed

    @property
    def names(self) -> list[str]:
        """The names in the group, ascending by code points; VectorFileError for one not UTF-8."""
        return list(self._links)

    def __contains__(self, name: str) -> bool:
        return name in self._links

    def attribute(self, name: str) -> Value:
        """A scalar attribute of the group; None where there is none."""
        return self._reader(self, name)

    def group(self, name: str) -> Folder:
        """The group `name`; VectorFileError if there is none."""
        if name not in self._groups:
            where, member = self._opened(name)
            if not isinstance(member, h5py.h5g.GroupID):
                raise VectorFileError(f"{where}: is not a group")
            self._groups[name] = Folder(member, where, self._room, self._reader)
        return self._groups[name]

    def groups(self) -> dict[str, Folder]:
        """All there is in the group, by name; VectorFileError for anything that is not a group."""
        return {name: self.group(name) for name in self._links}

    def dataset(self, name: str) -> Stored:
        """The dataset `name`, checked; VectorFileError if there is none that can be read."""
        if name not in self._datasets:
            where, member = self._opened(name)
            if not isinstance(member, h5py.h5d.DatasetID):
                raise VectorFileError(f"{where}: is not a dataset")
            stored = self._datasets[name] = Stored(member, where, self._reader)
            self._room.take(stored)
        return self._datasets[name]

    def _opened(self, name: str) -> tuple[str, Any]:
        """Where the member `name` is, and what it is, opened."""
        where = f"{self.where}/{name}"
        if name not in self._links:
            raise VectorFileError(f"{where}: is missing")
        if self._links[name] != h5py.h5l.TYPE_HARD:
            raise VectorFileError(f"{where}: is a link; expected the thing itself")
        try:
            member = h5py.h5o.open(self.id, name.encode())
            links = h5py.h5o.get_info(member).rc
        except (KeyError, OSError, ValueError, RuntimeError):
            raise VectorFileError(f"{where}: is damaged") from None
        if links != 1:
            raise VectorFileError(f"{where}: has {links} names in the file; expected one")
        return where, member

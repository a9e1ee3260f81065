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


class Folder:
    """A group. `where` names it in errors: `FILE: /path`, or `FILE: ` of the root.

    `id` is h5py's low-level group; attributes, here and of the datasets below, are read by `reader`.
    """

    def __init__(self, group: Any, where: str, reader: AttributeReader = attribute) -> None:
        self.id, self.where, self._reader = group, where, reader
        self._listed: _Members | None = None
        self._groups: dict[str, Folder] = {}
        self._datasets: dict[str, Stored] = {}

    @property
    def _links(self) -> _Members:
        """The kind of link of each name, ascending by name."""
        if self._listed is None:
            found: dict[bytes, int] = {}
            self.id.links.iterate(lambda name, link: found.update({name: link.type}), info=True)
            try:
                self._listed = {name.decode(): found[name] for name in sorted(found)}
            except UnicodeDecodeError:
                place = f"{self.where}/" if self.where.endswith(" ") else self.where
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
            self._groups[name] = Folder(member, where, self._reader)
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
            self._datasets[name] = Stored(member, where, self._reader)
        return self._datasets[name]

    def _opened(self, name: str) -> tuple[str, Any]:
        """Where the member `name` is, and what it is, opened."""
        where = f"{self.where}/{name}"
        if name not in self._links:
            raise VectorFileError(f"{where}: is missing")
        if self._links[name] != h5py.h5l.TYPE_HARD:
            raise VectorFileError(f"{where}: is a link; expected the thing itself")
        try:
            return where, h5py.h5o.open(self.id, name.encode())
        except (KeyError, OSError, ValueError, RuntimeError):
            raise VectorFileError(f"{where}: is damaged") from None

"""Arrays that are one array of numbers together, and are moved together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from ...cases.dtypes import Array


class Bundle:
    """Arrays of one shape, float64, of which each holds a part of every number."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Array, ...]:
        """The arrays, in the order in which they make a new bundle."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.parts[0].shape

    def reshape(self, *shape: int) -> Self:
        """The array in another shape."""
        return self._of(part.reshape(shape) for part in self.parts)

    def copy(self) -> Self:
        """A copy that can be assigned to."""
        return self._of(part.copy() for part in self.parts)

    def _of(self, parts: Iterable[Array]) -> Self:
        return type(self)(*parts)

    def __getitem__(self, key: Any) -> Self:
        return self._of(part[key] for part in self.parts)

    def __setitem__(self, key: Any, value: Self) -> None:
        for part, new in zip(self.parts, value.parts, strict=True):
            part[key] = new

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        """The functions of numpy that `gen.gru` moves values with, of each of the arrays in turn.

        A number among the arguments is that number in each; the only one is 0.
        """
        if function not in _MOVES:
            return NotImplemented
        return self._of(
            function(*(_part(one, index) for one in args), **kwargs)
            for index in range(len(self.parts))
        )


_MOVES = (np.where, np.stack, np.take_along_axis, np.full_like, np.empty_like)


def _part(argument: Any, index: int) -> Any:
    if isinstance(argument, Bundle):
        return argument.parts[index]
    return [one.parts[index] for one in argument] if isinstance(argument, list) else argument

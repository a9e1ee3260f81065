"""Outputs of which a place was never written: all of it is NaN, or another constant.

No vectors are made to catch these, and no search tries them: diagnosis fills the right outputs and compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...cases.dtypes import Array
from ..gru import processing_order
from .restricted import UNITS
from .variant import Evaluated, Outputs, Variant


@dataclass(frozen=True)
class _Place:
    """A place in Y, and in Ho unless it is `of_steps`.

    `where` gives a mask that broadcasts to (n, direction, batch, time, hidden), `needs` as a variant has them.
    """

    words: str
    where: Callable[[Evaluated], Array]
    needs: tuple[str, ...] = ()
    of_steps: bool = False


def _direction(number: int, seen: Evaluated) -> Array:
    return np.asarray(np.arange(seen.y.shape[1]) == number)[:, None, None, None]


def _rows(chosen: Callable[[Array, int], Array], seen: Evaluated) -> Array:
    batch = seen.y.shape[2]
    return chosen(np.arange(batch), batch)[:, None, None]


def _units(which: Callable[[int], Array], seen: Evaluated) -> Array:
    return which(seen.y.shape[-1])[None]


def _steps(chosen: Callable[[Array, Array, int], Array], seen: Evaluated) -> Array:
    """Choose steps by their number in the order of processing, their row's length, and the time axis."""
    lengths, time = seen.inputs.lengths, seen.y.shape[-2]
    number = np.empty(seen.y.shape[:-1], np.int64)
    for d, direction in enumerate(seen.semantics.directions):
        in_time = seen.semantics.y_order == "time"
        order = processing_order(direction, lengths, time) if in_time else None
        number[:, d] = np.arange(time) if order is None else order
    return chosen(number, lengths[:, None, :, None], time)[..., None]


def _times(at: int, seen: Evaluated) -> Array:
    time = seen.y.shape[-2]
    return np.asarray(np.arange(time) == at % time)[:, None]


_PLACES = {
    "direction-0": _Place("in the first direction", partial(_direction, 0), ("axis.direction",)),
    "direction-1": _Place("in the second direction", partial(_direction, 1), ("axis.direction",)),
    "rows-past-first": _Place(
        "in the rows of the batch past the first", partial(_rows, lambda row, _: row > 0)
    ),
    "first-row": _Place(
        "in the first row of the batch", partial(_rows, lambda row, _: row == 0)
    ),
    "last-row": _Place(
        "in the last row of the batch", partial(_rows, lambda row, batch: row == batch - 1)
    ),
    **{name: _Place(words, partial(_units, which)) for name, (words, which) in UNITS.items()},
    "first-step": _Place(
        "in the first step", partial(_steps, lambda n, *_: n == 0), of_steps=True
    ),
    "last-step": _Place(
        "in the last step of each row",
        partial(_steps, lambda n, length, _: n == length - 1),
        of_steps=True,
    ),
    "steps-past-first": _Place(
        "in all steps but the first", partial(_steps, lambda n, *_: n > 0), of_steps=True
    ),
    "first-time": _Place("at the first time", partial(_times, 0), of_steps=True),
    "last-time": _Place("at the last time", partial(_times, -1), of_steps=True),
    "padding": _Place(
        "past a row's length",
        partial(_steps, lambda n, length, _: n >= length),
        ("lengths",),
        of_steps=True,
    ),
}  # fmt: skip


def _spread(seen: Evaluated, where: Callable[[Evaluated], Array]) -> tuple[Array, Array]:
    """Find what a place of the state reaches: itself in the first step, and all units after that."""
    place = where(seen)
    past = _steps(lambda n, length, _: (n > 0) & (n < length), seen) & place.any()
    first = _steps(lambda n, length, _: (n == 0) & (n < length), seen)
    lengths = seen.inputs.lengths[:, None, :, None]
    ho = np.where(lengths > 1, place.any(), place[..., 0, :] & (lengths == 1))
    return past | (first & place), ho


def _everywhere(_: Evaluated) -> Array:
    return np.ones((1, 1), bool)


_ALL = _Place("everywhere", _everywhere)
_Kind = tuple[str, str, _Place, tuple[str, ...]]
"""What is filled (state, y, ho, or both), words before the constant, the place, and what an operator needs."""


def _kinds() -> dict[str, _Kind]:
    both = ("y", "ho")
    found: dict[str, _Kind] = {
        "constant-everywhere": ("both", "{outputs}", _ALL, ()),
        "unwritten-Ho": ("ho", "{ho}", _ALL, both),
        "unwritten-Y": ("y", "{y}", _ALL, both),
    }
    for name, place in _PLACES.items():
        if not place.of_steps:
            found[f"unwritten-{name}"] = ("both", "{outputs}", place, place.needs)
            found[f"unwritten-Ho-{name}"] = ("ho", "{ho}", place, (*place.needs, *both))
        found[f"unwritten-Y-{name}"] = ("y", "{y}", place, (*place.needs, *both))
    for name in UNITS:
        found[f"unwritten-state-{name}"] = ("state", "{outputs}", _PLACES[name], both)
    return found


KINDS = _kinds()
"""What may be unwritten, by the name of the variant without a constant, the simple before the special."""


def unwritten(name: str) -> Variant:
    """Make the variant of a name of KINDS, followed by `=` and the constant if that is not NaN."""
    label, _, number = name.partition("=")
    filled, what, place, needs = KINDS[label]
    value = float(number) if number else math.nan
    constant = "NaN" if math.isnan(value) else f"{value:g}" if value else "zero"
    words = f"{what} {constant} {place.words}"
    if filled == "state":
        words += " in the first step, and everywhere after it"
    if place is not _ALL or filled != "both":
        words += ", as if never written"

    def masks(seen: Evaluated) -> tuple[Array, Array]:
        if filled == "state":
            return _spread(seen, place.where)
        mask = place.where(seen)
        return mask, np.zeros(1, bool) if place.of_steps else mask[..., 0, :]

    def outputs(seen: Evaluated) -> Outputs:
        y, ho = masks(seen)
        return (
            seen.y if filled == "ho" else np.where(y, value, seen.y),
            seen.ho if filled == "y" else np.where(ho, value, seen.ho),
        )

    def last(seen: Evaluated) -> Array:
        return seen.ho if filled == "ho" else np.where(masks(seen)[1], value, seen.ho)

    return Variant(name, words, needs=needs, outputs=outputs, last=last)

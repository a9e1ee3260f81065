"""Places in the outputs of cases, by words; and outputs of which a place was never written.

A place that was never written is all NaN, or another constant. No vectors are made to catch that, and no search
tries it: diagnosis finds the place and the constant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs, mask_of
from ...cases.operators.semantics import StackedSemantics, is_word
from ..gru import all_step_numbers, step_numbers, turned
from .variant import Evaluated, Outputs, Variant

GROUPS = (4, 8, 16, 32)
"""How many hidden units many kernels compute at once."""
_COMPARE = {"==": np.equal, ">=": np.greater_equal, "<": np.less}
"""How a place compares the values of elements with a number."""
Words = Mapping[str, str]
"""The words of each comparison that makes a place, with {value} for the number; without it, that is 1."""


@dataclass(frozen=True)
class Elements:
    """Elements (n, direction, rows, hidden) of n stacked cases, the rows of one time axis behind one another.

    `number` (n, direction, rows) is the step's number in the order of processing; where a row has no step, it
    is below 0 before its steps in Y, and its length or more behind them. `row` (rows,) is the row of the
    batch, `time` (rows,) the place in Y. `number` and `time` are NaN where there is no Y.
    """

    inputs: GruInputs
    semantics: StackedSemantics
    number: Array
    row: Array
    time: Array

    @property
    def lengths(self) -> Array:
        """(n, 1, rows, 1) the length of the row of the batch."""
        return np.asarray(self.inputs.lengths[:, None, self.row, None])

    def masks(self, wanted: Container[str]) -> Iterator[tuple[str, Array]]:
        """Yield the masks of places without a number, by their names in those of variants."""
        for values, words in places(self):
            for sign, one in words.items():
                if (name := _name_of(one)) in wanted and not np.isnan(values).all():
                    yield name, _COMPARE[sign](values, 1)

    def mask(self, place: str) -> Array:
        """Mask the elements in a place; none where it means nothing."""
        return next(self.masks((place,)), (place, np.zeros((1, 1, 1, 1), bool)))[1]

    @property
    def padding(self) -> Array:
        """(n, direction, rows, 1) Elements that are no step of a row; in Ho, those of an empty row."""
        number = np.nan_to_num(self.number[..., None])
        return np.asarray((number < 0) | (number >= self.lengths))


def elements_of(inputs: GruInputs, semantics: StackedSemantics, steps: int = 0) -> Elements:
    """Make the elements of Y with `steps` steps; with none, those of Ho."""
    batch, every = inputs.x.shape[-3], max(1, steps)
    number = np.full((*inputs.h0.shape[:3], every), np.nan)
    if steps:
        number = all_step_numbers(semantics, inputs, steps)
        there = mask_of(inputs.lengths, inputs.starts, steps)[:, None]
        in_y = step_numbers("forward", inputs, steps)[:, None]
        number = np.where(is_word(semantics, "y_order", "time", 3) & ~there, in_y, number)
        number = turned(semantics, number[..., None])[..., 0]
    time = np.tile(np.arange(steps) if steps else np.full(1, np.nan), batch)
    flat = number.reshape(*number.shape[:2], -1)
    return Elements(inputs, semantics, flat, np.repeat(np.arange(batch), every), time)


def places(at: Elements) -> Iterator[tuple[Array, Words]]:
    """List what may set a place apart, simple before special: values of elements, and words.

    Values broadcast to (n, direction, rows, hidden), and are NaN where they mean nothing.
    """
    second = np.arange(at.number.shape[1])[None, :, None, None]
    step, lengths, time = at.number[..., None], at.lengths, at.time[None, None, :, None]
    left, row = lengths - 1 - step, at.row[None, None, :, None]
    backwards = at.semantics.backwards[:, :, None, None]
    steps, rows, hidden = at.inputs.x.shape[-2], at.inputs.x.shape[-3], at.inputs.h0.shape[-1]
    unit = np.arange(hidden)[None, None, None, :]
    yield _or(np.ones((1, 1, 1, 1)), "everywhere")
    yield _or(backwards, "in reverse", "in the forward direction")
    yield _or(second, "in the second direction", "in the first direction")
    yield _or(_so(step == 0, step), "in the first step", "after the first step")
    yield _counted(step, "in step {}", "from step {} on", "in the first {value} steps")
    yield _or(_so(left == 0, left), "in the last step of each row")
    yield _or(_so(left > 0, left), "before the last step")
    yield _counted(left, "{value} steps before the last")
    yield _counted(np.maximum(left, 0), "", "in all but the last {value} steps")
    yield _or(_so(time == 0, time), "at the first time")
    yield _or(_so(time == steps - 1, time), "at the last time")
    yield _or(row == 0, "in the first row of the batch", "in the rows of the batch past the first")
    of, rest = "of the batch", "in the rows of the batch from {} on"
    yield _counted(row, f"in row {{}} {of}", rest, f"in the first {{value}} rows {of}")
    yield _or(row == rows - 1, "in the last row of the batch")
    yield _or((row == rows - 1) & (rows > 1), "in the last of several rows of the batch")
    yield _every_second(row, "row of the batch")
    yield _or(lengths == 1, "in rows of length 1")
    long = "in rows of length {value}"
    yield _counted(lengths, long, f"{long} or more", "in rows shorter than {value}")
    yield _or(lengths % 2, "in rows of odd length", "in rows of even length")
    yield _every_second(step, "step")
    yield _or(unit == 0, "in the first hidden unit")
    yield _or(unit == hidden - 1, "in the last hidden unit")
    rest, first = "in the hidden units from {} on", "in the first {value} hidden units"
    yield _counted(unit, "in hidden unit {value}", rest, first)
    last = "{value} hidden units before the last", "", "in the last {value} hidden units"
    yield _counted(hidden - 1 - unit, *last)
    for size in GROUPS:
        tail = hidden // size * size
        past = f"in the hidden units past the last whole group of {size}"
        yield _or(unit >= tail, past, f"in whole groups of {size} hidden units")
        yield _or((unit >= tail) & (tail > 0), f"{past}, where there are {size} or more")
    yield _every_second(unit, "hidden unit")
    yield _or(_so(step >= lengths, step), "past a row's length")
    longest = lengths.max(axis=2, keepdims=True)
    yield _or(_so(step >= longest, step), "past the longest row's length")


def _or(values: Array, yes: str, no: str = "") -> tuple[Array, Words]:
    return values, {">=": yes, "<": no}


def _every_second(values: Array, what: str) -> tuple[Array, Words]:
    words = f"in every second {what}"
    return _or(values % 2, words, f"{words} from the first on")


def _counted(values: Array, *words: str) -> tuple[Array, Words]:
    """Make words of places with a number; {} is one that is counted from 0."""
    each = (f"{one.format('{value}')} (counted from 0)" if "{}" in one else one for one in words)
    return values, dict(zip(_COMPARE, each, strict=False))


def _so(true: Array, of: Array) -> Array:
    """1 or 0, and NaN of what is NaN."""
    return np.where(np.isnan(of), of, true)


@cache
def _any(hidden: int, steps: int) -> Elements:
    """Make elements of some case with `hidden` units."""
    x, lengths, starts = np.ones((1, 1, 1, 1)), np.ones((1, 1), np.int64), np.zeros((1, 1), int)
    meant = StackedSemantics((), (), np.ones((1, 1, 1)), False, (("forward",),))
    inputs = GruInputs(x, np.ones((1, 1, 1, hidden)), lengths, starts, {}, {}, {})
    return elements_of(inputs, meant, steps)


@cache
def _name_of(words: str) -> str:
    return re.sub(r"\W+", "-", re.sub("^(in |at )?(the )?", "", words))


def _words(steps: int) -> dict[str, str]:
    return {
        _name_of(words): words
        for values, each in places(_any(1, steps))
        for words in each.values()
        if words and "{value}" not in words and not np.isnan(values).all()
    }


PLACES, OF_STATES = _words(1), _words(0)
"""The words of places without a number, by name: of Y, and of Ho, which has none of steps."""


@cache
def units_of(place: str, hidden: int) -> Array:
    """Mask those of `hidden` units that are in a place."""
    return np.asarray(_any(hidden, 0).mask(place)[0, 0, 0])


_NAME = re.compile(r"(constant|unwritten(?:-Y|-Ho|-state)?)-([^=]+)(?:=(.+))?")
"""What is filled, the name of a place, and the constant if that is not NaN."""


def unwritten(name: str) -> Variant:
    """Make the variant of a name: what is filled, the place, and `=` and the constant, or NaN."""
    found = _NAME.fullmatch(name)
    if not found:
        raise KeyError(name)
    start, place, number = found.groups()
    value = float(number or "nan")
    constant = "NaN" if math.isnan(value) else f"{value:g}" if value else "zero"
    known = PLACES if start == "unwritten-Y" else OF_STATES
    of = {"unwritten-Y": "{y}", "unwritten-Ho": "{ho}"}.get(start, "{outputs}")
    words = f"{of} {constant} {known[place]}"
    if start == "unwritten-state":
        words += " in the first step, and everywhere after it"
    if start != "constant" and value:
        words += ", as if never written"

    def filled(role: str, at: Elements) -> Array:
        """Mask the elements of an output (y or ho) that are filled."""
        if role == {"unwritten-Y": "ho", "unwritten-Ho": "y"}.get(start):
            return np.zeros((1, 1, 1, 1), bool)
        mask = at.mask(place)
        if start == "unwritten-state":
            later = at.number[..., None] > 0 if role == "y" else at.lengths > 1
            return ~at.padding & (later & mask.any(axis=-1, keepdims=True) | ~later & mask)
        return mask

    def last(seen: Evaluated) -> Array:
        at = elements_of(seen.inputs, seen.semantics)
        return np.where(filled("ho", at), value, seen.ho)

    def outputs(seen: Evaluated) -> Outputs:
        flat = seen.y.reshape(*seen.y.shape[:2], -1, seen.y.shape[-1])
        at = elements_of(seen.inputs, seen.semantics, seen.y.shape[-2])
        return np.where(filled("y", at), value, flat).reshape(seen.y.shape), last(seen)

    needs = () if start in ("constant", "unwritten") else ("y", "ho")
    return Variant(name, words, needs=needs, outputs=outputs, last=last, fills=True)

"""Ask less: a question without a row, a step, a unit, an attribute, or with rounder numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.operators.signature import Tensor
from ...cases.pose import pose, sizes_of
from ...cases.question import Question

_SIZES = ("batch", "time", "hidden", "input")
MOST_SINGLES = 8
"""Maximum length of an axis of which each entry is left out by itself; of a longer one, parts are."""
GRIDS = (1.0, 0.5, 0.25, 0.0625)
"""Steps of the grids that numbers are rounded to, the coarsest first."""


def reductions(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield every smaller or rounder question, the largest pieces left out first, and what was left out.

    What makes no question of the operator is passed over.
    """
    operator = OPERATORS[question.operator]
    for about, given, inputs, outputs in _changes(question):
        with contextlib.suppress(GrucibleError):
            yield about, pose(operator, given, inputs, case_id=question.id, outputs=outputs)


_Change = tuple[str, dict[str, Any], Arrays, list[str]]


def _changes(question: Question) -> Iterator[_Change]:
    given, inputs, outputs = dict(question.given), dict(question.inputs), list(question.outputs)
    yield from ((about, one, less, outputs) for about, one, less in _one_direction(question))
    yield from ((about, one, less, outputs) for about, one, less in _shorter_axes(question))
    for name in inputs:
        yield f"without {name}", given, {n: a for n, a in inputs.items() if n != name}, outputs
    for name in outputs:
        if len(outputs) > 1:
            yield f"{name} alone", given, inputs, [name]
    for name in given:
        less = {other: value for other, value in given.items() if other != name}
        yield f"without {name}", less, _refitted(question, less), outputs
    for about, rounder in _rounder(inputs):
        yield about, given, rounder, outputs


def _one_direction(question: Question) -> Iterator[tuple[str, dict[str, Any], Arrays]]:
    """Ask for one of two directions."""
    operator = OPERATORS[question.operator]
    attribute = operator.setting("direction")
    asked = operator.directions(question.attributes)
    if attribute is None or len(asked) < 2:
        return
    for place, direction in enumerate(asked):
        word = next(w for w, meant in attribute.choices.items() if meant == (direction,))
        given = dict(question.given) | {attribute.name: word}
        for one in operator.attributes:
            if one.per_direction and one.name in given:
                each = len(given[one.name]) // len(asked)
                given[one.name] = given[one.name][place * each : (place + 1) * each]
        yield f"{direction} alone", given, _cut(question, "direction", np.array([place]))


def _shorter_axes(question: Question) -> Iterator[tuple[str, dict[str, Any], Arrays]]:
    """Ask for less of the batch, of the time axis, of the units and of the input."""
    operator, sizes = OPERATORS[question.operator], sizes_of(question)
    hidden = operator.setting("hidden")
    for axis in _SIZES:
        for symbol in (s for s, meant in operator.sizes.items() if meant == axis):
            for keep in _parts(sizes[symbol]):
                given = dict(question.given)
                if axis == "hidden" and hidden and hidden.name in given:
                    given[hidden.name] = len(keep)
                yield f"{symbol} {len(keep)}", given, _cut(question, axis, keep)


def _parts(length: int) -> Iterator[Array]:
    """Choose entries of an axis to keep: one, a half, all but a few."""
    every, size = np.arange(length), length // 2
    if length > 1:
        yield every[:1]
        yield every[-1:]
    while size > 1 and length > 2:
        for start in range(0, length, size):
            kept = np.setdiff1d(every, every[start : start + size])
            if kept.size and len(kept) > 1:
                yield kept
        size //= 2
    if 2 < length <= MOST_SINGLES:
        yield from (np.delete(every, place) for place in every)


def _cut(question: Question, axis: str, keep: Array) -> Arrays:
    """Keep only the entries `keep` of a shared axis of the inputs; rows are shorter by the steps that go."""
    operator, attributes = OPERATORS[question.operator], question.attributes
    cut = {}
    for tensor in operator.inputs:
        if tensor.name not in question.inputs:
            continue
        array = question.inputs[tensor.name]
        for place, one in enumerate(tensor.form(attributes).axes):
            count, _, symbol = one.rpartition("*")
            if operator.sizes.get(symbol) == axis:
                array = _taken(array, place, int(count or 1), keep)
        if axis == "time" and tensor.role == "lengths":
            left = (keep[:, None] < array.ravel()).sum(axis=0)
            array = left.astype(array.dtype).reshape(array.shape)
        cut[tensor.name] = array
    return cut


def _taken(array: Array, place: int, count: int, keep: Array) -> Array:
    """Take entries of an axis on which `count` of its kind are stacked."""
    apart = array.reshape(*array.shape[:place], count, -1, *array.shape[place + 1 :])
    taken = np.take(apart, keep, axis=place + 1)
    return np.asarray(taken.reshape(*array.shape[:place], -1, *array.shape[place + 1 :]))


def _refitted(question: Question, given: Mapping[str, Any]) -> Arrays:
    """Put the inputs in the forms that other attributes ask for, as far as they have the parts for that."""
    operator = OPERATORS[question.operator]
    before, after = question.attributes, operator.with_defaults(given)
    inputs = dict(question.inputs)
    for tensor in operator.inputs:
        if tensor.name in inputs:
            inputs[tensor.name] = _reformed(tensor, inputs[tensor.name], before, after)
    return inputs


def _reformed(
    tensor: Tensor,
    array: Array,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> Array:
    """Give a tensor the axes and the parts of another form; leave it as it is where it lacks some."""
    try:
        old, new = tensor.form(before), tensor.form(after)
    except (KeyError, AssertionError):
        return array
    if sorted(old.axes) == sorted(new.axes) and len(set(old.axes)) == len(old.axes):
        return np.ascontiguousarray(array.transpose([old.axes.index(axis) for axis in new.axes]))
    gate = next((n for n, axis in enumerate(old.axes) if "*" in axis), None)
    found = [_part(old.parts, part) for part in new.parts]
    places = [place for place in found if place is not None]
    if gate is None or len(old.axes) != len(new.axes) or len(places) < len(found):
        return array
    shape = (*array.shape[:gate], len(old.parts), -1, *array.shape[gate + 1 :])
    taken = np.take(array.reshape(shape), places, axis=gate)
    return np.asarray(taken.reshape(*array.shape[:gate], -1, *array.shape[gate + 1 :]))


def _part(parts: tuple[str, ...], wanted: str) -> int | None:
    """Find a part; a gate's bias of another side will do."""
    alike = [place for place, part in enumerate(parts) if part[-1] == wanted[-1]]
    return parts.index(wanted) if wanted in parts else next(iter(alike), None)


def _rounder(inputs: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Make one array of the inputs zeros, or numbers of few digits."""
    numbers = {
        name: array for name, array in inputs.items() if dtype_name(array.dtype) in FLOAT_TYPES
    }
    for name, array in numbers.items():
        if np.any(array != 0):
            yield f"{name} zeros", inputs | {name: np.zeros_like(array)}
    for grid in GRIDS:
        for name, array in numbers.items():
            rounded = (np.round(array.astype(np.float64) / grid) * grid).astype(array.dtype)
            if np.any(rounded != array):
                yield f"{name} in multiples of {grid:g}", inputs | {name: rounded}
    for name, array in numbers.items():
        if array.size <= MOST_SINGLES**2:
            yield from _less_of(name, array, inputs)


def _less_of(name: str, array: Array, inputs: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Make one of an array's numbers zero."""
    for place in np.flatnonzero(array.ravel() != 0).tolist():
        less = array.copy()
        less.reshape(-1)[place] = 0
        yield f"fewer numbers in {name}", inputs | {name: less}

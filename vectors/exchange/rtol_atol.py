"""One pair of numbers in place of a tolerance for each element, for formats that know no more."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.readings import ReadingNames
from ..block import Block
from ..case import REQUIRED, Answer


class Pair(NamedTuple):
    """The largest admitted |observed - expected|: `atol` + `rtol` · |expected|."""

    rtol: float
    atol: float


def smallest_pair(answer: Answer, arithmetic: str) -> Pair:
    """Return the smallest pair that admits all that the tolerances of a class of arithmetic admit.

    Smallest is the pair that admits the least in the mean over all elements. As a line above the points
    (|expected|, tolerance), it is the edge of their upper hull at the mean of |expected|. Raises ValueError
    for an infinite tolerance or expected value: no pair admits it.
    """
    limits = answer.tolerances[arithmetic]
    size = np.concatenate([np.abs(answer.outputs[n].astype(np.float64)).ravel() for n in limits])
    limit = np.concatenate([limits[name].astype(np.float64).ravel() for name in limits])
    if not np.isfinite(limit).all() or not np.isfinite(size).all():
        raise ValueError("a tolerance or an expected value is not finite")
    hull = _upper_hull(size, limit)
    rtol, atol = _line(hull, float(size.mean()))
    return _rounded_up(rtol, atol, size, limit)


def by_pair(pair: Pair) -> Callable[[Block, ReadingNames], Arrays]:
    """Return the function that computes what one pair admits for the outputs of a block."""

    def limits(block: Block, reading: ReadingNames) -> Arrays:
        outputs = block.answers[reading].outputs
        return {name: _admitted(pair, array) for name, array in outputs.items()}

    return limits


def by_own_pairs(block: Block, reading: ReadingNames) -> Arrays:
    """Return what each case's smallest pair in the required class of arithmetic admits for its outputs.

    Raises GrucibleError for a case without such a pair.
    """
    found = []
    for row, case_id in enumerate(block.ids):
        answer = block.answers[reading].rows(row)
        try:
            pair = smallest_pair(answer, REQUIRED[block.dtype])
        except ValueError:
            raise GrucibleError(
                f"{case_id}: a tolerance is infinite, which no rtol and atol admit; leave out --pairs, or "
                "the case by --select"
            ) from None
        found.append({name: _admitted(pair, array) for name, array in answer.outputs.items()})
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def _admitted(pair: Pair, expected: Array) -> Array:
    return np.asarray(pair.atol + pair.rtol * np.abs(expected.astype(np.float64)))


def _upper_hull(x: Array, y: Array) -> list[tuple[float, float]]:
    """Return the corners of the least function above all points that is concave and non-decreasing."""
    order = np.lexsort((y, x))
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
        while hull and (hull[-1][0] == point[0] and hull[-1][1] <= point[1]):
            hull.pop()
        while len(hull) > 1 and _slope(hull[-2], point) >= _slope(hull[-2], hull[-1]):
            hull.pop()
        hull.append(point)
    return hull


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    run = right[0] - left[0]
    return (right[1] - left[1]) / run if run else math.copysign(math.inf, right[1] - left[1])


def _line(hull: list[tuple[float, float]], mean: float) -> tuple[float, float]:
    """Return the slope and the value at 0 of the hull's edge at `mean`; neither is negative."""
    for left, right in pairwise(hull):
        if left[0] <= mean <= right[0] and right[0] > left[0]:
            slope = _slope(left, right)
            if slope <= 0:
                break
            return slope, max(0.0, left[1] - slope * left[0])
    return 0.0, max(y for _, y in hull)


def _rounded_up(rtol: float, atol: float, size: Array, limit: Array) -> Pair:
    """Return the pair with three digits, large enough to admit every limit."""
    rtol, atol = _three_digits(rtol), _three_digits(atol)
    lacking = limit - (atol + rtol * size)
    worst = float(lacking.max(initial=0.0))
    return Pair(rtol, _three_digits(atol + worst) if worst > 0 else atol)


def _three_digits(value: float) -> float:
    """Return the least number of three significant digits that is not below `value`."""
    if value <= 0:
        return 0.0
    rounded = float(f"{value:.2e}")
    return rounded if rounded >= value else float(f"{value * 1.005:.2e}")

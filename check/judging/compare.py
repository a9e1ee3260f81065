"""Comparing stacked outputs with expected ones, element by element, a verdict per case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...vectors.case import difference


@dataclass(frozen=True)
class Comparison:
    """Of n cases: the worst ratio of difference to tolerance, and where it is.

    `ratio` (n,) is 0 for equal elements and infinite where a difference meets a zero tolerance, a
    NaN or an infinity; a case passes where it is ≤ 1. `output` (n,) and `element` (n,) say which
    output and which flat element is the worst; `difference` and `ulps` (n,) are of that element.
    """

    ratio: Array
    difference: Array
    ulps: Array
    output: Array
    element: Array

    @property
    def passed(self) -> Array:
        """(n,) whether each case's every difference is within its tolerance."""
        return self.ratio <= 1.0


class Differences:
    """The differences between observed and expected outputs of n stacked cases.

    Infinite differences always fail; with `signed_zero`, so does a zero of the other sign.
    """

    def __init__(
        self,
        expected: Mapping[str, Array],
        observed: Mapping[str, Array],
        dtype: str,
        *,
        signed_zero: bool,
    ) -> None:
        self._parts = {
            name: _Off(array, observed[name], dtype, signed_zero)
            for name, array in expected.items()
        }

    def ratios(self, admitted: Mapping[str, Array]) -> Arrays:
        """Divide the difference of every element, by output, by what is `admitted` there."""
        return {
            name: part.ratio(limit := admitted[name]).reshape(limit.shape)
            for name, part in self._parts.items()
        }

    def within(self, admitted: Mapping[str, Array]) -> Array:
        """(n,) whether every element of a case is off by no more than is `admitted` there."""
        parts = [part.within(admitted[name]) for name, part in self._parts.items()]
        return np.asarray(np.all(parts, axis=0))

    def worst(self, admitted: Mapping[str, Array]) -> Comparison:
        """Of each case the element that is furthest off, measured by what is `admitted` there."""
        parts = [part.worst(admitted[name]) for name, part in self._parts.items()]
        which = np.argmax([part.ratio for part in parts], axis=0)
        rows = np.arange(len(which))

        def of_worst(field: str) -> Array:
            chosen: Array = np.stack([getattr(part, field) for part in parts])[which, rows]
            return chosen

        return Comparison(
            of_worst("ratio"), of_worst("difference"), of_worst("ulps"), which, of_worst("element")
        )


class _Off:
    """The differences of one output: (n, elements), and which of them are never admitted."""

    def __init__(self, expected: Array, observed: Array, dtype: str, signed_zero: bool) -> None:
        self._expected, self._dtype = expected.reshape(len(expected), -1), dtype
        with np.errstate(invalid="ignore"):  # of a signalling NaN
            e = self._expected.astype(np.float64)
            o = observed.reshape(len(expected), -1).astype(np.float64)
        self._off = difference(o, e)
        self._never = np.isinf(self._off)
        if signed_zero:
            self._never |= (e == 0) & (o == 0) & (np.signbit(e) != np.signbit(o))

    def within(self, admitted: Array) -> Array:
        passes = self._off <= admitted.reshape(self._off.shape)
        return np.asarray((passes & ~self._never).all(axis=1))

    def ratio(self, admitted: Array) -> Array:
        limit = admitted.reshape(self._off.shape).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio = np.divide(self._off, limit, out=limit)
        ratio[self._off == 0.0] = 0.0  # 0/0 too
        ratio[self._never] = np.inf
        ratio[~(ratio >= 0.0)] = np.inf  # of a tolerance that is NaN, negative or -0
        return ratio

    def worst(self, admitted: Array) -> Comparison:
        ratio = self.ratio(admitted)
        element = ratio.argmax(axis=1)
        rows = np.arange(len(ratio))
        with np.errstate(invalid="ignore"):
            at = self._expected[rows, element].astype(np.float64)
        worst = self._off[rows, element]
        unit = FLOAT_TYPES[self._dtype].spacing(np.where(np.isfinite(at), at, 0.0))
        with np.errstate(over="ignore"):
            ulps = worst / unit
        return Comparison(ratio[rows, element], worst, ulps, np.zeros(len(rows), int), element)

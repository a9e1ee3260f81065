"""Comparing stacked outputs with expected ones, element by element, a verdict per case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...vectors.difference import difference
from .criterion import spacing


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


def compare(
    expected: Mapping[str, Array],
    observed: Mapping[str, Array],
    admitted: Mapping[str, Array],
    dtype: str,
    *,
    signed_zero: bool,
) -> Comparison:
    """Compare the outputs of n stacked cases, each element's difference with what is admitted there.

    Where NaN or an infinity is expected or observed, only the same passes, whatever is admitted.
    With `signed_zero`, -0 and +0 differ.
    """
    parts = [
        _compare_output(expected[name], observed[name], admitted[name], dtype, signed_zero)
        for name in expected
    ]
    which = np.argmax([part.ratio for part in parts], axis=0)
    rows = np.arange(len(which))

    def of_worst(field: str) -> Array:
        chosen: Array = np.stack([getattr(part, field) for part in parts])[which, rows]
        return chosen

    return Comparison(
        of_worst("ratio"), of_worst("difference"), of_worst("ulps"), which, of_worst("element")
    )


def _compare_output(
    expected: Array, observed: Array, admitted: Array, dtype: str, signed_zero: bool
) -> Comparison:
    count = len(expected)
    e = expected.reshape(count, -1).astype(np.float64)
    o = observed.reshape(count, -1).astype(np.float64)
    limit = admitted.reshape(count, -1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = difference(o, e)
        limit[np.isinf(off)] = 0.0  # whatever is admitted
        ratio = np.divide(off, limit, out=limit)
    ratio[off == 0.0] = 0.0  # 0/0 too
    if signed_zero:
        ratio[(e == 0) & (o == 0) & (np.signbit(e) != np.signbit(o))] = np.inf
    element = ratio.argmax(axis=1)
    rows = np.arange(count)
    worst, at = off[rows, element], e[rows, element]
    unit = spacing(np.where(np.isfinite(at), at, 0.0), FLOAT_TYPES[dtype])
    with np.errstate(over="ignore"):
        ulps = worst / unit
    return Comparison(ratio[rows, element], worst, ulps, np.zeros(count, int), element)

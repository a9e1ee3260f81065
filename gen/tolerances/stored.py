"""From error bounds to the stored tolerances: against the rounded answers, rounded up, in a chain."""

from __future__ import annotations

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, FloatType
from .classes import CHAINS, CLASSES, ArithmeticClass

_SLACK = 1.0 + 2.0**-20  # float64 rounding of the bounds themselves


def tolerances(x: Array, bounds: Array, answer: Array, dtype: str) -> dict[str, Array]:
    """By class name, the admissible deviation of each element of a stored, rounded `answer`.

    `x` are the values in float64 and `bounds` their errors in each of the dtype's CLASSES (along
    the last axis). The result is float32, of the answer's shape; conforming is
    |observed - answer| ≤ tolerance, in float64.
    """
    kind = FLOAT_TYPES[dtype]
    found: dict[str, Array] = {}
    for chain in CHAINS[dtype]:
        least = np.zeros(answer.shape, np.float32)
        for one in chain:
            bound = bounds[..., CLASSES[dtype].index(one)]
            limit = against_answer(x, bound, answer, one, kind)
            least = found[one.name] = np.maximum(limit, least)
    return found


def against_answer(
    x: Array, e: Array, answer: Array, one: ArithmeticClass, kind: FloatType
) -> Array:
    """What |observed - answer| may be where |computed - x| ≤ e and `answer` is x, rounded once.

    Where the class computes wider than the dtype and rounds its output once, the two ends of x ± e
    are rounded; elsewhere the answer's own rounding is added. An e of 0 (padding) admits nothing.
    """
    value = answer.astype(np.float64)
    e = e * _SLACK
    with np.errstate(over="ignore", invalid="ignore"):
        if max(one.unit, one.state, one.elementwise) < 2.0**-kind.precision:
            limit = np.maximum(kind.nearest(x + e) - value, value - kind.nearest(x - e))
        else:
            limit = e + 2.0**-kind.precision * np.abs(value) + 2.0 ** (kind.least_exponent - 1)
        limit = np.where(np.isfinite(limit), limit, np.inf)  # NaN where bounds overflow
    return round_up(np.where(e == 0.0, 0.0, limit))


def round_up(limit: Array) -> Array:
    """Rounded up to 8 significant bits and to at least 2^-149, as float32; 0 stays 0.

    The last bits of a bound depend on the BLAS that computed it; rounded ones do not.
    """
    _, exponent = np.frexp(limit)
    step = np.maximum(exponent - 8, -149)
    rounded = np.ldexp(np.ceil(np.ldexp(limit, -step)), step)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(limit), rounded, np.inf).astype(np.float32)

"""Forms: what may happen to a quantity, with a number in it: a factor, a shift, a limit, a coarser grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cases.dtypes import Array

Number = float | Array
"""The number of a form; or (k,) one for each of k copies of stacked cases, which follow one another."""


def along(number: Number, values: Array) -> Number:
    """The number as it meets values of stacked cases, whose axis comes first."""
    if not isinstance(number, np.ndarray):
        return number
    each = np.repeat(number, len(values) // len(number))
    return each.reshape(-1, *[1] * (values.ndim - 1))


@dataclass(frozen=True)
class NumberForm:
    """What becomes of values, as a function of them and of a number.

    `about` completes "the update gate …" and has {number} for it. `tried` are the numbers that a search
    starts from, in order; if it is `fitted`, it goes on between those. One that `jumps` is not continuous.
    """

    name: str
    about: str
    of: Callable[[Array, Any], Array]
    tried: tuple[float, ...]
    fitted: bool = True
    jumps: bool = False


def _spread(low: float, high: float, count: int) -> tuple[float, ...]:
    """Numbers from low to high, of which each is as many times the one before."""
    return tuple(np.geomspace(low, high, count).tolist())


_NEAR_ONE = _spread(1e-3, 0.3, 6)
_FACTORS = (-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, *(1.0 - x for x in reversed(_NEAR_ONE)),
            *(1.0 + x for x in _NEAR_ONE), 1.5, 2.0, 3.0, 4.0)  # fmt: skip
_POSITIVE = _spread(2**-10, 16.0, 13)
_SIGNED = (*(-x for x in reversed(_spread(1e-4, 4.0, 8))), *_spread(1e-4, 4.0, 8))
_GRIDS = tuple(sorted((10, 100, 127, 255, 1000, *(2**k for k in range(3, 17)))))

SCALED = NumberForm("scaled", "multiplied by {number}", lambda v, k: k * v, _FACTORS)
HARD = NumberForm(
    "hard",
    "computed as max(0, min(1, {number} v + 1/2))",
    lambda v, k: np.clip(k * v + 0.5, 0, 1),
    _spread(0.05, 1.0, 9),
)
WIDENED = NumberForm(
    "scaled", "multiplied by {number}", lambda v, k: k * v, _spread(2**-4, 16.0, 13)
)
NOT_LINEAR = (
    NumberForm("limited", "limited to ±{number}", lambda v, c: np.clip(v, -c, c), _POSITIVE),
    NumberForm("at-most", "limited to at most {number}", lambda v, c: np.minimum(v, c), (*_SIGNED[:8], *_POSITIVE)),
    NumberForm("at-least", "limited to at least {number}", lambda v, c: np.maximum(v, c), (*_SIGNED[:8], *_POSITIVE)),
    NumberForm("flushed", "set to zero where its size is below {number}", lambda v, c: np.where(np.abs(v) < c, 0.0, v),
         _spread(2**-20, 1.0, 17), jumps=True),
    NumberForm("saturated", "taken as infinite where its size is above {number}",
         lambda v, c: np.where(np.abs(v) > c, np.copysign(1e30, v), v), _POSITIVE, jumps=True),
    NumberForm("leaky", "multiplied by {number} where it is negative", lambda v, k: np.where(v < 0, k * v, v),
         (0.0, 0.001, 0.01, 0.1, 0.2, 0.25, 0.3, 0.5, -1.0, 2.0)),
    NumberForm("rounded", "rounded to multiples of 1/{number}", lambda v, n: np.round(v * n) / n, _GRIDS, fitted=False, jumps=True),
    NumberForm("cut", "cut off to multiples of 1/{number}", lambda v, n: np.trunc(v * n) / n, _GRIDS, fitted=False, jumps=True),
    NumberForm("floored", "rounded down to multiples of 1/{number}", lambda v, n: np.floor(v * n) / n, _GRIDS, fitted=False,
         jumps=True),
)  # fmt: skip
"""What may happen to a quantity of a step, and is no sum (gen.variants.sums)."""
FORMS = (SCALED, NumberForm("shifted", "off by {number}", lambda v, c: v + c, _SIGNED), *NOT_LINEAR)
"""What may happen to the argument of a function, or to its result."""

_WORDS = {("scaled", 0.0): "left out", ("scaled", -1.0): "negated"}


def told(form: NumberForm, number: float) -> str:
    """What the form does with this number, in words: with six digits of it."""
    text = f"{number:.6g}"
    return _WORDS.get((form.name, float(text))) or form.about.replace("{number}", text)

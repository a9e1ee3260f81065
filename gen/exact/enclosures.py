"""The exact outputs of a case by Arb, rounded once, proven.

The GRU is evaluated over Arb's balls (a midpoint and a radius that provably encloses the exact
real value). Each output's ball is then rounded to the case's dtype: where every point of the ball
rounds to the same number, that number is proven; where not, the case is evaluated again at twice
the precision (Ziv's strategy), up to a cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat

from ...cases.dtypes import Array, Arrays, FloatType
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import Semantics
from ..gru import gru
from .rounding import Undecided, round_array

FIRST_BITS = 128
MOST_BITS = 4096

_ZERO, _ONE = arb(0), arb(1)


class Enclosures:
    """Arithmetic on numpy object arrays of Arb balls, at the current precision."""

    zero = _ZERO

    def numbers(self, array: Array) -> Array:
        """Exact balls: every float16, bfloat16, float32 and float64 is a double."""
        return _object_array([arb(v) for v in _doubles(array)], array.shape)

    def bias(self, array: Array) -> Array:
        """As any numbers."""
        return self.numbers(array)

    def weight(self, matrix: Array) -> arb_mat:
        """Transpose a weight into a matrix of Arb's."""
        columns, rows = matrix.shape
        return arb_mat(rows, columns, _doubles(matrix.T))

    def product(self, x: Array, weight: arb_mat) -> Array:
        """x·matrixᵀ, enclosed."""
        left = arb_mat(x.shape[0], x.shape[1], x.ravel().tolist())
        product: arb_mat = left * weight
        return _object_array(product.entries(), (x.shape[0], weight.ncols()))

    def activation(self, function: Activation, a: Array, clip: float) -> Array:
        """Apply the activation to every ball of `a`, clipped first where clip is finite."""
        if not math.isinf(clip):
            a = self.at_most(self.at_least(a, -clip), clip)
        value = FUNCTIONS[function.name].value(self, a, function.alpha, function.beta)
        return np.asarray(value, object)

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """(1 - z)·t + z·h, enclosed."""
        return _each(_blend, z, t, h)

    def affine(self, v: Array, a: float, b: float) -> Array:
        """a·v + b."""
        scale, offset = arb(a), arb(b)
        return _each(lambda x: scale * x + offset if b else scale * x, v)

    def at_least(self, v: Array, low: float) -> Array:
        """max(v, low)."""
        least = arb(low)
        return _each(lambda x: x.max(least), v)  # nonnegative_part of -infinity is NaN

    def at_most(self, v: Array, high: float) -> Array:
        """min(v, high)."""
        most = arb(high)
        return _each(lambda x: x.min(most), v)

    def above(self, v: Array, a: float) -> Array:
        """v where v > a, else 0."""
        step = arb(a)

        def above(x: arb) -> arb:
            if x > step:
                return x
            return _ZERO if x <= step else x.union(_ZERO)

        return _each(above, v)

    def sigmoid(self, v: Array) -> Array:
        """1/(1 + e^-v)."""
        return _each(_sigmoid, v)

    def tanh(self, v: Array) -> Array:
        """Tanh v."""
        return _each(arb.tanh, v)

    def expm1(self, v: Array) -> Array:
        """e^v - 1."""
        return _each(arb.expm1, v)

    def softplus(self, v: Array) -> Array:
        """log(1 + e^v)."""
        return _each(lambda x: x.max(_ZERO) + (-abs(x)).exp().log1p(), v)

    def softsign(self, v: Array) -> Array:
        """v/(1 + |v|)."""
        return _each(lambda x: x / (_ONE + abs(x)), v)


def _each(function: Callable[..., arb], *arrays: Array) -> Array:
    """Apply a function of Arb's balls element by element."""
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def _doubles(array: Array) -> list[float]:
    values: list[float] = array.astype(np.float64).ravel().tolist()
    return values


def _object_array(values: list[Any], shape: tuple[int, ...]) -> Array:
    return np.fromiter(values, object, len(values)).reshape(shape)


def _blend(z: arb, t: arb, h: arb) -> arb:
    # with m the midpoint of z, the radius of z meets |h - t| and not |h| + |t|
    m = z.mid()
    blended = (_ONE - m) * t + m * h + (z - m) * (h - t)
    return blended if blended.is_finite() else (_ONE - z) * t + z * h


def _sigmoid(v: arb) -> arb:
    # of the two forms the one whose exponential does not overflow Arb's exponents
    if v < _ZERO:
        e = v.exp()
        return e / (_ONE + e)
    return _ONE / (_ONE + (-v).exp())


def outputs_by_arb(
    semantics: Semantics, inputs: GruInputs, dtype: FloatType, wanted: Collection[str]
) -> Arrays:
    """Evaluate the exact `y` and `ho` (those `wanted`), rounded once to `dtype`.

    Raises Undecided where MOST_BITS do not decide every element.
    """

    def rounded() -> Arrays:
        y, ho = gru(Enclosures(), semantics, inputs)
        return {
            role: round_array(balls, dtype)
            for role, balls in (("y", y), ("ho", ho))
            if role in wanted
        }

    return at_enough_bits(rounded, inputs)


def at_enough_bits(rounded: Callable[[], Arrays], inputs: GruInputs) -> Arrays:
    """Call `rounded` at higher and higher precision until it does not raise Undecided.

    It evaluates over `Enclosures`. Raises Undecided where MOST_BITS are not enough.
    """
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            try:
                found = rounded()
                if any(np.isnan(a).any() for a in found.values()) and _finite(inputs):
                    raise Undecided  # an enclosure that knows nothing, not an answer
                return found
            except Undecided:
                bits *= 2
    raise Undecided


def _finite(inputs: GruInputs) -> bool:
    gates = (*inputs.w.values(), *inputs.r.values(), *inputs.b.values())
    return all(np.isfinite(array).all() for array in (inputs.x, inputs.h0, *gates))

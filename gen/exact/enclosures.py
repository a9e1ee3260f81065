"""The exact outputs of a case by Arb, rounded once, proven.

The GRU is evaluated over Arb's balls (a midpoint and a radius that provably encloses the exact
real value). Each output's ball is then rounded to the case's dtype. If every point of the ball
rounds to the same number, that number is proven. If not, the case is evaluated again at twice the
precision (Ziv's strategy), up to a cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat

from ...cases.dtypes import Array, Arrays, FloatType
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import Semantics
from ..gru import gru

_HALF = arb(0.5)


class Undecided(Exception):
    """An output is too close to the middle between two numbers of its dtype to be rounded."""


def round_ball(ball: arb, dtype: FloatType) -> float:
    """Find the number of `dtype` that every point of `ball` rounds to, ties to even, as a double.

    Zero is +0; overflow gives infinity. Raises Undecided if the ball's points round to different
    numbers. Let 2^e be the spacing of `dtype` around the ball, and y = ball / 2^e. Then floor(y + ½)
    and ceil(y - ½) are the same integer exactly if all of y is nearer to that integer than to any
    other.
    """
    if not ball.is_finite():
        return _round_special(ball)
    if ball.is_zero():
        return 0.0
    top = math.frexp(dtype.largest)[1]  # every |v| >= 2^top overflows
    if ball.abs_lower() >= _power_of_two(top):
        return math.inf if ball > 0 else -math.inf
    approximate = float(ball.mid())
    if approximate == 0.0:
        exponent = dtype.least_exponent
    else:
        height = top if math.isinf(approximate) else math.frexp(approximate)[1]
        exponent = max(height - dtype.precision, dtype.least_exponent)
    n = _nearest_integer(ball, exponent)
    power = 1 << (dtype.precision - 1)
    if (
        abs(n) == power
        and exponent > dtype.least_exponent
        and ball.abs_lower() < power * _power_of_two(exponent)
    ):
        # the ball reaches below a power of two, where the spacing is half as wide
        exponent -= 1
        n = _nearest_integer(ball, exponent)
        if abs(n) != 2 * power:
            raise Undecided
    if exponent + n.bit_length() > top:
        return math.copysign(math.inf, n)
    return math.ldexp(n, exponent) if n else 0.0


def _nearest_integer(ball: arb, exponent: int) -> int:
    y = ball * _power_of_two(-exponent)
    up, down = (y + _HALF).floor().unique_fmpz(), (y - _HALF).ceil().unique_fmpz()
    if up is None or down is None:
        raise Undecided
    if up == down:
        return int(up)
    if not ball.is_exact():
        raise Undecided
    return int(up) if up % 2 == 0 else int(down)  # an exact tie


@lru_cache(maxsize=4096)
def _power_of_two(exponent: int) -> arb:
    return arb(2) ** exponent


def _round_special(ball: arb) -> float:
    if ball.is_nan():
        return math.nan
    if ball.rad().is_finite() and not ball.mid().is_finite():
        return math.inf if ball > 0 else -math.inf
    raise Undecided


def round_array(balls: Array, dtype: FloatType) -> Array:
    """Apply `round_ball` to every element; return an array of the dtype."""
    flat = balls.ravel().tolist()
    if dtype.name == "float64":
        values, decided = _round_to_float64(flat)
        for at in np.flatnonzero(~decided):
            values[at] = round_ball(flat[at], dtype)
    else:
        values = np.array([round_ball(ball, dtype) for ball in flat], np.float64)
    return values.reshape(balls.shape).astype(dtype.numpy)  # exact


def _round_to_float64(balls: list[arb]) -> tuple[Array, Array]:
    """Round to float64, and mark the numbers that are proven to be what `round_ball` gives.

    The rest is the ball less a near float64 number; adding either end of the rest to this number encloses
    the ball. A float64 addition rounds its exact sum once: if both sums round alike, so does all between.
    """
    near = [float(ball) for ball in balls]
    rest = [ball - value for ball, value in zip(balls, near, strict=True)]
    low = np.nextafter([float(ball.lower()) for ball in rest], -np.inf)  # float() may round inwards
    high = np.nextafter([float(ball.upper()) for ball in rest], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Array = near + high + 0.0  # zero is +0
        return values, np.isfinite(values) & (near + low == values)


FIRST_BITS = 128
MOST_BITS = 4096

_ZERO, _ONE = arb(0), arb(1)


class Enclosures:
    """Arithmetic on numpy object arrays of Arb balls, at the current precision."""

    zero = _ZERO

    def numbers(self, array: Array) -> Array:
        """Make exact balls: every float16, bfloat16, float32 and float64 is a double."""
        return _object_array([arb(v) for v in _doubles(array)], array.shape)

    def bias(self, array: Array) -> Array:
        """Make exact balls, as of any numbers."""
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
    # m is the midpoint of z: in this form the radius of z multiplies |h - t|, not |h| + |t|
    m = z.mid()
    blended = (_ONE - m) * t + m * h + (z - m) * (h - t)
    return blended if blended.is_finite() else (_ONE - z) * t + z * h


def _sigmoid(v: arb) -> arb:
    # use the form whose exponential does not overflow Arb's exponents
    if v < _ZERO:
        e = v.exp()
        return e / (_ONE + e)
    return _ONE / (_ONE + (-v).exp())


def outputs_by_arb(
    semantics: Semantics,
    inputs: GruInputs,
    dtype: FloatType,
    wanted: Collection[str],
    bits: int = FIRST_BITS,
) -> Arrays:
    """Evaluate the exact `y` and `ho` (those `wanted`), rounded once to `dtype`, at first with `bits`.

    Raises Undecided where MOST_BITS do not decide every element.
    """

    def rounded() -> Arrays:
        y, ho = gru(Enclosures(), semantics, inputs)
        return {
            role: round_array(balls, dtype)
            for role, balls in (("y", y), ("ho", ho))
            if role in wanted
        }

    return at_enough_bits(rounded, inputs, bits)


def at_enough_bits(
    rounded: Callable[[], Arrays], inputs: GruInputs, bits: int = FIRST_BITS
) -> Arrays:
    """Call `rounded` at higher and higher precision, from `bits`, until it does not raise Undecided.

    `rounded` evaluates over `Enclosures`. Raises Undecided if MOST_BITS are not enough.
    """
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            try:
                found = rounded()
                if any(np.isnan(a).any() for a in found.values()) and _finite(inputs):
                    raise Undecided  # NaN is an enclosure that knows nothing, not an answer
                return found
            except Undecided:
                bits *= 2
    raise Undecided


def _finite(inputs: GruInputs) -> bool:
    gates = (*inputs.w.values(), *inputs.r.values(), *inputs.b.values())
    return all(np.isfinite(array).all() for array in (inputs.x, inputs.h0, *gates))

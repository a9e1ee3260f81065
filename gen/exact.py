"""The exact outputs of a case, rounded once, proven.

The GRU is evaluated over Arb's balls (a midpoint and a radius that provably encloses the exact
real value). Each output's ball is then rounded to the case's dtype: where every point of the ball
rounds to the same number, that number is proven; where not, the case is evaluated again at twice
the precision (Ziv's strategy), up to a cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat

from ..cases.activations import Activation
from ..cases.dtypes import FloatType
from ..cases.semantics import Semantics
from ..vectors.case import Array
from ..vectors.convert import GruInputs
from .gru import gru

FIRST_BITS = 128
MOST_BITS = 4096

_HALF = arb(0.5)
_ZERO, _ONE = arb(0), arb(1)


class Undecided(Exception):
    """An output is too close to the middle between two numbers of its dtype to be rounded."""


class Enclosures:
    """Arithmetic on numpy object arrays of Arb balls, at the current precision."""

    zero = _ZERO

    def __init__(self) -> None:
        self._blend = np.frompyfunc(_blend, 3, 1)

    def numbers(self, array: Array) -> Array:
        """Exact balls: every float16, bfloat16, float32 and float64 is a double."""
        return _object_array([arb(v) for v in _doubles(array)], array.shape)

    def factor(self, matrix: Array) -> arb_mat:
        """A right factor: the transpose, as an Arb matrix."""
        columns, rows = matrix.shape
        return arb_mat(rows, columns, _doubles(matrix.T))

    def product(self, x: Array, factor: arb_mat) -> Array:
        """x·matrixᵀ, enclosed."""
        left = arb_mat(x.shape[0], x.shape[1], x.ravel().tolist())
        product: arb_mat = left * factor
        return _object_array(product.entries(), (x.shape[0], factor.ncols()))

    def activation(self, function: Activation, a: Array, clip: float) -> Array:
        """The activation of every ball of `a`, clipped first where clip is finite."""
        result: Array = _activation(function, clip)(a)
        return result

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """(1 - z)·t + z·h, enclosed."""
        return np.asarray(self._blend(z, t, h), object)


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


def _thresholded(v: arb, alpha: arb) -> arb:
    if v > alpha:
        return v
    return _ZERO if v <= alpha else v.union(_ZERO)


def _softplus(v: arb) -> arb:
    return v.max(_ZERO) + (-abs(v)).exp().log1p()


_FUNCTIONS: dict[str, Callable[[arb, arb], Callable[[arb], arb]]] = {
    "sigmoid": lambda *_: _sigmoid,
    "tanh": lambda *_: arb.tanh,
    "relu": lambda *_: lambda v: v.max(_ZERO),  # nonnegative_part of -infinity is NaN
    "affine": lambda a, b: lambda v: a * v + b,
    "leaky-relu": lambda a, _: lambda v: v.max(_ZERO) + a * v.min(_ZERO),
    "thresholded-relu": lambda a, _: lambda v: _thresholded(v, a),
    "scaled-tanh": lambda a, b: lambda v: a * (b * v).tanh(),
    "hard-sigmoid": lambda a, b: lambda v: (a * v + b).max(_ZERO).min(_ONE),
    "elu": lambda a, _: lambda v: v.max(_ZERO) + a * v.min(_ZERO).expm1(),
    "softsign": lambda *_: lambda v: v / (_ONE + abs(v)),
    "softplus": lambda *_: _softplus,
}
"""The functions of cases.activations: of alpha and beta, and then of v."""


@lru_cache(maxsize=1024)
def _activation(function: Activation, clip: float) -> Any:
    of = _FUNCTIONS[function.name](arb(function.alpha), arb(function.beta))
    if math.isinf(clip):
        return np.frompyfunc(of, 1, 1)
    low, high = arb(-clip), arb(clip)
    return np.frompyfunc(lambda v: of(v.max(low).min(high)), 1, 1)


def round_ball(ball: arb, dtype: FloatType) -> float:
    """The number of `dtype` that every point of `ball` rounds to, ties to even, as a double.

    Zero is +0; overflow gives infinity. Raises Undecided where the ball's points round to
    different numbers. The rounding is of integers: with 2^e the spacing of `dtype` around the
    ball, floor(y + ½) and ceil(y - ½) of y = ball / 2^e agree on one integer exactly where all of
    y is nearer to it than to any other.
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
    """`round_ball` of every element, as an array of the dtype."""
    flat = balls.ravel().tolist()
    if dtype.name == "float64":
        values, decided = _round_to_float64(flat)
        for at in np.flatnonzero(~decided):
            values[at] = round_ball(flat[at], dtype)
    else:
        values = np.array([round_ball(ball, dtype) for ball in flat], np.float64)
    return values.reshape(balls.shape).astype(dtype.numpy)  # exact


def _round_to_float64(balls: list[arb]) -> tuple[Array, Array]:
    """float64 numbers, and which of them are proven to be what `round_ball` gives.

    A ball is between the sums of a near float64 number and the two ends of what is left. An addition
    in float64 rounds its exact sum once: where both sums round alike, all between them does.
    """
    near = [float(ball) for ball in balls]
    rest = [ball - value for ball, value in zip(balls, near, strict=True)]
    low = np.nextafter([float(ball.lower()) for ball in rest], -np.inf)  # float() may round inwards
    high = np.nextafter([float(ball.upper()) for ball in rest], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Array = near + high + 0.0  # zero is +0
        return values, np.isfinite(values) & (near + low == values)


def exact_outputs(
    semantics: Semantics, inputs: GruInputs, dtype: FloatType, wanted: Collection[str]
) -> dict[str, Array]:
    """The exact `y` and `ho` (those `wanted`) rounded once to `dtype`.

    Raises Undecided where MOST_BITS do not decide every element.
    """
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            y, ho = gru(Enclosures(), semantics, inputs)
            try:
                rounded = {
                    role: round_array(balls, dtype)
                    for role, balls in (("y", y), ("ho", ho))
                    if role in wanted
                }
                if any(np.isnan(a).any() for a in rounded.values()) and _finite(inputs):
                    raise Undecided  # an enclosure that knows nothing, not an answer
                return rounded
            except Undecided:
                bits *= 2
    raise Undecided


def _finite(inputs: GruInputs) -> bool:
    gates = (*inputs.w.values(), *inputs.r.values(), *inputs.b.values())
    return all(np.isfinite(array).all() for array in (inputs.x, inputs.h0, *gates))

"""An independent oracle for OpenVINO GRUCell-3 and GRUSequence-5.

Written from the text of the two specifications and the ledger alone, one scalar at a time, and
sharing nothing with the generator it is there to check.  Two number systems: `MPMATH` (300 bits)
and `FRACTIONS` (exact, relu alone).  `round_once` takes a result of either to a dtype.

Limit of MPMATH: 300 bits are relative to each operation, so a cancellation (1 - z with z within
2^-200 of 1, sums over a huge range of exponents) costs bits.  When in doubt compare with
`MpmathNumbers(3000)`.
"""

import importlib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import ml_dtypes
import numpy
import numpy.typing as npt

mpmath: Any = importlib.import_module("mpmath")  # it has no type information

Array = npt.NDArray[Any]
Vector = list[Any]  # of the numbers of one number system
Matrix = list[Vector]


# number systems


class Numbers(Protocol):
    """How to enter a number system and to apply an activation there; + - * and < are Python's."""

    def exact(self, value: float) -> Any: ...

    def activation(self, name: str, value: Any) -> Any: ...


class MpmathNumbers:
    """Binary floating point with `bits` bits, in an mpmath context of its own."""

    def __init__(self, bits: int) -> None:
        self.context = mpmath.MPContext()
        self.context.prec = bits

    def exact(self, value: float) -> Any:
        return self.context.mpf(value)

    def activation(self, name: str, value: Any) -> Any:
        functions = {
            "relu": lambda: max(value, self.exact(0.0)),
            "sigmoid": lambda: 1 / (1 + self.context.exp(-value)),
            "tanh": lambda: self.context.tanh(value),
            "softsign": lambda: value / (1 + abs(value)),
            "softplus": lambda: self.context.log1p(self.context.exp(value)),
        }
        return functions[name]()


class FractionNumbers:
    """Exact rational numbers."""

    def exact(self, value: float) -> Fraction:
        return Fraction(value)

    def activation(self, name: str, value: Fraction) -> Fraction:
        assert name == "relu"  # no other is a fraction
        return max(value, Fraction(0))


MPMATH = MpmathNumbers(300)
FRACTIONS = FractionNumbers()


# the operators


def evaluate(
    operator: str,
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    numbers: Numbers,
    len_zero: str = "zeros",
) -> dict[str, list[Any]]:
    """The outputs by name, as nested lists in the shapes of the specification.

    `operator`: "openvino.GRUCell-3" or "openvino.GRUSequence-5".
    `len_zero`: Ho of a row of length 0: "zeros" or "initial_hidden_state".
    """
    if operator == "openvino.GRUSequence-5":
        return _gru_sequence(attributes, inputs, numbers, len_zero)
    hidden = attributes["hidden_size"]
    W, R = (matrix(inputs[name], numbers) for name in "WR")
    B = vector(inputs["B"] if "B" in inputs else numpy.zeros(4 * hidden), numbers)  # 3 without lbr
    X, H = (matrix(inputs[name], numbers) for name in ("X", "initial_hidden_state"))
    return {"Ho": [_step(x, h, W, R, B, attributes, numbers) for x, h in zip(X, H, strict=True)]}


def _gru_sequence(
    attributes: Mapping[str, Any], inputs: Mapping[str, Array], numbers: Numbers, len_zero: str
) -> dict[str, list[Any]]:
    direction = attributes["direction"]
    # bidirectional: 0 is forward, 1 is reverse (ledger: bidi-layout)
    reversals = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    directions = len(reversals)
    hidden = attributes["hidden_size"]
    batch, seq_length, _ = inputs["X"].shape
    lengths = [int(length) for length in inputs["sequence_lengths"]]

    zeros = [numbers.exact(0.0)] * hidden
    Y = [[[zeros for t in range(seq_length)] for d in range(directions)] for n in range(batch)]
    Ho = [[zeros for d in range(directions)] for n in range(batch)]
    for d in range(directions):
        W = matrix(inputs["W"][d], numbers)
        R = matrix(inputs["R"][d], numbers)
        B = vector(inputs["B"][d], numbers)
        for n in range(batch):
            times = list(range(lengths[n]))  # X past the length is never looked at
            if reversals[d]:
                times.reverse()
            h = vector(inputs["initial_hidden_state"][n, d], numbers)
            for t in times:
                h = _step(vector(inputs["X"][n, t], numbers), h, W, R, B, attributes, numbers)
                Y[n][d][t] = h
            if lengths[n] > 0 or len_zero == "initial_hidden_state":
                Ho[n][d] = h
    return {"Y": Y, "Ho": Ho}


def _step(x: Vector, h: Vector, W: Matrix, R: Matrix, B: Vector, *given: Any) -> Vector:
    return quantities(x, h, W, R, B, *given)["state"]


def quantities(
    x: Vector,
    h: Vector,
    W: Matrix,
    R: Matrix,
    B: Vector,
    attributes: Mapping[str, Any],
    numbers: Numbers,
) -> dict[str, Vector]:
    """Ht of one row from its Xt and Ht-1, as `state`: the five formulas of GRUCell, in their order.

    And what it is made of: arguments of activations, gates z and r, candidate t, and what rt multiplies, u.
    """
    H = len(h)
    Wz, Wr, Wh = W[:H], W[H : 2 * H], W[2 * H :]
    Rz, Rr, Rh = R[:H], R[H : 2 * H], R[2 * H :]
    bz, br = B[:H], B[H : 2 * H]  # the sums Wbz + Rbz and Wbr + Rbr
    f, g = attributes["activations"]

    def activated(name: str, values: Vector) -> Vector:
        if attributes["clip"] != math.inf:
            c = numbers.exact(attributes["clip"])
            values = [min(max(a, -c), c) for a in values]
        return [numbers.activation(name, a) for a in values]

    a_z = [dot(x, Wz[j]) + dot(h, Rz[j]) + bz[j] for j in range(H)]
    a_r = [dot(x, Wr[j]) + dot(h, Rr[j]) + br[j] for j in range(H)]
    zt, rt = activated(f, a_z), activated(f, a_r)
    if attributes["linear_before_reset"]:
        Wbh, Rbh = B[2 * H : 3 * H], B[3 * H :]  # ledger: b-order
        u = [dot(h, Rh[j]) + Rbh[j] for j in range(H)]
        a_h = [dot(x, Wh[j]) + rt[j] * u[j] + Wbh[j] for j in range(H)]
    else:
        bh, u = B[2 * H :], h  # the sum Rbh + Wbh
        rh = [rt[k] * h[k] for k in range(H)]
        a_h = [dot(x, Wh[j]) + dot(rh, Rh[j]) + bh[j] for j in range(H)]
    ht = activated(g, a_h)
    state = [(1 - zt[j]) * ht[j] + zt[j] * h[j] for j in range(H)]
    return {"a_z": a_z, "a_r": a_r, "a_h": a_h, "z": zt, "r": rt, "t": ht, "u": u, "state": state}


def dot(a: Vector, b: Vector) -> Any:
    """The sum of the products; of mpmath's numbers it is exact, and rounded once."""
    if isinstance(a[0], Fraction):
        return sum(p * q for p, q in zip(a, b, strict=True))
    return a[0].context.fdot(zip(a, b, strict=True))


def vector(row: Array, numbers: Numbers) -> Vector:
    """Enter a row of finite numbers."""
    if not all(math.isfinite(entry) for entry in row):
        raise ValueError(f"not finite: {row}")
    return [numbers.exact(float(entry)) for entry in row]  # float64 holds each dtype exactly


def matrix(rows: Array, numbers: Numbers) -> Matrix:
    return [vector(row, numbers) for row in rows]


# rounding


class Format(NamedTuple):
    scalar: Any  # the numpy scalar type
    precision: int  # bits of the significand, the leading one included
    emin: int  # exponent of the smallest normal number
    emax: int  # exponent of the largest finite number


FORMATS = {
    "float16": Format(numpy.float16, 11, -14, 15),
    "bfloat16": Format(ml_dtypes.bfloat16, 8, -126, 127),
    "float32": Format(numpy.float32, 24, -126, 127),
    "float64": Format(numpy.float64, 53, -1022, 1023),
}


def to_fraction(value: Any) -> Fraction:
    """The exact value of a Fraction or an mpf.

    An mpf beyond 2^±5000 becomes ±2^±5000: on the same side of everything in every format, and
    its Fraction would not fit in memory for the exponents that exp() can reach.
    """
    if isinstance(value, Fraction):
        return value
    if not value.context.isfinite(value):
        raise ValueError(f"not a finite number: {value}")
    mantissa, exponent = map(int, value.man_exp)
    sign = -1 if value < 0 else 1  # the mantissa's own sign depends on mpmath's version
    size = mantissa.bit_length() + exponent
    if mantissa == 0:
        return Fraction(0)
    if abs(size) > 5000:
        return sign * Fraction(2) ** (5000 if size > 0 else -5000)
    return sign * abs(mantissa) * Fraction(2) ** exponent


def _quantum(magnitude: Fraction, fmt: Format) -> Fraction:
    """The spacing of the format at a positive number, as if it had no largest exponent."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1  # now 2^exponent <= magnitude < 2^(exponent + 1)
    return Fraction(2) ** (max(exponent, fmt.emin) - (fmt.precision - 1))


def round_once(value: Any, dtype: str) -> Any:
    """A Fraction or an mpf rounded to nearest, ties to even, once.  A zero result is +0."""
    fmt = FORMATS[dtype]
    exact = to_fraction(value)
    if exact == 0:
        return fmt.scalar(0.0)
    quantum = _quantum(abs(exact), fmt)
    steps, rest = divmod(abs(exact), quantum)
    if rest > quantum / 2 or (rest == quantum / 2 and steps % 2 == 1):
        steps += 1
    if steps * quantum >= Fraction(2) ** (fmt.emax + 1):
        return fmt.scalar(-math.inf if exact < 0 else math.inf)
    if steps == 0:
        return fmt.scalar(0.0)
    rounded = steps * quantum if exact > 0 else -steps * quantum
    result = fmt.scalar(float(rounded))  # both steps are exact, which is checked
    if Fraction(float(result)) != rounded:
        raise AssertionError(f"{rounded} is not a number of {dtype}")
    return result


def distance_to_tie(value: Any, dtype: str) -> Fraction:
    """How far the value is from the nearest number at which rounding changes its mind.

    In units of the format's spacing at the value (of its largest spacing, beyond the range).
    """
    fmt = FORMATS[dtype]
    magnitude = abs(to_fraction(value))
    smallest, largest = (Fraction(2) ** (e - (fmt.precision - 1)) for e in (fmt.emin, fmt.emax))
    quantum = min(_quantum(magnitude, fmt), largest) if magnitude else smallest
    at = magnitude / quantum
    steps: int = min(int(at), 2**fmt.precision - 1)  # the last tie is the overflow threshold
    distance = abs(at - steps - Fraction(1, 2))
    if steps == 2 ** (fmt.precision - 1) and quantum > smallest:
        # just above a power of two: below it the spacing is half as wide
        distance = min(distance, at - steps + Fraction(1, 4))
    return distance

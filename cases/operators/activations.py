"""The activation functions of all operators' specifications, in one shared vocabulary.

An operator's description maps its own spelling (`HardSigmoid`, `hardSigmoid`) to an `Activation`.
Each function is one record here. Its error bounds, and its values in every arithmetic that has its
operations (`Elementary`), follow from the record. v is a pre-activation; a and b are the parameters alpha
and beta:

    relu              max(0, v)
    sigmoid           1/(1 + e^-v)
    tanh              tanh(v)
    affine            a v + b
    leaky-relu        v where v >= 0, else a v
    thresholded-relu  v where v > a, else 0
    scaled-tanh       a tanh(b v)
    hard-sigmoid      min(1, max(0, a v + b))
    elu               v where v >= 0, else a (e^v - 1)
    softsign          v/(1 + |v|)
    softplus          log(1 + e^v)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from ..dtypes import Array

Parameter = Literal["alpha", "beta"]


class Elementary(Protocol):
    """The operations that functions are made of, in some arithmetic.

    v is a value of the arithmetic, a and b are numbers; `+` adds two values.
    """

    def affine(self, v: Any, a: float, b: float) -> Any:
        """a·v + b."""

    def at_least(self, v: Any, low: float) -> Any:
        """max(v, low)."""

    def at_most(self, v: Any, high: float) -> Any:
        """min(v, high)."""

    def above(self, v: Any, a: float) -> Any:
        """v where v > a, else 0."""

    def sigmoid(self, v: Any) -> Any:
        """1/(1 + e^-v)."""

    def tanh(self, v: Any) -> Any:
        """tanh(v)."""

    def expm1(self, v: Any) -> Any:
        """e^v - 1, for v ≤ 0."""

    def softplus(self, v: Any) -> Any:
        """log(1 + e^v)."""

    def softsign(self, v: Any) -> Any:
        """v/(1 + |v|)."""


class Fitted(Protocol):
    """A class of arithmetic: the (relative, absolute) errors of its sigmoid and tanh, in its units."""

    @property
    def sigmoid(self) -> tuple[float, float]:
        """The error of 1/(1 + e^-v)."""

    @property
    def tanh(self) -> tuple[float, float]:
        """The error of the hyperbolic tangent."""


@dataclass(frozen=True)
class Break:
    """A point where a function is not smooth: its slope jumps by `slope`, and its value by `height`."""

    at: float
    slope: float
    height: float = 0.0


@dataclass(frozen=True)
class Shape:
    """Bounds of a function and of its derivatives.

    `second` and `third` bound |f″| and |f‴| (`third` is infinite if f″ jumps); `range` is the largest value
    less the smallest; `breaks` are the points where f is not smooth.

    `guarded`: a case is discarded if rounding may move a pre-activation across a break. For there f itself
    jumps, or the break moves when parameters are rounded, as the kinks of a hard sigmoid do.
    """

    second: float = 0.0
    third: float = 0.0
    range: float = math.inf
    breaks: tuple[Break, ...] = ()
    guarded: bool = False


@dataclass(frozen=True)
class Function:
    """An activation function f of a pre-activation v, with parameters a (alpha) and b (beta).

    `takes` are its parameters; `default` are the parameters of a runtime that ignores the given ones.
    `bounded` says whether f is bounded; a state may grow without bound if its gates are not. `value`
    computes f in any Elementary arithmetic. For error bounds: `slopes` gives f′(v) and |f″(v)| of float64
    arrays, at a break from one side. `shape` gives bounds for all v. `rounding` gives (relative, absolute,
    growing): computed from a given v, f errs by at most relative·|f| + absolute + growing·|v|, in units of a
    class's unit roundoff. `underflow` weighs the loss from a parameter's underflow, for each unit of |v|.
    The rounding of sigmoid and tanh is fitted, and stands in the class. The rounding of other functions is
    counted in their textbook form: each operation rounds once, a and b may be rounded before, an exponential
    or logarithm errs by two units.
    """

    name: str
    takes: tuple[Parameter, ...]
    bounded: bool
    value: Callable[[Elementary, Any, float, float], Any]
    slopes: Callable[[Array, float, float], tuple[Array, Array]]
    shape: Callable[[float, float], Shape]
    rounding: Callable[[float, float, Fitted], tuple[float, float, float]]
    underflow: Callable[[float, float], float] = lambda _, __: 0.0
    default: tuple[float, float] | None = None


class Activation(NamedTuple):
    """A function with its parameters; a parameter that it does not take is 0.

    Parameters are exact numbers: those of specifications are C floats, and so float32 numbers.
    """

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def takes(self) -> tuple[Parameter, ...]:
        """The parameters that the function takes; none where it is unknown."""
        return FUNCTIONS[self.name].takes if self.name in FUNCTIONS else ()

    def having(self, parameter: Parameter, value: float) -> Activation:
        """Replace the value of one parameter."""
        return self._replace(alpha=value) if parameter == "alpha" else self._replace(beta=value)

    def __str__(self) -> str:
        given = ", ".join(f"{getattr(self, name):g}" for name in self.takes)
        return f"{self.name}({given})" if given else self.name


def _sigmoid_slopes(v: Array, *_: float) -> tuple[Array, Array]:
    e = np.exp(-np.abs(v))
    slope = e / (1.0 + e) ** 2
    return slope, slope * np.abs(np.tanh(0.5 * v))


def _tanh_slopes(v: Array, *_: float) -> tuple[Array, Array]:
    t = np.tanh(v)
    slope = 1.0 / np.cosh(np.minimum(np.abs(v), 350.0)) ** 2
    return slope, np.abs(2.0 * t * slope)


def _scaled_tanh_slopes(v: Array, a: float, b: float) -> tuple[Array, Array]:
    slope, second = _tanh_slopes(b * v)
    return a * b * slope, abs(a) * b**2 * second


def _hard_sigmoid_slopes(v: Array, a: float, b: float) -> tuple[Array, Array]:
    inside = a * v + b
    return np.where((inside > 0.0) & (inside < 1.0), a, 0.0), np.zeros_like(v)


def _elu_slopes(v: Array, a: float, _: float) -> tuple[Array, Array]:
    below = a * np.exp(np.minimum(v, 0.0))
    return np.where(v > 0, 1.0, below), np.where(v > 0, 0.0, np.abs(below))


def _softsign_slopes(v: Array, *_: float) -> tuple[Array, Array]:
    return 1.0 / (1.0 + np.abs(v)) ** 2, 2.0 / (1.0 + np.abs(v)) ** 3


def _softplus_slopes(v: Array, *_: float) -> tuple[Array, Array]:
    e = np.exp(-np.abs(v))
    return np.where(v < 0, e, 1.0) / (1.0 + e), e / (1.0 + e) ** 2


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(
            "sigmoid", takes=(), bounded=True,
            value=lambda m, v, *_: m.sigmoid(v),
            slopes=_sigmoid_slopes, shape=lambda *_: Shape(0.09623, 0.125, 1.0),
            rounding=lambda _, __, fitted: (*fitted.sigmoid, 0.0),
        ),
        Function(
            "tanh", takes=(), bounded=True,
            value=lambda m, v, *_: m.tanh(v),
            slopes=_tanh_slopes, shape=lambda *_: Shape(0.7699, 2.0, 2.0),
            rounding=lambda _, __, fitted: (*fitted.tanh, 0.0),
        ),
        Function(
            "relu", takes=(), bounded=False,
            value=lambda m, v, *_: m.at_least(v, 0.0),
            slopes=lambda v, *_: ((v > 0).astype(np.float64), np.zeros_like(v)),
            shape=lambda *_: Shape(breaks=(Break(0.0, 1.0),)),
            rounding=lambda *_: (0.0, 0.0, 0.0),
        ),
        Function(
            "affine", takes=("alpha", "beta"), bounded=False,
            value=lambda m, v, a, b: m.affine(v, a, b),
            slopes=lambda v, a, _: (np.full_like(v, a), np.zeros_like(v)), shape=lambda *_: Shape(),
            rounding=lambda a, b, _: (0.0, 2.0 * b, 3.0 * a),  # rounded: a, product, sum; b, sum
            underflow=lambda *_: 1.0, default=(1.0, 0.0),
        ),
        Function(
            "leaky-relu", takes=("alpha",), bounded=False,
            value=lambda m, v, a, _: m.at_least(v, 0.0) + m.affine(m.at_most(v, 0.0), a, 0.0),
            slopes=lambda v, a, _: (np.where(v > 0, 1.0, a), np.zeros_like(v)),
            shape=lambda a, _: Shape(breaks=(Break(0.0, abs(1.0 - a)),)),
            rounding=lambda *_: (2.0, 0.0, 0.0),  # rounded: a, product
            underflow=lambda *_: 1.0, default=(0.01, 0.0),
        ),
        Function(
            "thresholded-relu", takes=("alpha",), bounded=False,
            value=lambda m, v, a, _: m.above(v, a),
            slopes=lambda v, a, _: ((v > a).astype(np.float64), np.zeros_like(v)),
            shape=lambda a, _: Shape(breaks=(Break(a, 1.0, abs(a)),), guarded=True),
            rounding=lambda *_: (0.0, 0.0, 0.0),
            default=(1.0, 0.0),
        ),
        Function(
            "scaled-tanh", takes=("alpha", "beta"), bounded=True,
            value=lambda m, v, a, b: m.affine(m.tanh(m.affine(v, b, 0.0)), a, 0.0),
            slopes=_scaled_tanh_slopes,
            shape=lambda a, b: Shape(
                0.7699 * abs(a) * b**2, 2.0 * abs(a) * abs(b) ** 3, 2.0 * abs(a)
            ),
            # rounded: b and b·v, weighed by v·tanh′(v) <= tanh(v); a, product. The absolute part is fitted:
            # a(2 sigmoid(2bv) - 1), which cancels near 0, is off by 3.5 a there (ONNX Runtime 1.31)
            rounding=lambda a, _, fitted: (fitted.tanh[0] + 4.0, (fitted.tanh[1] + 4.0) * a, 0.0),
            underflow=lambda a, _: a, default=(1.0, 1.0),
        ),
        Function(
            "hard-sigmoid", takes=("alpha", "beta"), bounded=True,
            value=lambda m, v, a, b: m.at_most(m.at_least(m.affine(v, a, b), 0.0), 1.0),
            slopes=_hard_sigmoid_slopes,
            shape=lambda a, b: Shape(
                range=1.0,
                breaks=tuple(Break((end - b) / a, abs(a)) for end in (0.0, 1.0)) if a else (),
                guarded=True,
            ),
            rounding=lambda _, b, __: (0.0, 3.1 + 5.1 * b, 0.0),  # as affine, where |a·v| <= 1 + |b|
            underflow=lambda *_: 1.0, default=(0.2, 0.5),
        ),
        Function(
            "elu", takes=("alpha",), bounded=False,
            value=lambda m, v, a, _: m.at_least(v, 0.0) + m.affine(m.expm1(m.at_most(v, 0.0)), a, 0.0),
            slopes=_elu_slopes,
            shape=lambda a, _: Shape(abs(a), math.inf, breaks=(Break(0.0, abs(1.0 - a)),)),
            # e^v - 1 cancels near 0: its error is that of e^v <= 1
            rounding=lambda a, _, __: (3.0, 3.0 * a, 0.0),
            default=(1.0, 0.0),
        ),
        Function(
            "softsign", takes=(), bounded=True,
            value=lambda m, v, *_: m.softsign(v),
            slopes=_softsign_slopes, shape=lambda *_: Shape(2.0, math.inf, 2.0),
            rounding=lambda *_: (3.0, 0.0, 0.0),  # rounded: 1 + |v|, quotient
        ),
        Function(
            "softplus", takes=(), bounded=False,
            value=lambda m, v, *_: m.softplus(v),
            slopes=_softplus_slopes, shape=lambda *_: Shape(0.25, 0.09623),
            rounding=lambda *_: (4.0, 4.0, 0.0),  # rounded: e^v, 1 + e^v, logarithm
        ),
    )
}  # fmt: skip
"""The functions, by name."""

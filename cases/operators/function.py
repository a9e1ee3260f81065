"""What is known of an activation function, in one record: everything else is derived from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..dtypes import Array

Parameter = Literal["alpha", "beta"]


class Elementary(Protocol):
    """The operations that functions are made of, in some arithmetic; v is a value of it, a and b are
    numbers. `+` adds two values."""

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
        """The hyperbolic tangent."""

    def expm1(self, v: Any) -> Any:
        """e^v - 1, of v ≤ 0."""

    def softplus(self, v: Any) -> Any:
        """log(1 + e^v)."""

    def softsign(self, v: Any) -> Any:
        """v/(1 + |v|)."""


class Fitted(Protocol):
    """A class of arithmetic: what its sigmoid and tanh round, (relative, absolute), in its units."""

    @property
    def sigmoid(self) -> tuple[float, float]:
        """Of 1/(1 + e^-v)."""

    @property
    def tanh(self) -> tuple[float, float]:
        """Of the hyperbolic tangent."""


@dataclass(frozen=True)
class Break:
    """Where a function is not smooth: its slope jumps by `slope`, and its value by `height`."""

    at: float
    slope: float
    height: float = 0.0


@dataclass(frozen=True)
class Shape:
    """Bounds of a function: `second` and `third` of |f″| and |f‴| (infinite where f″ jumps); `range`
    of its values; where it breaks.

    `guarded`: a case is not kept if a pre-activation may be on either side of a break. A step admits
    nothing else; the kinks of a hard sigmoid move with the rounding of its parameters.
    """

    second: float = 0.0
    third: float = 0.0
    range: float = math.inf
    breaks: tuple[Break, ...] = ()
    guarded: bool = False


@dataclass(frozen=True)
class Mistake:
    """Another function that is computed in place of the one asked for.

    `instead` is the name of a function with its parameters (NaN: the one that was given), or a
    function of v in numpy. `about` says in words what it is, `needs` what an operator must have
    (see gen.variants.variant) besides the function that is asked for.
    """

    name: str
    about: str
    instead: tuple[str, float, float] | Callable[[Array], Array]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Function:
    """An activation function f of a pre-activation v, with parameters a (alpha) and b (beta).

    `takes` are the parameters that it has; `bounded` whether it stays bounded, for a state whose gates
    do not may grow without bound; `value` is f over any Elementary arithmetic. For error bounds:
    `slopes` gives f′(v) and |f″(v)| over float64 arrays, at a break those of one side; `shape` the
    bounds that hold everywhere; `rounding` how far off the computed function may be of the argument
    it is given, as (relative, absolute, growing), for an error of at most relative·|f| + absolute +
    growing·|v| in units of a class's unit roundoff; `underflow` how much what a parameter loses where
    it underflows counts, for each unit of |v|. Those of sigmoid and tanh are fitted and stand in the
    class; the others are counted in their textbook form: each operation rounds once, a and b may have
    been rounded before, an exponential or logarithm errs by two units. `default` are the parameters
    used by someone who ignores those that are given, `mistakes` what it is confused with.
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
    mistakes: tuple[Mistake, ...] = ()

"""Functions that kernels compute in place of those asked for: approximations, and other functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from ..stacks import Float64

_FLOAT64 = Float64()
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": _FLOAT64.sigmoid,
    "tanh": _FLOAT64.tanh,
}
_RANGE = 16.0
_LOG_LARGEST = float(np.log(np.finfo(np.float32).max))


def _interpolated(name: str, step: float, a: Array) -> Array:
    """Take the function from a table, interpolated linearly."""
    return np.asarray(np.interp(a, *_table(name, step)))


@cache
def _table(name: str, step: float) -> tuple[Array, Array]:
    """Multiples of `step` up to ±_RANGE, and the function there."""
    at = np.linspace(-_RANGE, _RANGE, round(2 * _RANGE / step) + 1)
    return at, FUNCTIONS[name](at)


def _pade_tanh(a: Array) -> Array:
    """x(27 + x²)/(27 + 9x²), kept at ±1 beyond ±3."""
    x = np.clip(a, -3.0, 3.0)
    return np.asarray(x * (27.0 + x**2) / (27.0 + 9.0 * x**2))


def _plan_sigmoid(a: Array) -> Array:
    """PLAN: sigmoid by straight lines, for fixed-point hardware (Amin et al., 1997)."""
    x = np.abs(a)
    y = np.select(
        [x >= 5.0, x >= 2.375, x >= 1.0],
        [np.ones_like(x), 0.03125 * x + 0.84375, 0.125 * x + 0.625],
        0.25 * x + 0.5,
    )
    return np.asarray(np.where(a < 0, 1.0 - y, y))


APPROXIMATIONS: dict[str, tuple[str, float, Callable[[Array], Array]]] = {
    f"{name}-interpolated-{error:.0e}": (name, error, partial(_interpolated, name, step))
    for name, steps in (
        ("tanh", {1e-3: 0.1, 1e-4: 0.032, 1e-5: 0.01, 3e-6: 0.0055}),
        ("sigmoid", {1e-3: 0.28, 1e-4: 0.09, 1e-5: 0.028, 3e-6: 0.0155}),
    )
    for error, step in steps.items()
} | {
    "tanh-pade": ("tanh", 2e-2, _pade_tanh),
    "sigmoid-clamped": ("sigmoid", 3.4e-4, lambda a: FUNCTIONS["sigmoid"](np.clip(a, -8.0, 8.0))),
    "sigmoid-plan": ("sigmoid", 1.8e-2, _plan_sigmoid),
    "sigmoid-of-pade": ("sigmoid", 1e-2, lambda a: np.asarray(0.5 * _pade_tanh(0.5 * a) + 0.5)),
}
"""By name: the function that is approximated, its largest error, the approximation."""


OTHER_FUNCTIONS: dict[str, Callable[[Array, float], Array]] = {
    "tanh-as-hard-tanh": lambda v, _: np.clip(v, -1.0, 1.0),
    "relu-as-relu6": lambda v, _: np.clip(v, 0.0, 6.0),
    "softplus-overflows": lambda v, _: np.where(v > _LOG_LARGEST, np.inf, np.logaddexp(0.0, v)),
    "elu-without-brackets": lambda v, a: np.where(v < 0, a * np.exp(np.minimum(v, 0)) - 1, v),
    "thresholded-relu-less-alpha": lambda v, a: np.where(v > a, v - a, 0.0),
} | {
    name: lambda v, _, function=function: function(v)
    for name, (_, _, function) in APPROXIMATIONS.items()
}
"""What variants compute that is no activation function of any specification, by name, of v and alpha."""


@dataclass(frozen=True)
class Mistake:
    """Another function that is computed in place of the one asked for.

    `about` says in words what it is, `needs` what an operator must have (see gen.variants.variant) besides the
    function that is asked for.
    """

    name: str
    about: str
    instead: Callable[[Activation], Activation]
    needs: tuple[str, ...] = ()


def called(name: str) -> Callable[[Activation], Activation]:
    """Make the function of this name, with the parameters that are given."""
    return lambda given: given._replace(name=name)


def _always(name: str, alpha: float = 0.0, beta: float = 0.0) -> Callable[[Activation], Activation]:
    other = Activation(name, alpha, beta)
    return lambda _: other


def _own(name: str, about: str) -> Mistake:
    """Make a mistake that is one of OTHER_FUNCTIONS."""
    return Mistake(name, about, called(name))


_OFTEN = {
    "sigmoid": ("sigmoid", _always("sigmoid")),
    "tanh": ("tanh", _always("tanh")),
    "relu": ("relu", _always("relu")),
    "linear": ("the identity", _always("affine", 1.0)),
}
"""What many functions are confused with."""


def _as(asked: str, others: str, needs: tuple[str, ...] = ()) -> tuple[Mistake, ...]:
    """Make the mistakes that are some of _OFTEN."""
    return tuple(Mistake(f"{asked}-as-{one}", *_OFTEN[one], needs) for one in others.split())


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "sigmoid": (
        Mistake("sigmoid-as-hard-sigmoid", "the hard sigmoid max(0, min(1, v/5 + 1/2))",
                _always("hard-sigmoid", 0.2, 0.5)),
        Mistake("sigmoid-as-hard-sigmoid-sixth", "the hard sigmoid max(0, min(1, v/6 + 1/2))",
                _always("hard-sigmoid", 1.0 / 6.0, 0.5)),
        *_as("sigmoid", "tanh relu linear"),
    ),
    "tanh": (
        *_as("tanh", "sigmoid relu linear"),
        _own("tanh-as-hard-tanh", "the hard tanh max(-1, min(1, v))"),
        Mistake("tanh-as-scaled-tanh", "1.7159 tanh(2v/3)", _always("scaled-tanh", 1.7159, 2.0 / 3.0)),
        Mistake("tanh-as-softsign", "softsign v/(1 + |v|)", _always("softsign")),
    ),
    "relu": (
        *_as("relu", "sigmoid tanh linear"),
        _own("relu-as-relu6", "relu6 min(6, max(0, v))"),
        Mistake("relu-as-leaky-relu", "leaky relu with slope 0.01", _always("leaky-relu", 0.01)),
        Mistake("relu-as-softplus", "softplus log(1 + e^v)", _always("softplus")),
    ),
    "affine": (*_as("affine", "relu tanh"), *_as("affine", "linear", needs=("alpha",))),
    "leaky-relu": _as("leaky-relu", "relu"),
    "thresholded-relu": _as("thresholded-relu", "relu"),
    "scaled-tanh": (*_as("scaled-tanh", "tanh", needs=("alpha",)), *_as("scaled-tanh", "relu")),
    "hard-sigmoid": (
        *_as("hard-sigmoid", "sigmoid relu"),
        Mistake("hard-sigmoid-unclamped", "alpha v + beta, not clamped to [0, 1]", called("affine")),
    ),
    "elu": (
        *_as("elu", "relu"),
        Mistake("elu-as-leaky-relu", "leaky relu", called("leaky-relu")),
    ),
    "softsign": _as("softsign", "tanh relu"),
    "softplus": (
        _own("softplus-overflows", "log(1 + e^v) in float32, where e^v overflows"),
        *_as("softplus", "relu"),
    ),
}  # fmt: skip
"""What each function is confused with."""
UNLISTED_MISTAKES: dict[str, Mistake] = {
    "elu": _own("elu-without-brackets", "alpha e^v - 1 where v is negative"),
    "thresholded-relu": _own("thresholded-relu-less-alpha", "v - alpha above alpha"),
}
"""The same, in no catalogue."""

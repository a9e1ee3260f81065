"""Functions that kernels compute in place of those asked for: approximations, and other functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from ...cases.operators.semantics import StackedSemantics
from ..stacks import Float64
from .variant import Variant

_FLOAT64 = Float64()
_RANGE = 16.0
_LOG_LARGEST = float(np.log(np.finfo(np.float32).max))


def _interpolated(name: str, step: float, a: Array) -> Array:
    """Take the function from a table, interpolated linearly."""
    return np.asarray(np.interp(a, *_table(name, step)))


@cache
def _table(name: str, step: float) -> tuple[Array, Array]:
    """Multiples of `step` up to ±_RANGE, and the function there."""
    at = np.linspace(-_RANGE, _RANGE, round(2 * _RANGE / step) + 1)
    return at, getattr(_FLOAT64, name)(at)


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
    "sigmoid-clamped": ("sigmoid", 3.4e-4, lambda a: _FLOAT64.sigmoid(np.clip(a, -8.0, 8.0))),
    "sigmoid-plan": ("sigmoid", 1.8e-2, _plan_sigmoid),
    "sigmoid-of-pade": ("sigmoid", 1e-2, lambda a: np.asarray(0.5 * _pade_tanh(0.5 * a) + 0.5)),
}
"""By name: the function that is approximated, its largest error, the approximation."""

OTHER_FUNCTIONS: dict[str, Callable[[Array, float], Array]] = {
    "hard-tanh": lambda v, _: np.clip(v, -1.0, 1.0),
    "relu6": lambda v, _: np.clip(v, 0.0, 6.0),
    "softplus-overflows": lambda v, _: np.where(v > _LOG_LARGEST, np.inf, np.logaddexp(0.0, v)),
    "elu-without-brackets": lambda v, a: np.where(v < 0, a * np.exp(np.minimum(v, 0)) - 1, v),
    "thresholded-relu-less-alpha": lambda v, a: np.where(v > a, v - a, 0.0),
} | {
    name: lambda v, _, function=function: function(v)
    for name, (_, _, function) in APPROXIMATIONS.items()
}
"""What variants compute that is no activation function of any specification, by name, of v and alpha."""

Rename = Callable[[Activation], Activation]


def called(name: str) -> Rename:
    """Make the function of this name, with the parameters that are given."""
    return lambda given: given._replace(name=name)


def named(f: Rename, g: Rename) -> Callable[[StackedSemantics], StackedSemantics]:
    """Take other functions for the gates and for the candidate."""
    return lambda s: replace(s, f=_each(f, s.f), g=_each(g, s.g))


def _each(rename: Rename, functions: Any) -> Any:
    """Take another function for that of each direction and case."""
    return tuple(tuple(map(rename, cases)) for cases in functions)


def wherever(asked: str, other: Rename) -> Callable[[StackedSemantics], StackedSemantics]:
    """Take another function wherever `asked` is asked for, of the gates and of the candidate."""

    def one(given: Activation) -> Activation:
        return other(given) if given.name == asked else given

    return named(one, one)


_COMPUTED = {
    "sigmoid": ("sigmoid", Activation("sigmoid")),
    "tanh": ("tanh", Activation("tanh")),
    "relu": ("relu", Activation("relu")),
    "linear": ("the identity", Activation("affine", 1.0)),
    "hard-sigmoid": ("the hard sigmoid max(0, min(1, v/5 + 1/2))", Activation("hard-sigmoid", 0.2, 0.5)),
    "hard-sigmoid-sixth": ("the hard sigmoid max(0, min(1, v/6 + 1/2))", Activation("hard-sigmoid", 1.0 / 6.0, 0.5)),
    "hard-tanh": ("the hard tanh max(-1, min(1, v))", Activation("hard-tanh")),
    "scaled-tanh": ("1.7159 tanh(2v/3)", Activation("scaled-tanh", 1.7159, 2.0 / 3.0)),
    "softsign": ("softsign v/(1 + |v|)", Activation("softsign")),
    "relu6": ("relu6 min(6, max(0, v))", Activation("relu6")),
    "leaky-relu": ("leaky relu with slope 0.01", Activation("leaky-relu", 0.01)),
    "softplus": ("softplus log(1 + e^v)", Activation("softplus")),
}  # fmt: skip
"""What is computed in place of functions, with parameters of its own: in words, and the function."""
_CONFUSED = {
    "sigmoid": "hard-sigmoid hard-sigmoid-sixth tanh relu linear",
    "tanh": "sigmoid relu linear hard-tanh scaled-tanh softsign",
    "relu": "sigmoid tanh linear relu6 leaky-relu softplus",
    "affine": "relu tanh",
    "leaky-relu": "relu",
    "thresholded-relu": "relu",
    "scaled-tanh": "relu",
    "hard-sigmoid": "sigmoid relu",
    "elu": "relu",
    "softsign": "tanh relu",
    "softplus": "relu",
}
"""Which of these each function is confused with."""


def _mistaken(name: str, asked: str, about: str, other: Rename) -> Variant:
    return Variant(
        name,
        f"{asked} computed as {about}",
        needs=(f"f.{asked}",),
        semantics=wherever(asked, other),
    )


def _taken_for(one: str, asked: str) -> Variant:
    about, function = _COMPUTED[one]
    return _mistaken(f"{asked}-as-{one}", asked, about, lambda _: function)


FUNCTION_VARIANTS = (
    *(_taken_for(one, asked) for asked, others in _CONFUSED.items() for one in others.split()),
    *(replace(_taken_for(one, asked), needs=(f"f.{asked}", "alpha")) for one, asked in (("linear", "affine"), ("tanh", "scaled-tanh"))),
    _mistaken("hard-sigmoid-unclamped", "hard-sigmoid", "alpha v + beta, not clamped to [0, 1]", called("affine")),
    _mistaken("elu-as-leaky-relu", "elu", "leaky relu", called("leaky-relu")),
    _mistaken("softplus-overflows", "softplus", "log(1 + e^v) in float32, where e^v overflows", called("softplus-overflows")),
    *(
        Variant(name, f"{asked} approximated, off by up to {error:.0e}", kind="approximation",
                function=asked, error=error, needs=(f"f.{asked}",), semantics=wherever(asked, called(name)))
        for name, (asked, error, _) in APPROXIMATIONS.items()
    ),
)  # fmt: skip
"""Functions that are taken for others, and approximations of the right ones."""
UNLISTED_FUNCTIONS = (
    _mistaken("elu-without-brackets", "elu", "alpha e^v - 1 where v is negative", called("elu-without-brackets")),
    _mistaken("thresholded-relu-less-alpha", "thresholded-relu", "v - alpha above alpha", called("thresholded-relu-less-alpha")),
)  # fmt: skip
"""The same, in no catalogue."""

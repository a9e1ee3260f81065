"""Functions that kernels compute in place of sigmoid, tanh and relu, and how far off they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...cases.dtypes import Array
from .. import float64

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    name: partial(lambda function, v: np.asarray(function(v, 0.0, 0.0)), float64.FUNCTIONS[name])
    for name in ("sigmoid", "tanh", "relu")
}
_RANGE = 16.0
_LOG_LARGEST = float(np.log(np.finfo(np.float32).max))


def _interpolated(name: str, step: float, a: Array) -> Array:
    """A table of the function at multiples of `step` up to ±_RANGE, interpolated linearly."""
    count = round(2 * _RANGE / step)
    at = np.linspace(-_RANGE, _RANGE, count + 1)
    return np.asarray(np.interp(a, at, FUNCTIONS[name](at)))


def _pade_tanh(a: Array) -> Array:
    """x(27 + x²)/(27 + 9x²), held at ±1 beyond ±3."""
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

REPLACEMENTS: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "sigmoid-as-hard-sigmoid": (
        "sigmoid",
        "the hard sigmoid max(0, min(1, v/5 + 1/2))",
        lambda a: np.clip(0.2 * a + 0.5, 0.0, 1.0),
    ),
    "sigmoid-as-hard-sigmoid-sixth": (
        "sigmoid",
        "the hard sigmoid max(0, min(1, v/6 + 1/2))",
        lambda a: np.clip(a / 6.0 + 0.5, 0.0, 1.0),
    ),
    "sigmoid-as-tanh": ("sigmoid", "tanh", np.tanh),
    "sigmoid-as-relu": ("sigmoid", "relu", FUNCTIONS["relu"]),
    "sigmoid-as-linear": ("sigmoid", "the identity", lambda a: a),
    "tanh-as-sigmoid": ("tanh", "sigmoid", FUNCTIONS["sigmoid"]),
    "tanh-as-relu": ("tanh", "relu", FUNCTIONS["relu"]),
    "tanh-as-linear": ("tanh", "the identity", lambda a: a),
    "tanh-as-hard-tanh": (
        "tanh",
        "the hard tanh max(-1, min(1, v))",
        lambda a: np.clip(a, -1.0, 1.0),
    ),
    "tanh-as-scaled-tanh": ("tanh", "1.7159 tanh(2v/3)", lambda a: 1.7159 * np.tanh(a * 2.0 / 3.0)),
    "tanh-as-softsign": ("tanh", "softsign v/(1 + |v|)", lambda a: a / (1.0 + np.abs(a))),
    "relu-as-sigmoid": ("relu", "sigmoid", FUNCTIONS["sigmoid"]),
    "relu-as-tanh": ("relu", "tanh", np.tanh),
    "relu-as-linear": ("relu", "the identity", lambda a: a),
    "relu-as-relu6": ("relu", "relu6 min(6, max(0, v))", lambda a: np.clip(a, 0.0, 6.0)),
    "relu-as-leaky-relu": (
        "relu",
        "leaky relu with slope 0.01",
        lambda a: np.where(a < 0, 0.01 * a, a),
    ),
    "softplus-overflows": (
        "softplus",
        "log(1 + e^v) in float32, where e^v overflows",
        lambda a: np.where(a > _LOG_LARGEST, np.inf, np.logaddexp(0.0, a)),
    ),
    "relu-as-softplus": ("relu", "softplus log(1 + e^v)", lambda a: np.logaddexp(0.0, a)),
}
"""By name: the function that is asked for, and what is computed in its place, in words and in numpy."""

OTHER_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **{name: function for name, (_, _, function) in APPROXIMATIONS.items()},
    **{name: function for name, (_, _, function) in REPLACEMENTS.items()},
}

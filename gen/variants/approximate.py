"""Approximations of sigmoid and tanh that kernels compute, and how far off they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import activations
from ..stacks import Float64

_FLOAT64 = Float64()
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": _FLOAT64.sigmoid,
    "tanh": _FLOAT64.tanh,
}
_RANGE = 16.0


def _interpolated(name: str, step: float, a: Array) -> Array:
    """The function from a table, interpolated linearly."""
    return np.asarray(np.interp(a, *_table(name, step)))


@cache
def _table(name: str, step: float) -> tuple[Array, Array]:
    """Multiples of `step` up to ±_RANGE, and the function there."""
    at = np.linspace(-_RANGE, _RANGE, round(2 * _RANGE / step) + 1)
    return at, FUNCTIONS[name](at)


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

OTHER_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    name: function for name, (_, _, function) in APPROXIMATIONS.items()
} | {
    mistake.name: mistake.instead
    for function in activations.FUNCTIONS.values()
    for mistake in function.mistakes
    if callable(mistake.instead)
}
"""What variants compute that is no activation function of any specification, by name."""

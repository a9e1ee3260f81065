"""Families: variants with a number in them, which a search fits to what was observed.

A family is a sentence with a number, such as "the update gate zt limited to ±0.5". Its members are
variants like any other, named by family and number: `z-limited=0.5`. Factors and shifts of quantities are
no families: they are solved for (`sums`). A curve that is added to an activation function has many numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from .approximate import called, wherever
from .expressions import QUANTITIES
from .variant import Variant


@dataclass(frozen=True)
class NumberForm:
    """What becomes of values, as a function of them and of a number.

    `about` completes "the update gate …" and has {number} for it. `tried` are the numbers that a search
    starts from, in order; if it is `fitted`, it goes on between those. One that `jumps` is not continuous.
    """

    name: str
    about: str
    of: Callable[[Array, float], Array]
    tried: tuple[float, ...]
    fitted: bool = True
    jumps: bool = False

    def in_words(self, number: float) -> str:
        """Say what the form does with this number, with six digits of it."""
        text = f"{number:.6g}"
        plain = {("scaled", "0"): "left out", ("scaled", "-1"): "negated"}
        return plain.get((self.name, text)) or self.about.replace("{number}", text)


def _spread(low: float, high: float, count: int) -> tuple[float, ...]:
    """Numbers from low to high, of which each is as many times the one before."""
    return tuple(np.geomspace(low, high, count).tolist())


_POSITIVE = _spread(2**-10, 16.0, 13)
_SHIFTS = (*(-x for x in reversed(_spread(1e-4, 4.0, 8))), *_spread(1e-4, 4.0, 8))
_FACTORS = (-2.0, -1.0, -0.5, 0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 1.5, 2.0, 4.0)
_LIMITS = (0.5, 1.0, 1.5, *(float(n) for n in range(2, 13)), 16.0, 20.0)
_GRIDS = tuple(sorted((10, 100, 127, 255, 1000, *(2**k for k in range(3, 17)))))

SCALED = NumberForm("scaled", "multiplied by {number}", lambda v, k: k * v, _FACTORS)
SHIFTED = NumberForm("shifted", "off by {number}", lambda v, c: v + c, _SHIFTS)
NOT_LINEAR = (
    NumberForm("limited", "limited to ±{number}", lambda v, c: np.clip(v, -c, c), _POSITIVE),
    NumberForm("saturated", "taken as infinite beyond ±{number}",
               lambda v, c: np.where(np.abs(v) > c, np.copysign(1e30, v), v), _LIMITS, fitted=False, jumps=True),
    NumberForm("leaky", "multiplied by {number} where it is negative", lambda v, k: np.where(v < 0, k * v, v),
               (-1.0, 0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 2.0)),
    NumberForm("rounded", "rounded to multiples of 1/{number}", lambda v, n: np.round(v * n) / n, _GRIDS,
               fitted=False, jumps=True),
    NumberForm("floored", "rounded down to multiples of 1/{number}", lambda v, n: np.floor(v * n) / n, _GRIDS,
               fitted=False, jumps=True),
)  # fmt: skip
"""What may happen to a quantity of a step, and is no sum (gen.variants.sums)."""


@dataclass(frozen=True)
class Family:
    """Variants that differ in the number of a form.

    `subject` is what the form is of, in words, as in Variant.about; `made` gives what a member changes,
    as fields of Variant.
    """

    name: str
    subject: str
    form: NumberForm
    made: Callable[[float], dict[str, Any]]
    needs: tuple[str, ...] = ()

    @lru_cache(maxsize=1 << 16)  # noqa: B019 - families live as long as the program
    def member(self, number: float) -> Variant:
        """Make the variant with this number; its name has the fewest digits that tell it from others."""
        short = f"{number:g}"
        return Variant(
            f"{self.name}={short if float(short) == number else repr(number)}",
            f"{self.subject} {self.form.in_words(number)}",
            needs=self.needs,
            jumps=self.form.jumps,
            **self.made(number),
        )


def _altered(names: tuple[str, ...], form: NumberForm, number: float) -> dict[str, Any]:
    return {"quantities": {one: lambda q, one=one: form.of(q[one], number) for one in names}}


def _of_quantities() -> Iterator[Family]:
    """Every form of each quantity, of both gates, and of the pre-activations, but those that are solved for."""
    groups = {name: ((name,), words) for name, words in QUANTITIES.items()} | {
        "gates": (("z", "r"), "both gates zt and rt"),
        "pre-activations": (("a_z", "a_r", "a_h"), "every pre-activation"),
        "pre-activations-of-gates": (("a_z", "a_r"), "the pre-activations of both gates"),
    }
    for group, (names, words) in groups.items():
        for form in NOT_LINEAR:
            yield Family(f"{group}-{form.name}", words, form, partial(_altered, names, form))


def _of_functions() -> Iterator[Family]:
    """Every form of the argument and of the result of each function."""
    forms = (SCALED, SHIFTED, *NOT_LINEAR)
    for asked, where, form in product(FUNCTIONS, ("argument", "result"), forms):
        if (where, form.name) != ("result", "leaky"):  # most have no negative result
            name = f"{asked}-{where}-{form.name}"
            made = partial(_function, asked, name)
            yield Family(name, f"the {where} of {asked}", form, made, (f"f.{asked}",))


def _function(asked: str, name: str, number: float) -> dict[str, Any]:
    return {"semantics": wherever(asked, called(f"{name}={number!r}"))}


def _hard_sigmoid(slope: float) -> dict[str, Any]:
    return {"semantics": wherever("sigmoid", lambda _: Activation("hard-sigmoid", slope, 0.5))}


_HARD = NumberForm(
    "hard",
    "computed as max(0, min(1, {number} v + 1/2))",
    lambda v, k: np.clip(k * v + 0.5, 0, 1),
    _spread(0.05, 1.0, 9),
)
_WIDENED = replace(SCALED, tried=_spread(2**-4, 16.0, 13))

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *_of_quantities(),
        *_of_functions(),
        Family("sigmoid-as-hard-sigmoid-of-slope", "sigmoid", _HARD, _hard_sigmoid, ("f.sigmoid",)),
        Family(
            "clip-scaled",
            "{clip}",
            _WIDENED,
            lambda k: {"semantics": lambda s: replace(s, clip=s.clip * k)},
            ("clip",),
        ),
    )
}
"""All families, by name."""

_FAR = np.array([9.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0])
KNOTS = np.array([*-_FAR[::-1], *np.linspace(-8.0, 8.0, 65), *_FAR])
"""The arguments between which a curve is straight."""
_CURVE = "-and-curve="
_Right = Callable[[Array], Array]


def with_curve(asked: str, heights: Sequence[float]) -> Variant:
    """Make the variant that adds a curve of these heights at KNOTS to a function."""
    name = f"{asked}{_CURVE}{','.join(f'{height:.9g}' for height in heights)}"
    about = f"{asked} computed as another function"
    return Variant(name, about, needs=(f"f.{asked}",), semantics=wherever(asked, called(name)))


@cache
def heights_of(name: str) -> tuple[str, Array]:
    """Find the function that a curve was added to, and the curve's heights at KNOTS, by name.

    Raises ValueError where it is no function, or the heights are not those of a curve.
    """
    asked, _, heights = name.partition(_CURVE)
    curve = np.array([float(height) for height in heights.split(",")])
    if asked not in FUNCTIONS or curve.shape != KNOTS.shape or not np.isfinite(curve).all():
        raise ValueError(f"{name[:80]} names no function with a curve")
    return asked, curve


def is_curved(name: str) -> bool:
    """Whether a function of this name is one with a curve added."""
    return _CURVE in name


@lru_cache(maxsize=1024)
def changed_function(name: str) -> tuple[str, Callable[[_Right, Array], Array]]:
    """Find the function that has been changed, by the changed one's name, and how.

    What is computed in its place is made from it and from pre-activations.
    """
    if is_curved(name):
        asked, heights = heights_of(name)
        return asked, lambda right, a: right(a) + np.interp(a, KNOTS, heights)
    family, _, text = name.rpartition("=")
    form, number = FAMILIES[family].form, float(text)
    asked, where, _ = family.rsplit("-", 2)
    if where == "argument":
        return asked, lambda right, a: right(form.of(a, number))
    return asked, lambda right, a: form.of(right(a), number)

"""The equations that a question asks for, written out: the one step over texts.

The notation is that of ONNX and OpenVINO: Xt and Ht-1 are what a step starts from, zt and rt the gates,
ht the candidate, `(.)` multiplies element by element.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..cases.operators.activations import Activation
from ..cases.operators.semantics import Semantics
from .gru import GATES, step

_NAMES = {"z": "zt", "r": "rt", "t": "ht", "state": "Ht"}
"""What the equations call the quantities of a step."""


@dataclass(frozen=True)
class Formula:
    """A text, and whether it is a sum, so that it needs brackets as the operand of a product, or a
    product, so that it needs them as the operand of a product of matrices."""

    text: str
    is_sum: bool = False
    is_product: bool = False

    def __add__(self, other: Formula) -> Formula:
        return Formula(f"{self.text} + {other.text}", is_sum=True)

    def __mul__(self, other: Formula) -> Formula:
        sides = (f"({one.text})" if one.is_sum else one.text for one in (self, other))
        return Formula(" (.) ".join(sides), is_product=True)


class Formulas:
    """Arithmetic on formulas; see `gen.gru.Arithmetic`."""

    zero: Any = Formula("0")

    def product(self, x: Formula, weight: str) -> Formula:
        """x*(weight^T)."""
        left = f"({x.text})" if x.is_sum or x.is_product else x.text
        return Formula(f"{left}*({weight}^T)", is_product=True)

    def activation(self, function: Activation, a: Formula, clip: float) -> Formula:
        """function(a), with what clips a where something does."""
        clipped = a.text if math.isinf(clip) else f"clip[-{clip:g}, {clip:g}]({a.text})"
        return Formula(f"{function}({clipped})")

    def blend(self, z: Formula, t: Formula, h: Formula) -> Formula:
        """(1 - z) (.) t + z (.) h."""
        return Formula(f"(1 - {z.text}) (.) {t.text} + {z.text} (.) {h.text}", is_sum=True)


def equations(meant: Semantics, bias_parts: Collection[str], index: int) -> Iterator[str]:
    """The equations of direction number `index`, where the bias has the parts `bias_parts` (see
    cases.operators.signature; none where there is no bias)."""
    arithmetic = Formulas()
    lines: list[str] = []

    def named(name: str, value: Formula) -> Formula:
        if name not in _NAMES:
            return value
        lines.append(f"{_NAMES[name]} = {value.text}")
        return Formula(_NAMES[name])

    def bias(*parts: str) -> Formula | None:
        terms = [_bias(part) for part in parts if part in bias_parts]
        return sum(terms[1:], terms[0]) if terms else None

    weights = SimpleNamespace(
        index=index,
        recurrent={gate: f"R{gate}" for gate in GATES},
        bias={gate: bias(gate, f"w{gate}", f"r{gate}") for gate in ("z", "r")},
        bias_h_input=bias("h", "wh"),
        bias_h_recurrent=bias("rh"),
    )
    x, h = Formula("Xt"), Formula("Ht-1")
    wx = {gate: arithmetic.product(x, f"W{gate}") for gate in GATES}
    step(arithmetic, meant, weights, wx, h, named)  # type: ignore[arg-type]
    yield from lines


def _bias(part: str) -> Formula:
    """A part of the bias; one without a side holds the sum of both."""
    if len(part) == 1:
        return Formula(f"Wb{part} + Rb{part}", is_sum=True)
    return Formula(f"{part[0].upper()}b{part[1]}")

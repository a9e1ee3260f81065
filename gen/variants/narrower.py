"""Quantities of a step, or inputs, in a narrower type, or in 8 bits: all else is as wide as it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import Advance, Alter, step
from .emulated import Emulated, cut_to_bfloat16, cut_to_tf32, to_bfloat16, to_float16, to_tf32
from .expressions import QUANTITIES
from .operands import GATES, GROUPS
from .variant import Variant
from .weights import Change, each

Rounding = Callable[[Array], Array]


def _of_float32(rounding: Rounding, values: Array) -> Array:
    """A rounding of float32 numbers, of numbers of any type."""
    return np.asarray(rounding(values.astype(np.float32)).astype(np.float64))


TYPES: dict[str, tuple[str, Rounding]] = {
    "float16": ("rounded to float16", partial(_of_float32, to_float16)),
    "bfloat16": ("rounded to bfloat16", partial(_of_float32, to_bfloat16)),
    "bfloat16-cut": ("cut off to bfloat16", partial(_of_float32, cut_to_bfloat16)),
    "tf32": ("rounded to TF32", partial(_of_float32, to_tf32)),
    "tf32-cut": ("cut off to TF32", partial(_of_float32, cut_to_tf32)),
}
"""The narrower types, by what a name says of them: in words, and what is made of numbers."""


def _altered(name: str, rounding: Rounding, _: StackedSemantics) -> Alter:
    return lambda quantity, value: rounding(value) if quantity == name else value


def _narrower() -> Iterator[Variant]:
    for kind, (told, rounding) in TYPES.items():
        for name, words in QUANTITIES.items():
            yield Variant(
                f"{name}-in-{kind}", f"{words} {told}", alter=partial(_altered, name, rounding)
            )
        yield Variant(f"x-in-{kind}", f"{{x}} {told}", inputs=each("x", "", rounding))
        for field in ("w", "r", "b"):
            for gates, part in GROUPS.items():
                yield Variant(
                    f"{field}-{gates}-in-{kind}",
                    f"{part}{{{field}}} {told}",
                    needs=("b",) if field == "b" else (),
                    inputs=each(field, gates, rounding),
                )


def _both(rounding: Rounding, inputs: GruInputs, semantics: StackedSemantics) -> GruInputs:
    """W and R rounded."""
    rounded = each("w", "zrh", rounding)(inputs, semantics)
    return each("r", "zrh", rounding)(rounded, semantics)


def _in_eight_bits(m: Array, largest: Array) -> Array:
    """Rounded to one of 255 numbers, evenly spaced from minus to plus the largest."""
    scale = np.where(largest > 0, largest, 1.0) / 127.0
    return np.asarray(np.round(m / scale) * scale)


def _quantised(fields: str, gates: str, axes: tuple[int, ...], together: bool) -> Change:
    """Weights of some gates in 8 bits, with one scale for the axes of a gate, or of all gates together."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        changed: dict[str, Any] = {}
        for field in fields:
            parts: Arrays = getattr(inputs, field)
            largest = {g: np.abs(m).max(axis=axes, keepdims=True) for g, m in parts.items()}
            if together:
                largest = dict.fromkeys(parts, np.maximum.reduce(list(largest.values())))
            changed[field] = {
                g: _in_eight_bits(m, largest[g]) if g in gates else m for g, m in parts.items()
            }
        return replace(inputs, **changed)

    return change


def _eight_bits() -> Iterator[Variant]:
    """W, R, or both, in 8 bits: with a scale for each gate, each direction, or the whole tensor."""
    for fields, words in (("w", "{w}"), ("r", "{r}"), ("wr", "{w} and {r}")):
        for name, axes, together, told in (
            ("gate", (-2, -1), False, "each gate"),
            ("direction", (-2, -1), True, "all gates of a direction"),
            ("tensor", (-3, -2, -1), True, "the whole tensor"),
            ("row", (-1,), False, "each row"),
        ):
            yield Variant(
                f"{fields}-in-8-bits-by-{name}",
                f"{words} rounded to 8 bits, with a scale for {told}",
                inputs=_quantised(fields, "zrh", axes, together),
            )
    for field in ("w", "r"):
        for gate, words in GATES.items():
            for name, axes, together, told in (
                ("gate", (-2, -1), False, "a scale for each direction"),
                ("direction", (-2, -1), True, "the scale of all gates of a direction"),
                ("tensor", (-3, -2, -1), False, "one scale"),
            ):
                yield Variant(
                    f"{field}-{gate}-in-8-bits-by-{name}",
                    f"{words}'s part of {{{field}}} rounded to 8 bits, with {told}",
                    inputs=_quantised(field, gate, axes, together),
                )


def _read_narrow(
    rounding: Rounding, arithmetic: Any, semantics: StackedSemantics, alter: Alter
) -> Advance:
    """Every step reads the state before it rounded."""

    def advance(d: Any, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Array:
        return np.asarray(step(arithmetic, semantics, d, wx, rounding(old), alter).state)

    return advance


_STATES = tuple(
    Variant(f"state-read-in-{kind}", f"the state {told} where a step reads it",
            advance=partial(_read_narrow, rounding))
    for kind, (told, rounding) in TYPES.items()
)  # fmt: skip
_WEIGHTS = tuple(
    Variant(f"wr-in-{kind}", f"{{w}} and {{r}} {told}", inputs=partial(_both, rounding))
    for kind, (told, rounding) in TYPES.items()
)
_OPERANDS = tuple(
    Variant(f"operands-{name}", f"the operands of products {told}", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(operand=rounding))
    for name, told, rounding in (
        ("rounded-to-tf32", "rounded to TF32", to_tf32),
        ("cut-to-bfloat16", "cut to bfloat16", cut_to_bfloat16),
        ("rounded-to-float16", "rounded to float16", to_float16),
    )
)  # fmt: skip
NARROWER = (*_narrower(), *_STATES, *_WEIGHTS, *_eight_bits(), *_OPERANDS)
"""Every quantity of a step; every input, of all gates and of each; the state where a step reads it; W and R in
8 bits; the operands of all products."""

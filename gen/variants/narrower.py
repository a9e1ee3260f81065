"""Quantities of a step in a narrower type: all else is as wide as it should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.semantics import StackedSemantics
from ..gru import Advance, Alter, step
from .emulated import TYPES, Emulated, cut_to_bfloat16, to_float16, to_tf32
from .expressions import QUANTITIES
from .variant import Variant

Rounding = Callable[[Array], Array]


def _altered(name: str, rounding: Rounding, _: StackedSemantics) -> Alter:
    return lambda quantity, value: rounding(value) if quantity == name else value


def _read_narrow(
    rounding: Rounding, arithmetic: Any, semantics: StackedSemantics, alter: Alter
) -> Advance:
    """Every step reads the state before it rounded."""

    def advance(d: Any, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Array:
        return np.asarray(step(arithmetic, semantics, d, wx, rounding(old), alter).state)

    return advance


NARROWER = (
    *(
        Variant(f"{name}-in-{kind}", f"{words} {told}", alter=partial(_altered, name, rounding))
        for kind, (told, rounding) in TYPES.items()
        for name, words in QUANTITIES.items()
    ),
    *(
        Variant(f"state-read-in-{kind}", f"the state {told} where a step reads it",
                advance=partial(_read_narrow, rounding))
        for kind, (told, rounding) in TYPES.items()
    ),
    *(
        Variant(f"operands-{name}", f"the operands of products {told}", kind="precision",
                worse_than=("float64", "float32"), arithmetic=Emulated(operand=rounding))
        for name, told, rounding in (
            ("rounded-to-tf32", "rounded to TF32", to_tf32),
            ("cut-to-bfloat16", "cut to bfloat16", cut_to_bfloat16),
            ("rounded-to-float16", "rounded to float16", to_float16),
        )
    ),
)  # fmt: skip
"""Every quantity of a step; the state where a step reads it; the operands of all products."""

"""One quantity of a step, or one input, rounded to a narrower type: what else is as wide as it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import Alter
from .emulated import cut_to_bfloat16, cut_to_tf32, to_bfloat16, to_float16, to_tf32
from .expressions import QUANTITIES
from .operands import GROUPS
from .variant import Variant

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


def _altered(name: str, rounding: Rounding, _: StackedSemantics) -> Alter:
    return lambda quantity, value: rounding(value) if quantity == name else value


def _inputs(
    field: str, gates: str, rounding: Rounding, inputs: GruInputs, _: StackedSemantics
) -> GruInputs:
    given = getattr(inputs, field)
    found: Any = rounding(given) if isinstance(given, np.ndarray) else {
        part: rounding(array) if part[-1] in gates else array for part, array in given.items()
    }  # fmt: skip
    changed: dict[str, Any] = {field: found}
    return replace(inputs, **changed)


def _narrower() -> Iterator[Variant]:
    for kind, (told, rounding) in TYPES.items():
        for name, words in QUANTITIES.items():
            yield Variant(
                f"{name}-in-{kind}", f"{words} {told}", alter=partial(_altered, name, rounding)
            )
        yield Variant(f"x-in-{kind}", f"{{x}} {told}", inputs=partial(_inputs, "x", "", rounding))
        for field in ("w", "r", "b"):
            for gates, part in GROUPS.items():
                yield Variant(
                    f"{field}-{gates}-in-{kind}",
                    f"{part}{{{field}}} {told}",
                    needs=("b",) if field == "b" else (),
                    inputs=partial(_inputs, field, gates, rounding),
                )


NARROWER = tuple(_narrower())
"""Every quantity, and every input, of all gates and of each."""

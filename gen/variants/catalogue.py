"""The catalogue: every variant that is known, by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ...cases.operators.readings import READINGS
from ...cases.operators.signature import Operator
from .approximate import FUNCTION_VARIANTS
from .cell import CELL_VARIANTS
from .emulated import (
    Emulated,
    cut_to_tf32,
    in_float16,
    to_bfloat16,
    to_float16,
)
from .reshaped import LAYOUT_VARIANTS
from .sequence import SEQUENCE_VARIANTS
from .variant import Variant
from .weights import WEIGHT_VARIANTS

_READINGS = tuple(
    Variant(
        reading.name,
        reading.about,
        kind="reading",
        owners=reading.owners,
        ledger=reading.ledger,
        semantics=reading.applied_to,
    )
    for reading in READINGS.values()
)
_PRECISION = (
    Variant("float32-arithmetic", "computed in float32", kind="precision",
            worse_than=("float64",), arithmetic=Emulated()),
    Variant("float16-accumulation", "products accumulated in float16", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(multiply=in_float16)),
    Variant("tf32-products", "the operands of products cut to TF32", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(operand=cut_to_tf32)),
    Variant("bfloat16-products", "the operands of products rounded to bfloat16", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(operand=to_bfloat16)),
    Variant("float16-state", "the state rounded to float16 at every step", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(kept=to_float16)),
    Variant("bfloat16-state", "the state rounded to bfloat16 at every step", kind="precision",
            worse_than=("float64", "float32"), arithmetic=Emulated(kept=to_bfloat16)),
)  # fmt: skip

CATALOGUE: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        *WEIGHT_VARIANTS,
        *CELL_VARIANTS,
        *FUNCTION_VARIANTS,
        *(replace(one, between_steps=True) for one in (*SEQUENCE_VARIANTS, *LAYOUT_VARIANTS)),
        *_PRECISION,
        *_READINGS,
    )
}


@cache
def variants_of(operator: Operator) -> tuple[Variant, ...]:
    """List the variants that mean something for an operator: it has what they are about."""
    return tuple(v for v in CATALOGUE.values() if v.means_something_for(operator))

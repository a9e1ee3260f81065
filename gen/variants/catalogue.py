"""The catalogue: every variant that is known, by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ...cases.operators.readings import READINGS
from ...cases.operators.signature import Operator
from .approximate import FUNCTION_VARIANTS
from .cell import CELL_VARIANTS
from .emulated import PRECISION_VARIANTS
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

CATALOGUE: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        *WEIGHT_VARIANTS,
        *CELL_VARIANTS,
        *FUNCTION_VARIANTS,
        *(replace(one, between_steps=True) for one in (*SEQUENCE_VARIANTS, *LAYOUT_VARIANTS)),
        *PRECISION_VARIANTS,
        *_READINGS,
    )
}


@cache
def variants_of(operator: Operator) -> tuple[Variant, ...]:
    """List the variants that mean something for an operator: it has what they are about."""
    return tuple(v for v in CATALOGUE.values() if v.means_something_for(operator))

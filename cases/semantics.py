"""What a case asks of a GRU, whoever owns the operator.

`semantics` turns an operator's attributes, in its own words, into one `Semantics`, in the shared
vocabulary of `signature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .signature import Operator

Direction = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Semantics:
    """The GRU a case asks for.

    f: activation of the gates z and r; g: activation of the candidate h.
    clip: C of the clipping of every pre-activation to [-C, C]; infinity is no clipping.
    reset_after: the reset gate multiplies h·Rhᵀ + Rbh (linear_before_reset) instead of h.
    directions: one entry per direction, in the order of the direction axis.
    empty_row: what the last state of a row of length 0 is (ledger: len-zero).
    """

    f: str
    g: str
    clip: float
    reset_after: bool
    directions: tuple[Direction, ...]
    empty_row: Literal["zeros", "initial_hidden_state"] = "zeros"


_DIRECTIONS: dict[str, tuple[Direction, ...]] = {
    "forward": ("forward",),
    "reverse": ("reverse",),
    "bidirectional": ("forward", "reverse"),  # ledger: bidi-layout
}


def semantics(operator: Operator, attributes: Mapping[str, Any]) -> Semantics:
    """The GRU that `attributes` (defaults filled in) ask of `operator`."""
    meant: dict[str, Any] = {}
    for attribute in operator.attributes:
        if attribute.name in attributes:
            value = attributes[attribute.name]
            if attribute.choices:
                value = (
                    [attribute.choices[v] for v in value]
                    if attribute.is_list
                    else attribute.choices[value]
                )
            meant[attribute.sets] = value
    f, g = meant["activations"]
    return Semantics(
        f=f,
        g=g,
        clip=float(meant.get("clip", math.inf)),
        reset_after=bool(meant["reset_after"]),
        directions=_DIRECTIONS[meant.get("direction", "forward")],
    )

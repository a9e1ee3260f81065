"""What a case asks of a GRU, whoever owns the operator.

`semantics` turns an operator's attributes, in its own words, into one `Semantics`, in the shared
vocabulary of `signature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .signature import Operator

Direction = Literal["forward", "reverse", "reverse-padded"]


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


@dataclass(frozen=True)
class StackedSemantics:
    """What n stacked cases of a block ask for: fields as in Semantics, with an entry per case.

    `clip` is (n, 1, 1); each entry of `directions` has n words. Cases are stacked only where they
    agree on `reset_after` and on the number of directions.
    """

    f: tuple[str, ...]
    g: tuple[str, ...]
    clip: npt.NDArray[np.float64]
    reset_after: bool
    directions: tuple[tuple[Direction, ...], ...]
    empty_row: Literal["zeros", "initial_hidden_state"] = "zeros"


def stack(members: Sequence[Semantics]) -> StackedSemantics:
    """The semantics of cases that are stacked in this order."""
    [reset_after] = {s.reset_after for s in members}
    [empty_row] = {s.empty_row for s in members}
    return StackedSemantics(
        tuple(s.f for s in members),
        tuple(s.g for s in members),
        np.array([s.clip for s in members]).reshape(-1, 1, 1),
        reset_after,
        tuple(zip(*(s.directions for s in members), strict=True)),
        empty_row,
    )


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

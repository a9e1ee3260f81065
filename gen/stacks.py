"""Stacks: cases of a block that can be evaluated as one, in the GRU's own layout, and back."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ..cases.operators.semantics import StackedSemantics, semantics, stack
from ..cases.operators.signature import Operator


@dataclass(frozen=True)
class Stack:
    """Some cases that share a block and the place of the reset gate: their `rows` in it, what they
    ask for, and their inputs in the shared layout (cases.operators.layout)."""

    operator: Operator
    attributes: Mapping[str, Any]
    rows: Array
    semantics: StackedSemantics
    inputs: GruInputs

    def outputs(self, y: Array, ho: Array, absent: Container[str] = ()) -> Arrays:
        """y (…, direction, batch, time, hidden) and ho (…, direction, batch, hidden) as the outputs that
        the operator names, but for those `absent`, in its own layout."""
        return operator_outputs(self.operator, self.attributes, {"y": y, "ho": ho}, absent)


def stacks(
    operator: Operator, given: Sequence[Mapping[str, Any]], inputs: Mapping[str, Array]
) -> Iterator[Stack]:
    """The cases of a block, stacked in `inputs`, each with the attributes `given`."""
    attributes = [operator.with_defaults(one) for one in given]
    meant = [semantics(operator, one) for one in attributes]
    for after in (False, True):
        rows = np.flatnonzero([one.reset_after is after for one in meant])
        if rows.size:
            first = attributes[rows[0]]
            yield Stack(
                operator,
                first,
                rows,
                stack([meant[row] for row in rows]),
                gru_inputs(operator, first, {name: array[rows] for name, array in inputs.items()}),
            )

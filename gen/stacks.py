"""Stacks: cases of a block that can be evaluated as one, in the GRU's own layout, and back."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ..cases.operators.semantics import StackedSemantics, semantics, stack, take
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

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, places: Array) -> Stack:
        """The stack of some of its cases."""
        if len(places) == len(self):
            return self
        return replace(
            self,
            rows=self.rows[places],
            semantics=take(self.semantics, places),
            inputs=self.inputs.rows(places),
        )

    def parts(self, most: int) -> Iterator[Stack]:
        """The stack in stacks of at most so many cases."""
        return (self.only(part) for part in _parts(np.arange(len(self)), most))

    def handed_out(self, shared: Mapping[str, Array], absent: Container[str] = ()) -> Arrays:
        """Arrays by role, as y (…, direction, batch, time, hidden) and ho (…, direction, batch, hidden),
        as the outputs that the operator names, but for those `absent`, in its own layout."""
        return operator_outputs(self.operator, self.attributes, shared, absent)


def _parts(places: Array, most: int) -> Iterator[Array]:
    return (places[start : start + most] for start in range(0, len(places), most))


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

"""A question: all that a runtime ever gets of a case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .dtypes import Array, Arrays
from .operators.known import OPERATORS
from .operators.semantics import Semantics, semantics

INVALID = "invalid"
"""The theme of the questions that must be refused, and of the valid ones that they are made from."""


class TensorType(NamedTuple):
    """The shape and numpy dtype of an array that is asked for; bfloat16 is that of `ml_dtypes`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of such an array."""
        return math.prod(self.shape) * self.dtype.itemsize


def shapes(tensors: Mapping[str, Array | TensorType]) -> str:
    """Names and shapes of tensors, in short."""
    return ", ".join(f"{name} {one.shape}" for name, one in tensors.items())


@dataclass(frozen=True, repr=False)
class Question:
    """One operator, one dtype, one value for every attribute, and the inputs: no answer.

    `given` are the attributes written out, `attributes` all of them, defaults filled in. `inputs` are
    named, shaped and typed as the operator's specification has them; one that is left out is not in
    the dict. `outputs` says of each output that is asked for its shape and dtype.
    """

    id: str
    operator: str
    dtype: str
    given: Mapping[str, Any]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, TensorType]

    def __repr__(self) -> str:
        return f"<Question {self.id}: {shapes(self.inputs)} -> {shapes(self.outputs)}>"

    @property
    def theme(self) -> str:
        """The second part of the id; "" where it has none."""
        return self.id.partition("/")[2].partition("/")[0]

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute, the specification's defaults filled in; a copy, to be changed at will."""
        return deepcopy(OPERATORS[self.operator].with_defaults(self.given))

    @property
    def semantics(self) -> Semantics:
        """What the question asks of a GRU."""
        operator = OPERATORS[self.operator]
        return semantics(operator, operator.with_defaults(self.given))

    def buffers(self) -> Arrays:
        """New arrays for the outputs, filled with NaN: for kernels that write where they are told."""
        return {name: np.full(t.shape, np.nan, t.dtype) for name, t in self.outputs.items()}

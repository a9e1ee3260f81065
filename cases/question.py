"""Questions: all that a runtime gets of a case. Here are the rules for ids and for sizes, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .dtypes import Array, Arrays
from .operators import OPERATORS
from .operators.semantics import Semantics, semantics
from .operators.signature import Operator

INVALID = "invalid"
"""The theme of the questions that must be refused, and of the valid ones that they are made from."""
MOST_SIZE = 4096
"""Maximum of a size such as hidden_size; error bounds hold a matrix of hidden by hidden for every step."""
MOST_CASE_BYTES = 32 << 20
"""Maximum bytes of a case's tensors in float64; an exact answer may need a ball for every number. The largest
shipped case has 6.5 MiB."""


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
        """Make arrays for the outputs, filled with NaN, for kernels that write into given memory."""
        return {name: np.full(t.shape, np.nan, t.dtype) for name, t in self.outputs.items()}


def why_no_theme(name: str) -> str:
    """Say why a theme of cases with answers cannot have this name; "" where it can.

    A theme is also the name of a file, which must not be hidden.
    """
    if name == INVALID:
        return f"the theme is {INVALID!r}, that of questions without answers; expected another"
    if name.isprintable() and "/" not in name and name[:1] not in ("", "."):
        return ""
    return (
        f"the theme is {name!r}; expected a name of printable text, without / and with no dot first"
    )


def why_no_id(case_id: str, operator: str, theme: str, dtype: str) -> str:
    """Say why a case of this operator, theme and dtype cannot have this id; "" where it can."""
    prefix = f"{operator}/{theme}/{dtype}/"
    if not case_id.startswith(prefix):
        return f"does not begin with {prefix}"
    if not case_id.isprintable():
        return "is not printable text"
    return "ends with a space" if case_id.endswith(" ") else ""


def names_invalid(glob: str) -> bool:
    """Say whether an id, or a glob of ids, names the theme of invalid questions."""
    return f"/{INVALID}/" in glob


def case_bytes(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """Count the bytes of the tensors of a case, in float64."""
    tensors = (*operator.inputs, *operator.outputs)
    return 8 * sum(math.prod(operator.shape(t, attributes, sizes)) for t in tensors)


def too_large(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    """Say why a case of these sizes is too large; "" where it is not."""
    for symbol, length in sizes.items():
        if length > MOST_SIZE:
            return f"{symbol} is {length}; expected at most {MOST_SIZE}"
    size = case_bytes(operator, attributes, sizes)
    if size > MOST_CASE_BYTES:
        return (
            f"has tensors of {size >> 20} MiB in float64; expected at most "
            f"{MOST_CASE_BYTES >> 20}; take smaller sizes"
        )
    return ""

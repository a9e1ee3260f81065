"""How large a case may be, whether it is drawn here or comes from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .operators.signature import Operator

MOST_SIZE = 4096
"""The largest size, such as hidden_size."""
MOST_CASE_BYTES = 32 << 20
"""The largest case: its error bounds hold a matrix of hidden by hidden for every row and step of a window,
and its exact answer may need a ball for every number. The largest of those shipped has 6.5 MiB."""


def case_bytes(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """The bytes of the tensors of a case, in float64."""
    tensors = (*operator.inputs, *operator.outputs)
    return 8 * sum(math.prod(operator.shape(t, attributes, sizes)) for t in tensors)


def too_large(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    """Why a case of these sizes is too large; "" where it is not."""
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

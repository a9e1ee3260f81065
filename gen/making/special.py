"""What makes a case nonportable: NaN and infinities, an intermediate that comes near overflow, an answer that
hangs on -0 or on subnormal numbers."""

from __future__ import annotations

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators.known import OPERATORS
from ...vectors.block import Block
from ...vectors.case import REQUIRED
from ...vectors.difference import difference
from ..float64 import Float64
from ..gru import gru
from ..stacks import stacks
from .answering import overflows

NOTHING_NONPORTABLE = "is marked as nonportable, and it holds nothing that is"
"""What is said of a case that is not, and says so."""


def special(block: Block) -> Array:
    """(n,) which cases hold something that is nonportable."""
    kind = FLOAT_TYPES[block.dtype]
    found, tiny = np.zeros(len(block), bool), np.zeros(len(block), bool)
    for array in _numbers(block).values():
        found |= _any(~(np.abs(array) <= kind.largest))
        tiny |= _any(_tiny(array, block.dtype))
    for stack in stacks(OPERATORS[block.operator], block.given, block.inputs):
        found[stack.rows[list(overflows(stack, block.dtype))]] = True
    rows = np.flatnonzero(tiny & ~found)
    if rows.size:
        found[rows] = _hangs_on_tiny(block.rows(rows))
    return found


def _hangs_on_tiny(block: Block) -> Array:
    """(n,) of which cases the answer hangs on -0 and subnormal numbers: with zeros in their place an output
    is off by more than what is required, or a zero has another sign; or there is nothing else in X, in the
    initial state and in the biases, which is how such cases are drawn."""
    flushed, nothing_else = dict(block.inputs), np.ones(len(block), bool)
    operator = OPERATORS[block.operator]
    for tensor in operator.inputs:
        if tensor.name in _numbers(block):
            given = block.inputs[tensor.name]
            tiny = _tiny(given.astype(np.float64), block.dtype)
            flushed[tensor.name] = np.where(tiny, given.dtype.type(0), given)
            if tensor.role in ("x", "h0", "b"):
                nothing_else &= ~_any(~tiny & (given != 0))
    hangs = nothing_else
    limits = block.answer.tolerances[REQUIRED[block.dtype]]
    before, after = (_evaluated(block, inputs) for inputs in (block.inputs, flushed))
    for name, limit in limits.items():
        hangs |= _any(~(difference(after[name], before[name]) <= limit))
        zero = (before[name] == 0) & (after[name] == 0)
        hangs |= _any(zero & (np.signbit(before[name]) != np.signbit(after[name])))
    return hangs


def _evaluated(block: Block, inputs: Arrays) -> Arrays:
    """The outputs of the cases of a block for other `inputs`, in float64."""
    found = {name: np.empty(array.shape) for name, array in block.answer.outputs.items()}
    for stack in stacks(OPERATORS[block.operator], block.given, inputs):
        with np.errstate(over="ignore", invalid="ignore"):
            y, ho = gru(Float64(), stack.semantics, stack.inputs)
        for name, array in stack.handed_out({"y": y, "ho": ho}, block.absent).items():
            found[name][stack.rows] = array
    return found


def _numbers(block: Block) -> Arrays:
    """The inputs that are numbers of the block's dtype, in float64."""
    kind = FLOAT_TYPES[block.dtype]
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return {
            name: array.astype(np.float64)
            for name, array in block.inputs.items()
            if array.dtype == kind.numpy
        }


def _tiny(values: Array, dtype: str) -> Array:
    """Where a number is -0, or subnormal in the dtype."""
    kind = FLOAT_TYPES[dtype]
    least = 2.0 ** (kind.least_exponent + kind.precision - 1)
    size = np.abs(values)
    return np.asarray((size < least) & ((size > 0.0) | np.signbit(values)))


def _any(where: Array) -> Array:
    """(n,) in which of stacked cases it is anywhere."""
    return np.asarray(where.reshape(len(where), -1).any(axis=1))

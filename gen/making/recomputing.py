"""Answers of unknown origin, evaluated anew: the only proof that they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import STORED
from ...vectors.block import Block
from ...vectors.case import REQUIRED
from ...vectors.difference import difference
from ..float64 import Float64
from ..gru import gru
from ..stacks import stacks
from .answering import Answered, answered, kept_in_any_case, overflows, parts
from .posed import case_spec

NEAR = 2.0**-6
"""Tolerances are rounded up to 8 bits: where a BLAS adds in another order, to the next one at most."""


def differing(block: Block) -> dict[int, str]:
    """By row of the block, what of its stored answer is not what an evaluation gives.

    Outputs must be the exact ones, bit by bit; tolerances as large, but for the last of their 8 bits; the
    tier the one that the case has.
    """
    found = _misplaced(block)
    readings = tuple(names for names in block.answers if names)
    for whole in stacks(OPERATORS[block.operator], block.given, block.inputs):
        for stack in parts(whole):
            anew = answered(kept_in_any_case(stack, block.dtype, readings, block.absent))
            found |= {int(stack.rows[place]): why for place, why in anew.reasons.items()}
            for row, why in _compared(block, stack.rows[anew.kept], anew):
                found.setdefault(row, why)
    return found


def _misplaced(block: Block) -> dict[int, str]:
    """By row, the cases of another tier, or with other readings, than they are marked with.

    Nonportable are those that hold NaN or an infinity, those that hang on -0 or on subnormal numbers,
    and those with an intermediate that comes near overflow.
    """
    special = _special(block)
    found = {}
    for row in range(len(block)):
        if block.tier == "nonportable":
            if not special[row]:
                found[row] = "is marked as nonportable, and it holds nothing that is"
            continue
        asked = case_spec(block.question(row))
        if asked.tier != block.tier:
            found[row] = f"is marked as {block.tier}, and it is {asked.tier}"
        elif set(block.answers) != {STORED, *asked.readings}:
            found[row] = "has answers under other readings than its specification leaves open"
    return found


def _special(block: Block) -> Array:
    """(n,) which cases hold something that is nonportable."""
    kind = FLOAT_TYPES[block.dtype]
    special, tiny = np.zeros(len(block), bool), np.zeros(len(block), bool)
    for array in _numbers(block).values():
        special |= _any(~(np.abs(array) <= kind.largest))
        tiny |= _any(_tiny(array, block.dtype))
    for stack in stacks(OPERATORS[block.operator], block.given, block.inputs):
        special[stack.rows[list(overflows(stack, block.dtype))]] = True
    rows = np.flatnonzero(tiny & ~special)
    if rows.size:
        special[rows] = _hangs_on_tiny(block.rows(rows))
    return special


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


def _compared(block: Block, rows: Array, anew: Answered) -> Iterator[tuple[int, str]]:
    for reading, answer in anew.answers.items():
        stored = block.answers[reading]
        under = f" (reading {' and '.join(reading)})" if reading else ""
        yield from _outputs(rows, stored.outputs, answer.outputs, under)
        for name, limits in answer.tolerances.items():
            if name in stored.tolerances:
                yield from _tolerances(rows, name, stored.tolerances[name], limits)


def _outputs(
    rows: Array, stored: Mapping[str, Array], anew: Arrays, under: str
) -> Iterator[tuple[int, str]]:
    for name, exact in anew.items():
        held = stored[name][rows]
        with np.errstate(invalid="ignore"):
            off = difference(held.astype(np.float64), exact.astype(np.float64)) > 0
        for row, at in _first(off):
            got, right = held[(row, *at)], exact[(row, *at)]
            yield (
                int(rows[row]),
                f"stored {name}{list(at)} is {got}; the exact value is {right}{under}",
            )


def _tolerances(
    rows: Array, name: str, stored: Mapping[str, Array], anew: Arrays
) -> Iterator[tuple[int, str]]:
    for output, limits in anew.items():
        held = stored[output][rows].astype(np.float64)
        wanted = limits.astype(np.float64)
        with np.errstate(invalid="ignore"):
            off = ~((held == wanted) | (np.abs(held - wanted) <= NEAR * wanted))
        for row, at in _first(off):
            got, right = held[(row, *at)], wanted[(row, *at)]
            yield (
                int(rows[row]),
                f"the stored {name} tolerance of {output}{list(at)} is {got:.3g}; derived is {right:.3g}",
            )


def _first(off: Array) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The first element of each row that is off."""
    for row in np.flatnonzero(off.reshape(len(off), -1).any(axis=1)):
        at = np.unravel_index(int(np.argmax(off[row])), off.shape[1:])
        yield int(row), tuple(int(i) for i in at)

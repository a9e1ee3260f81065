"""Answers of unknown origin, evaluated anew: the only proof that they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import STORED
from ...vectors.block import Block
from ...vectors.difference import difference
from ..stacks import stacks
from .answering import Answered, answered, kept_in_any_case, parts
from .posed import case_spec
from .special import NOTHING_NONPORTABLE, special

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
    """By row, the cases of another tier, or with other readings, than they are marked with."""
    nonportable = special(block)
    found = {}
    for row in range(len(block)):
        if block.tier == "nonportable":
            if not nonportable[row]:
                found[row] = NOTHING_NONPORTABLE
            continue
        asked = case_spec(block.question(row))
        if asked.tier != block.tier:
            found[row] = f"is marked as {block.tier}, and it is {asked.tier}"
        elif set(block.answers) != {STORED, *asked.readings}:
            found[row] = "has answers under other readings than its specification leaves open"
    return found


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

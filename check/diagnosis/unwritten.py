"""What was never written: cases that are right, but for a place of their outputs that is all one constant.

It looks at outputs alone, before anything is computed. A place is the same in every case that has it: neither
a case that passed nor one that failed has anything else there, unless an attribute sets it apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import shared_outputs
from ...cases.operators.readings import STORED
from ...gen.stacks import Stack
from ...gen.variants.evaluate import stacks_of
from ...gen.variants.known import variant_called
from ...gen.variants.unwritten import KINDS
from ...gen.variants.variant import Evaluated, Variant
from ...vectors.block import Block
from ...vectors.case import difference
from ..judging.criterion import Criterion
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, by_part, elements
from .finding import Finding, Names

FEWEST = 16
"""Minimum wrong elements that are one number before it counts as a constant; fewer are equal by chance."""
MOST_CONSTANTS = 2
"""Maximum numbers that are tried as constants; a buffer is filled with one."""
_CATALOGUED = ("constant-everywhere", "unwritten-Ho", "unwritten-Y")
"""What the search says of zero: Ho-zero and Y-zero."""


@dataclass(frozen=True)
class _Candidate:
    """Variants that fill a place, with the failing cases (n,) that they explain, and those that have
    something else in the place."""

    names: Names
    explained: Array
    against: Array


class _Outputs:
    """The outputs of n cases of a block: observed, or the right ones of cases that passed."""

    def __init__(self, block: Block, seen: Arrays, criterion: Criterion) -> None:
        self.block, right = block, block.answer.outputs
        self._seen, self._right = elements(seen, 1), elements(right, 1)
        self._limit = elements(criterion.admitted(block, STORED), 1)
        self._fine = difference(self._seen, self._right) <= self._limit
        self._stacks = [(one, _evaluated(block, one)) for one in stacks_of(block)]
        self._real = self._laid_out([], real=True) > 0

    def constants(self) -> Array:
        """List the values of the elements that are wrong."""
        return np.asarray(self._seen[~self._fine])

    def compare(self, variants: Sequence[Variant]) -> tuple[Array, ...]:
        """(n,) Say which cases have the place, are filled there, are wrong there alone, and have others.

        Past a row's length an element may be right all the same, unless that is the place.
        """
        operator = OPERATORS[self.block.operator]
        if not all(one.means_something_for(operator) for one in variants):
            nowhere = np.zeros(len(self.block), bool)
            return nowhere, nowhere, nowhere, nowhere
        given = self._laid_out(variants)
        place = ~_same(given, self._right)
        of_padding = any(one.name.endswith("padding") for one in variants)
        must, filled = place & (self._real | of_padding), _same(self._seen, given)
        apart = must & ~(difference(given, self._right) <= self._limit)
        found = (
            apart.any(axis=1),
            (filled | ~must).all(axis=1),
            ~self._fine.all(axis=1) & (self._fine | place & filled).all(axis=1),
            (~place & self._real).any(axis=1),
        )
        return tuple(map(np.asarray, found))

    def _laid_out(self, variants: Sequence[Variant], *, real: bool = False) -> Array:
        """(n, elements) The right outputs, filled by variants; or where they are of `real` steps and rows."""
        found = {name: np.empty(a.shape) for name, a in self.block.answer.outputs.items()}
        for stack, right in self._stacks:
            seen, last = right, right.ho
            for one in variants:
                if one.outputs:
                    y, ho = one.outputs(seen)
                    seen = Evaluated(right.inputs, right.semantics, y, ho, right.again)
                if one.last:
                    last = one.last(right)
            shared = {"y": seen.y, "ho": seen.ho, "last": last}
            if real:
                lengths = right.inputs.lengths[:, None, :, None]
                at = np.arange(right.y.shape[-2])
                some = np.broadcast_to(lengths > 0, right.ho.shape)
                steps = np.broadcast_to((at < lengths)[..., None], right.y.shape)
                shared = {"y": steps, "ho": some, "last": some}
            for name, array in stack.handed_out(shared, self.block.absent).items():
                found[name][stack.rows] = array
        return elements(found, 1)


def _evaluated(block: Block, stack: Stack) -> Evaluated:
    """Take the right outputs of stacked cases; zeros of what they do not hand out."""
    inputs = stack.inputs
    n, directions, batch, hidden = inputs.h0.shape
    right = {name: array[stack.rows] for name, array in block.answer.outputs.items()}
    shared = shared_outputs(stack.operator, stack.attributes, right)
    y = shared.get("y", np.zeros((n, directions, batch, inputs.x.shape[-2], hidden)))
    ho = shared.get("ho", np.zeros(inputs.h0.shape))
    outputs = y.astype(np.float64), ho.astype(np.float64)
    return Evaluated(inputs, stack.semantics, *outputs, lambda _: outputs)


def _same(one: Array, other: Array) -> Array:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def unwritten(
    parts: Sequence[FailingBlock], passing: Passing, count: int
) -> list[tuple[Finding, Array]]:
    """Find what was never written, with the failing cases (`count`,) that it explains; most of them first."""
    cases = [_Outputs(part.block, part.observed, part.criterion) for part in parts]
    found = [
        one
        for number in _constants(cases)
        for names in _combinations(number)
        if (one := _candidate(cases, names, count)) is not None
    ]
    said: list[tuple[Finding, Array]] = []
    left = np.ones(count, bool)
    while found:
        best = max(found, key=lambda one: int((one.explained & left).sum()))
        if not (best.explained & left).any():
            break
        found = [one for one in found if one is not best]
        finding = _proven(parts, passing, best)
        if finding is None:  # what fits only some of these cases fits them by chance
            found = [one for one in found if (one.explained & ~best.explained).any()]
            continue
        alike = [one for one in found if (one.explained == best.explained).all()]
        alike = [one for one in alike if len(one.names) == len(best.names)]
        others = [(one.names, _proven(parts, passing, one)) for one in alike]
        alternatives = tuple(names for names, one in others if one and one.where == finding.where)
        said.append((replace(finding, alternatives=alternatives), best.explained))
        left &= ~best.explained
    return said


def _constants(cases: Sequence[_Outputs]) -> Iterator[str]:
    """Yield what names have for the constants that wrong elements may be filled with."""
    values = np.concatenate([np.zeros(0), *(one.constants() for one in cases)])
    if np.isnan(values).any():
        yield ""
    known, counts = np.unique(values[np.isfinite(values)] + 0.0, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MOST_CONSTANTS]
    yield from (f"={float(known[at])!r}" for at in most if counts[at] >= FEWEST)


def _combinations(number: str) -> Iterator[Names]:
    """Yield the names of variants that fill with a constant: alone, then places of Y beside all of Ho."""
    labels = [
        label
        for label in KINDS
        if not (number and label.startswith("unwritten-state"))
        and not (number == "=0.0" and label in _CATALOGUED)
    ]
    yield from ((f"{label}{number}",) for label in labels)
    for label in labels:
        if label.startswith("unwritten-Y-") and number != "=0.0":
            yield f"{label}{number}", f"unwritten-Ho{number}"


def _candidate(cases: Sequence[_Outputs], names: Names, count: int) -> _Candidate | None:
    """Compare all failing cases with variants; None where they explain none.

    A number may be right, or come from another mistake: there no failing case may speak against it, nor be
    wrong elsewhere. And something must be right beside a place, unless all is one constant.
    """
    variants = [variant_called(name) for name in names]
    explained, against = np.zeros(count, bool), np.zeros(count, bool)
    start, beside = 0, names[0].startswith("constant")
    for one in cases:
        has, filled, alone, elsewhere = one.compare(variants)
        rows = slice(start, start + len(one.block))
        explained[rows], against[rows] = filled & alone, has & ~filled
        beside |= bool((explained[rows] & elsewhere).any())
        start = rows.stop
        if "=" in names[0] and (has & ~explained[rows]).any():
            return None
    return _Candidate(names, explained, against) if explained.any() and beside else None


def _proven(parts: Sequence[FailingBlock], passing: Passing, one: _Candidate) -> Finding | None:
    """Say what a candidate finds, and where; None where cases speak against it that nothing sets apart."""
    variants = [variant_called(name) for name in one.names]
    against = [(part.block, rows) for part, rows in by_part(parts, one.against) if rows.any()]
    for block in passing.every_block():
        right = dict(block.answer.outputs)
        has = _Outputs(block, right, passing.criteria[block.dtype]).compare(variants)[0]
        if has.any():
            against.append((block, has))
    mine = [(part.block, rows) for part, rows in by_part(parts, one.explained) if rows.any()]
    where = what_tells_apart(mine, against) if against else [""]
    if not where:
        return None
    operator = OPERATORS[mine[0][0].operator]
    return Finding(
        names=one.names,
        kind="misreading",
        about="; and ".join(variant.about_for(operator) for variant in variants),
        explains=int(one.explained.sum()),
        of=len(one.explained),
        where=where[0],
        operator=operator.name,
    )

"""What was never written: cases that are right, but for a place of their outputs that is all one constant.

It looks at outputs alone, before anything is computed. A place is the same in every case that has it: neither
a case that passed nor one that failed has anything else there, unless an attribute sets it apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...gen.variants.evaluate import stacks_of
from ...gen.variants.known import variant_called
from ...gen.variants.places import OF_STATES, PLACES, Elements, filled
from ...gen.variants.variant import traits
from ...vectors.block import Block
from ...vectors.case import difference
from ..judging.criterion import Criterion
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, blocks_of, is_wrong, under_readings
from .finding import Finding, Names
from .hints import wrong_elements
from .places import elements_by_role

FEWEST = 16
"""Minimum wrong elements that are one number before it counts as a constant; fewer are equal by chance."""
MOST_CONSTANTS = 2
"""Maximum numbers that are tried as constants; a buffer is filled with one."""


class _Output(NamedTuple):
    """An output of some cases, by their `rows` among all, with masks (n, direction, rows, hidden).

    The group is wrong, and the constant; others are something else, and rightly not the constant, or strays.
    """

    rows: Array
    role: str
    elements: Elements
    group: Array
    others: Array
    stray: Array


def unwritten(
    parts: Sequence[FailingBlock], passing: Passing, count: int
) -> list[tuple[Finding, Array]]:
    """Find what was never written, with the failing cases (`count`,) that it explains."""
    found = (_of_constant(parts, passing, value, count) for value in _constants(parts))
    return [one for one in found if one]


def _constants(parts: Sequence[FailingBlock]) -> Iterator[float]:
    """Yield the constants that wrong elements may be filled with."""
    wrong = [
        part.observed[name][mask].astype(np.float64)
        for part in parts
        for name, mask in wrong_elements(part).items()
    ]
    values = np.concatenate([np.zeros(0), *wrong])
    if np.isnan(values).any():
        yield np.nan
    known, counts = np.unique(values[np.isfinite(values)] + 0.0, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MOST_CONSTANTS]
    yield from (float(known[at]) for at in most if counts[at] >= FEWEST)


def _outputs(
    cases: Iterable[tuple[Block, Arrays, Criterion]], value: float, *, real: bool
) -> list[_Output]:
    """List the outputs of cases as they were seen; padding is never among the others of `real` steps."""
    found, start = [], 0
    for block, seen, criterion in cases:
        three = under_readings(block, seen, criterion)
        for stack in stacks_of(block):
            for role, elements, arrays in elements_by_role(stack, three):
                one, right, limit = arrays.swapaxes(0, 1)
                wrong = is_wrong(arrays)
                holds = np.isnan(one) if np.isnan(value) else one == value
                rightly = difference(np.full(right.shape, value), right) <= limit
                others = ~(holds | rightly | (elements.padding & real))
                masks = wrong & holds, others, wrong & ~holds
                found.append(_Output(start + stack.rows, role, elements, *masks))
        start += len(block)
    return found


def _of_constant(
    parts: Sequence[FailingBlock], passing: Passing, value: float, count: int
) -> tuple[Finding, Array] | None:
    """Find the place that a constant fills.

    A number may be right, or come from another mistake: there every failing case that has the place must be
    explained. Something else must be right beside a place, unless all is one constant.
    """
    failed = [(part.block, part.observed, part.criterion) for part in parts]
    failing = _outputs(failed, value, real=True)
    real = any((one.group & ~one.elements.padding).any() for one in failing)
    failing = failing if real else _outputs(failed, value, real=False)
    inside, _, outside, _ = _compare(failing, ("constant-everywhere",), count)
    explained: dict[Names, Array] = {}
    against: dict[Names, list[tuple[Block, Array]]] = {}
    both = any(traits(OPERATORS[part.block.operator]) >= {"y", "ho"} for part in parts)
    for names in _names(value, both=both) if (inside & ~outside).any() else ():
        inside, others, outside, beside = _compare(failing, names, count)
        mine = inside & ~others & ~outside
        known = np.isnan(value) or not ((inside | others) & ~mine).any()
        if mine.any() and known and ((mine & beside).any() or names[0].startswith("constant")):
            explained[names] = mine
            against[names] = blocks_of(parts, others)
    for block in passing.every_block() if explained else ():
        right = (block, dict(block.answer.outputs), passing.criteria[block.dtype])
        passed = _outputs([right], value, real=real)
        for names, blocks in against.items():
            _, others, *_ = _compare(passed, names, len(block))
            blocks += [(block, others)] * bool(others.any())
    refuted = np.zeros(count, bool)
    for names in sorted(
        explained, key=lambda one: (-int(explained[one].sum()), bool(against[one]))
    ):
        mine = explained[names]
        blocks = blocks_of(parts, mine)
        where = what_tells_apart(blocks, against[names]) if against[names] else [""]
        if where and not refuted[mine].all():
            operator = OPERATORS[blocks[0][0].operator]
            alike = [
                one for one in explained if (explained[one] == mine).all() and not against[one]
            ]
            finding = Finding(
                names=names,
                kind="misreading",
                about="; and ".join(variant_called(one).about_for(operator) for one in names),
                explains=int(mine.sum()),
                of=count,
                where=where[0],
                alternatives=tuple(one for one in alike if len(one) == len(names) and one != names),
                operator=operator.name,
            )
            return finding, mine
        refuted |= mine  # what fits only some of these cases fits them by chance
    return None


def _compare(outputs: Sequence[_Output], names: Names, count: int) -> Array:
    """(4, count) Say which cases have the constant in a place, others, and mistakes and others elsewhere."""
    found = np.zeros((4, count), bool)
    for one in outputs:
        place = np.zeros(one.group.shape, bool)
        for name in names:
            place |= filled(name, one.role, one.elements)
        wrong = one.stray | (one.group & ~place)
        masks = place & one.group, place & one.others, wrong, one.others & ~place
        found[:, one.rows] |= [mask.any(axis=(1, 2, 3)) for mask in masks]
    return found


def _names(value: float, *, both: bool) -> Iterator[Names]:
    """Yield the names of places, those of both outputs or the state first, then of Y beside all of Ho.

    What the search says of zero is not among them: Ho-zero and Y-zero.
    """
    number = "" if np.isnan(value) else f"={value!r}"
    every = [place for place in PLACES if value or place != "everywhere"]
    kinds = ["unwritten", *["unwritten-Ho", "unwritten-Y"] * both]
    kinds += ["unwritten-state"] * (both and not number)
    if value:
        yield (f"constant-everywhere{number}",)
    for kind, place in product(kinds, every):
        if kind == "unwritten-Y" or place in OF_STATES:
            yield (f"{kind}-{place}{number}",)
    if both and value:
        yield from (
            (f"unwritten-Y-{place}{number}", f"unwritten-Ho-everywhere{number}") for place in every
        )

"""Coarse arithmetic as an explanation: said only where nothing speaks for a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...vectors.case import REQUIRED, difference
from .emulations import errors_go_together
from .failing import FailingBlock, by_part
from .finding import Finding
from .local import Local

MOST_PASSING = 0.1
"""Of a dtype that is computed in coarse arithmetic, no more than this share of the cases passes."""
NEARLY_ALL, MOST = 0.98, 0.5
"""This share of the cases that hold some class holds the one that is named; and of more failing cases than
that must the outputs be numbers of a coarser type."""
ROUNDED = 2.0
"""What is computed in a type from the products on is off by more units in the last place, in some case."""
FITTING = 0.25
"""Of the cases that something else may explain, they are no larger share."""
REACHED = 0.4
"""Roundings put off more than this share of the states of cases that fail of them."""
GRID_SMALL, GRID_FEWEST = 2.0**-5, 16
"""What is on a grid is told by so many numbers, or more, that are smaller than that."""
BALANCED = 5.0
"""Roundings go up and down: their signs add up to no more than so many standard deviations."""


def sound(dtype: str, name: str) -> bool:
    """Whether a case that holds the class `name` is as good as its dtype must be by default: it failed
    by a criterion that is tighter."""
    names = [one.name for one in CHAINS[dtype][0]]
    return name in names[: names.index(REQUIRED[dtype]) + 1]


def arithmetic_findings(
    parts: Sequence[FailingBlock],
    rows: Sequence[tuple[str, str]],
    held: Sequence[str],
    left: Array,
    passed: Mapping[str, int],
    local: Local,
    fitting: Array,
) -> Iterator[tuple[Finding, Array]]:
    """Per dtype, the class of arithmetic that the cases that are left hold, and which cases these are.

    `rows` are dtypes and ids, `held` the best class that each case holds, `passed` by dtype how many cases
    passed, `fitting` (n,) which cases something explains that may be. Nothing is said of a dtype of which too
    many cases pass. Where what was observed are numbers of a coarser type, as float32 numbers for float64, no
    more is asked than that most failing cases are. Else nothing is said of a dtype of which cases fail for
    other reasons, or whose errors are no roundings: of few states, or all to one side; and what is said is
    uncertain if they do not go with those of an emulation. The class is the finest that nearly all hold, who
    hold any.
    """
    for dtype, classes in CLASSES.items():
        of_dtype = np.array([kind == dtype for kind, _ in rows], bool)
        names = [held[row] for row in np.flatnonzero(of_dtype & left).tolist() if held[row]]
        if not names:
            continue
        order = [one.name for one in classes]
        places = sorted(order.index(name) for name in names)
        coarsest = order[places[int(NEARLY_ALL * (len(places) - 1))]]
        fine = order[: order.index(coarsest) + 1]
        mine = of_dtype & left & np.array([name in fine for name in held])
        numbers = _numbers_of(coarsest, parts, len(rows)) & of_dtype
        most = int(numbers.sum()) > MOST * int(of_dtype.sum())
        one_type = most and not _on_a_grid(coarsest, parts, numbers)
        if one_type:
            mine &= numbers
        tight = sound(dtype, coarsest)
        if not tight:
            others = not one_type and mine.sum() < of_dtype.sum()
            others |= not one_type and (fitting & mine).sum() > FITTING * mine.sum()
            many = passed.get(dtype, 0) > MOST_PASSING * (mine.sum() + passed.get(dtype, 0))
            if others or many or not (one_type or rounded(local, mine)):
                continue
        units = _units_off(coarsest, parts, mine) if one_type else 0.0
        about = _about(dtype, coarsest, tight=tight, one_type=one_type, units=units)
        certain = tight or one_type or errors_go_together(local, mine)
        count = int(mine.sum())
        yield Finding((coarsest,), "arithmetic", about, count, len(rows), certain=certain), mine


def _about(dtype: str, name: str, *, tight: bool, one_type: bool, units: float) -> str:
    """What is said of a class of arithmetic: it is as good as must be, or its numbers are of one type, and so
    many units in the last place off at most."""
    if tight:
        return f"{dtype} as good as {name} arithmetic, but less than was demanded"
    if not one_type:
        return f"{dtype} computed in arithmetic as coarse as {name}"
    if units <= ROUNDED:
        return f"{dtype} outputs rounded to {name}, or computed in it near the end"
    return f"{dtype} computed in {name} arithmetic, at least in part"


def no_larger(one: Finding) -> str:
    """What is known where errors are as small as those of a class, and do not seem to be its roundings."""
    told = f"errors are no larger than those of {one.names[0]} arithmetic"
    return f"{told}; that they are its roundings is not seen"


def _units_off(name: str, parts: Sequence[FailingBlock], which: Array) -> float:
    """The largest error of the cases `which` (n,), in units in the last place of a type."""
    worst = 0.0
    for part, rows in by_part(parts, which):
        for output, array in part.observed.items():
            right = part.block.answer.outputs[output][rows].astype(np.float64)
            finite = np.isfinite(right)
            off = difference(array[rows].astype(np.float64), right)[finite]
            units = off / FLOAT_TYPES[name].spacing(right[finite])
            worst = max(worst, float(units.max(initial=0.0)))
    return worst


def _numbers_of(name: str, parts: Sequence[FailingBlock], count: int) -> Array:
    """(count,) of which failing cases all that was observed are numbers of a type, if there is one of that
    name; those that are not at hand may be."""
    if name not in FLOAT_TYPES:
        return np.zeros(count, bool)
    kind, found = FLOAT_TYPES[name], np.ones(count, bool)
    start = 0
    for part in parts:
        for array in part.observed.values():
            with np.errstate(over="ignore", invalid="ignore"):
                values = array.astype(np.float64)
                same = values.astype(kind.numpy).astype(np.float64) == values
            whole = (same | np.isnan(values)).reshape(len(part), -1).all(axis=1)
            found[start : start + len(part)] &= whole
        start += len(part)
    return found


def of_a_coarser_type(parts: Sequence[FailingBlock], which: Array) -> bool:
    """Whether all that was observed in the cases `which` (n,) are numbers of a coarser type than the finest
    that is asked for."""
    asked = {part.block.dtype for part, rows in by_part(parts, which) if rows.any()}
    finest = max((FLOAT_TYPES[one].precision for one in asked), default=0)
    return any(
        one.precision < finest
        and bool(_numbers_of(one.name, parts, len(which))[which].all())
        and not _on_a_grid(one.name, parts, which)
        for one in FLOAT_TYPES.values()
    )


def _on_a_grid(name: str, parts: Sequence[FailingBlock], which: Array) -> bool:
    """Whether all that was observed in the cases `which` (n,) are multiples of one number, small numbers too:
    a type with an exponent has finer ones there."""
    if name not in FLOAT_TYPES:
        return False
    step, found = 2.0 ** -(FLOAT_TYPES[name].precision + 1), 0
    for part, rows in by_part(parts, which):
        for array in part.observed.values():
            values = np.abs(array[rows].astype(np.float64))
            small = values[(values > 0) & (values < GRID_SMALL)]
            if (small % step != 0).any():
                return False
            found += small.size
    return found >= GRID_FEWEST


def rounded(local: Local, which: Array) -> bool:
    """Whether the errors of the steps of the cases `which` (n,) look like roundings: in many states, up and
    down alike. Where no steps are known, they may be."""
    signs, count, wrong = 0.0, 0, 0
    for start, steps in local.steps:
        cases = which[start + steps.stack.rows]
        if not cases.any():
            continue
        states = steps.wrong & cases[:, None, None, None]
        off = np.sign(steps.seen - steps.right)[states]
        signs, wrong = signs + float(off.sum()), wrong + int(states.sum())
        taken = steps.taken[:, None, :, None] & cases[:, None, None, None]
        count += int(np.broadcast_to(taken, states.shape).sum())
    if not count:
        return True
    return wrong > REACHED * count and abs(signs) <= BALANCED * np.sqrt(wrong)

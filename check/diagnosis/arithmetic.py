"""Coarse arithmetic as an explanation: said only where nothing speaks for a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...vectors.case import REQUIRED
from .finding import Finding
from .local import Local

MOST_PASSING = 0.1
"""Of a dtype that is computed in coarse arithmetic, no more than this share of the cases passes."""
REACHED = 0.4
"""Roundings put off more than this share of the states of cases that fail of them."""
BALANCED = 5.0
"""Roundings go up and down: their signs add up to no more than so many standard deviations."""


def sound(dtype: str, name: str) -> bool:
    """Whether a case that holds the class `name` is as good as its dtype must be by default: it failed
    by a criterion that is tighter."""
    names = [one.name for one in CHAINS[dtype][0]]
    return name in names[: names.index(REQUIRED[dtype]) + 1]


def arithmetic_findings(
    rows: Sequence[tuple[str, str]],
    held: Sequence[str],
    left: Array,
    passed: Mapping[str, int],
    local: Local,
) -> Iterator[tuple[Finding, Array]]:
    """Per dtype, the class of arithmetic that the cases that are left hold, and which cases these are.

    `rows` are dtypes and ids, `held` the best class that each case holds, `passed` by dtype how many cases
    passed. Nothing is said of a dtype of which too many cases pass. Where every operation rounds to one type,
    as float32 for float64, no more is asked. Else nothing is said of one of which cases fail for other
    reasons, or whose errors are no roundings: of few states, or all to one side.
    """
    for dtype, classes in CLASSES.items():
        of_dtype = np.array([kind == dtype for kind, _ in rows], bool)
        mine = of_dtype & left
        names = [held[row] for row in np.flatnonzero(mine).tolist() if held[row]]
        if not names:
            continue
        coarsest = max((one for one in classes if one.name in names), key=classes.index)
        tight = sound(dtype, coarsest.name)
        one_type = coarsest.unit >= max(coarsest.elementwise, coarsest.operands, coarsest.state)
        if not tight:
            others = 0 if one_type else int(of_dtype.sum()) - len(names)
            whole = mine.sum() + passed.get(dtype, 0)
            odd = not one_type and not rounded(local, mine)
            if others or odd or passed.get(dtype, 0) > MOST_PASSING * whole:
                continue
        about = f"{dtype} computed in {coarsest.name} arithmetic"
        if tight:
            about = f"{dtype} as good as {coarsest.name} arithmetic, but less than was demanded"
        elif not one_type:
            about = f"{dtype} computed in arithmetic as coarse as {coarsest.name}"
        explained = mine & np.array([bool(name) for name in held])
        finding = Finding((coarsest.name,), "arithmetic", about, int(explained.sum()), len(rows))
        yield finding, explained


def rounded(local: Local, which: Array) -> bool:
    """Whether the errors of the steps of the cases `which` (n,) look like roundings: in most states, up and
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

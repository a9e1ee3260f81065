"""What is known of failures that nothing explains.

That is where they are, what passing cases have not, and whether questions that are asked again are answered
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.question import Question
from ...gen.variants.evaluate import within
from ...vectors.block import Block
from ...vectors.case import difference
from ..observed.source import stack_replies
from ..protocol.header import Reply
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, blocks_of, by_part, elements
from .finding import ON_MORE
from .local import Local
from .places import Split, elements_in, where

MOST_RIGHT = 0.5
"""Maximum share of right elements in the place of the wrong ones; with more, it is hardly a place."""
MOST_CONDITIONS = 3
"""Maximum conditions listed that failing cases fulfil, and passing ones do not: more of them say the same."""

FINE = ("float32", "float64")
"""Dtypes whose tolerances small mistakes exceed. In others, wrong answers may pass."""

MOST_ASKED = 3
"""Maximum questions that are asked again, each twice in a row: a runtime may take seconds for one."""
FEWEST_KEPT = 3
"""Minimum wrong numbers, all of the answer before; two may be equal by chance."""
Replies = Callable[[Sequence[Question]], Sequence[Reply]]
"""A runtime's answers to questions that are asked one after another."""


def hints(parts: Sequence[FailingBlock], which: Array, passing: Passing, local: Local) -> list[str]:
    """List sentences on the cases `which` (n,) of `parts`, each true of all of them.

    Where there is none, list those on cases of FINE dtypes alone.
    """
    known = "no such case passed"
    if not passing.complete:
        known = "none of the passed cases that were looked at is one"
    found = _true_of_all(parts, which, passing.blocks, known, local)
    is_fine = np.concatenate([[part.block.dtype in FINE] * len(part) for part in parts])
    some, passed = which & is_fine, [one for one in passing.blocks if one.dtype in FINE]
    if found or ((some == which).all() and len(passed) == len(passing.blocks)):
        return found
    dtypes = {part.block.dtype for part, rows in by_part(parts, some) if rows.any()}
    few = _true_of_all(parts, some, passed, known, local)
    return [f"in {' and '.join(sorted(dtypes))}, {one}" for one in few]


def _true_of_all(
    parts: Sequence[FailingBlock],
    which: Array,
    passed: Sequence[Block],
    known: str,
    local: Local,
) -> list[str]:
    if not which.any():
        return []
    others = [(block, np.ones(len(block), bool)) for block in passed]
    apart = what_tells_apart(blocks_of(parts, which), others)
    found = [f"all of these are cases {one}, and {known}" for one in apart[:MOST_CONDITIONS]]
    some = [part.rows(rows) for part, rows in by_part(parts, which) if rows.any()]
    found += _of_one_output(some) or _of_steps(local, which)
    if not any(np.isfinite(elements(part.observed, 1)).all(axis=1).any() for part in some):
        found.append("every case has an infinity or a NaN where there should be none")
    return found


def _of_steps(local: Local, which: Array) -> list[str]:
    """Say which steps are wrong from the state before them. NaN after NaN is neither right nor wrong."""
    each: list[Split] = []
    count = clear = 0
    inherited, beside = False, True
    for _, one in local.steps_among(which):
        right, nan = one.taken[:, None, :, None] & ~one.wrong, np.isnan(one.seen)
        each.append((one, one.wrong, right & ~nan))
        inherited |= bool((right & nan).any())
        beside &= not one.rest.any()
        count += len(one.stack)
        clear += int(one.wrong.any(axis=(1, 2, 3)).sum())
    wrong, fine = any(one.any() for _, one, _ in each), any(one.any() for *_, one in each)
    whole = count == which.sum() and not inherited  # else some states are not seen
    if fine and not wrong and whole:
        steps, rest = "every step is right up to rounding", "padding or the last state is wrong"
        if not beside:
            steps, rest = "no step is off by much", f"each is off by a little, or {rest}"
        return [f"{steps}, given the state before it: {rest}"]
    if wrong and not fine and whole:
        return ["every step goes wrong, given the state before it"]
    place = where(each, MOST_RIGHT) if wrong and fine else ""
    if not place:
        return []
    few = f" in {clear} of {count} cases, and in the others none clearly does" * (clear < count)
    rest = "; elsewhere each is right up to rounding, given the state before it"
    return [f"steps go wrong only {place}{few}{rest * (not inherited)}"]


def _of_one_output(parts: Sequence[FailingBlock]) -> list[str]:
    """Say which output alone is wrong where others are right, and where in it: its states are right."""
    wrong = [wrong_elements(part) for part in parts]
    names = {name for each in wrong for name, array in each.items() if array.any()}
    if len(names) != 1 or not any(each.keys() - names for each in wrong):
        return []
    [name] = names
    found = [
        (mine, mask, ~mask)
        for part, each in zip(parts, wrong, strict=True)
        if name in each
        for stack in part.stacked
        for mine, mask in [elements_in(stack, name, each[name])]
    ]
    place = where(found, MOST_RIGHT)
    return [f"only {name} is wrong{place and f', {place}'}"]


def wrong_elements(part: FailingBlock) -> Arrays:
    """Say which elements of the outputs the criterion does not admit, under the part's own reading."""
    right, limits = part.block.answers[part.reading].outputs, part.admitted
    return {
        name: ~(difference(seen.astype(np.float64), right[name].astype(np.float64)) <= limits[name])
        for name, seen in part.observed.items()
    }


def answered_otherwise(
    parts: Sequence[FailingBlock], which: Array, replies: Replies | None
) -> list[str]:
    """Say how many of some cases give other numbers when they are asked again; nothing if none does."""
    if replies is None or not which.any():
        return []
    chosen = [
        (part, int(np.flatnonzero(rows)[0])) for part, rows in by_part(parts, which) if rows.any()
    ]
    chosen = sorted(chosen, key=lambda one: one[0].work)[:MOST_ASKED]
    asked = [part.rows(np.array([row])) for part, row in chosen for _ in range(2)]
    answers = replies([one.block.question(0) for one in asked])
    again = [_again(one, reply) for one, reply in zip(asked, answers, strict=True)]
    other = [
        new is not None and not within(new.observed, one.observed, one.admitted).all()
        for one, new in zip(asked, again, strict=True)
    ]
    count = sum(any(other[at : at + 2]) for at in range(0, len(other), 2))
    if not count:
        return []
    pairs = zip(again[1:], again, strict=False)
    known = np.concatenate([np.zeros(0, bool), *(_of_before(*one) for one in pairs)])
    cause = ", such as what was asked before"
    if known.size >= FEWEST_KEPT and known.all():
        cause = ": every wrong number stands in the answer before"
    of = f"{count} of {len(chosen)} of these cases"
    return [f"asked again, {of} gave other numbers: {ON_MORE}{cause}"]


def _again(part: FailingBlock, reply: Reply) -> FailingBlock | None:
    """Make the same case with what was answered again; None where that was no answer."""
    seen = stack_replies(part.block, [reply])
    if seen.status[0] != "ok":
        return None
    return FailingBlock(part.block, seen.outputs, part.criterion, part.reading)


def _of_before(again: FailingBlock | None, before: FailingBlock | None) -> Array:
    """Say which of the wrong elements of a case that was asked again are numbers of the answer before."""
    if again is None or before is None:
        return np.zeros(1, bool)
    wrong = [again.observed[name][mask] for name, mask in wrong_elements(again).items()]
    return np.isin(np.concatenate(wrong), elements(before.observed, 1))

"""The function that was really computed in place of an activation function, solved for from the steps.

Where nothing else explains failing cases, a curve that is added to the function is fitted to the steps of
some of them. It is believed if it takes nearly all of the error away from others.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...gen.stacks import Stack
from ...gen.variants.curves import KNOTS, heights_of, with_curve
from ...gen.variants.evaluate import stacks_of
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from .failing import FailingBlock, by_part, evenly
from .steps import Steps, share_left

BELIEVED, SUSPECTED = 0.15, 0.45
"""What may be left of the error of rows to which the curve was not fitted; of a function that all failing
cases ask for, and no others."""
HELPED = 0.4
"""What may be left of the error of a case that the curve explains."""
UNHELPED = 0.1
"""To so many failing cases, by those that it explains, that ask for the function the curve may be no help."""
CLOSE = 0.5
"""What the curve changes in a case is at least this share of what the function that was computed does."""
LEAST_SCALE, LARGEST_FITTED = 1e-100, 1e100
"""Errors are divided by their mean, or by this where it is less; larger ones are not fitted. So nothing
overflows."""
ROUNDS, DIFFERENCE = 4, 1e-4
"""How often a curve is improved, and the difference of a height by which a slope is taken."""
FEWEST = 24
"""A curve is fitted to no fewer wrong states, and held against no fewer."""
MOST_STEPS, MOST_STATES = 24, 4000
"""The steps of so many groups of cases are looked at, and so many of their states."""
ALIKE = 0.3
"""Two halves of the steps agree on a height if they differ by no more than this share of it."""
FLAT = 0.03
"""They agree too where they differ by no more than this share of the greatest."""


def fitted_curve(
    steps: Sequence[Steps], suspects: Container[str] = ()
) -> tuple[Variant, str, Variant] | None:
    """The function with a curve that takes the error away from the steps, the function's name, and the curve
    as the other half of the steps has it; None if no function's takes it away, or those of several do. Of
    `suspects` less is asked: that all cases fail that ask for one, and no others, speaks for it already.
    """
    found = []
    for asked in _asked(steps := _some(steps)):
        fit, held = _apart(asked, steps)
        if min(sum(int(one.wrong.sum()) for one in some) for some in (fit, held)) >= FEWEST:
            variant = _fit(asked, fit)
            found.append((_left(variant, held), variant, asked, held))
    found.sort(key=lambda one: one[0])
    if not found:
        return None
    left, variant, asked, held = found[0]
    others = min((one[0] for one in found[1:]), default=1.0)
    believed = SUSPECTED if asked in suspects else BELIEVED
    if left > min(believed, others / 2):
        return None
    return variant, asked, _fit(asked, held)


def suspected(parts: Sequence[FailingBlock], left: Array, passed: Sequence[Block]) -> set[str]:
    """The functions that all failing cases of `left` (n,) ask for, and none of those that passed."""
    failing = [
        functions
        for part, mine in by_part(parts, left)
        for row, functions in _functions(part.stacked)
        if mine[row]
    ]
    elsewhere = [f for block in passed for _, f in _functions(stacks_of(block))]
    return set.intersection(*failing) - set().union(*elsewhere) if failing else set()


def asking_for(asked: str, parts: Sequence[FailingBlock]) -> Array:
    """(n,) the failing cases that ask for a function; none of those that are not at hand."""
    found = [np.zeros(len(part), bool) for part in parts]
    for part, mine in zip(parts, found, strict=True):
        for row, functions in _functions(part.stacked):
            mine[row] = asked in functions
    return np.concatenate(found)


def _functions(stacked: Sequence[Stack]) -> Iterator[tuple[int, set[str]]]:
    """By row of a block, the functions that a case asks for."""
    for stack in stacked:
        each = list(zip(*stack.semantics.f, *stack.semantics.g, strict=True))
        for row, functions in zip(stack.rows.tolist(), each, strict=True):
            yield row, {function.name for function in functions}


def _some(steps: Sequence[Steps]) -> list[Steps]:
    """Those of the steps that are looked at."""
    some = [steps[place] for place in evenly(np.arange(len(steps)), MOST_STEPS).tolist()]
    return [one for one in some if np.isfinite(one.seen).all() and one.wrong.any()]


def _apart(asked: str, steps: Sequence[Steps]) -> tuple[list[Steps], list[Steps]]:
    """The steps of the cases that ask for a function: the rows that a curve is fitted to, and the others."""
    mine = [one for one in (_with(one, asked) for one in steps) if one is not None]
    fit, held = ([half for one in mine for half in _halves(one, which)] for which in (0, 1))
    return fit, held


def _halves(steps: Steps, which: int) -> list[Steps]:
    """Every second row of the steps, from the first or from the second on."""
    rows = np.arange(which, steps.seen.shape[2], 2)
    return [steps.rows(rows)] if rows.size else []


def _asked(steps: Sequence[Steps]) -> list[str]:
    """The names of the functions that the cases ask for."""
    return list(
        dict.fromkeys(
            function.name
            for one in steps
            for functions in (*one.stack.semantics.f, *one.stack.semantics.g)
            for function in functions
        )
    )


def _with(steps: Steps, asked: str) -> Steps | None:
    """The steps of the cases that ask for a function."""
    s = steps.stack.semantics
    each = [functions for pair in zip(s.f, s.g, strict=True) for functions in pair]
    cases = [any(f[case].name == asked for f in each) for case in range(len(steps.seen))]
    rows = np.flatnonzero(cases)
    return steps.only(rows) if rows.size else None


def _errors(variants: Sequence[Variant], steps: Sequence[Steps]) -> Array:
    """(v, states) observed less given, under each variant: of all states, or, of very many, of some. What is
    not finite, or larger than LARGEST_FITTED, counts as right."""
    found = []
    for one in steps:
        taken = np.broadcast_to(one.taken[:, None, :, None], one.seen.shape)
        found.append((one.seen - one.given([[v] for v in variants]))[:, taken])
    errors = np.concatenate(found, axis=1)
    every = max(1, errors.shape[1] // MOST_STATES)
    some = errors[:, ::every]
    return np.where(np.abs(some) <= LARGEST_FITTED, some, 0.0)  # NaN is not <= it


def _fit(asked: str, steps: Sequence[Steps]) -> Variant:
    heights = np.zeros(len(KNOTS))
    for _ in range(ROUNDS):
        variants = [with_curve(asked, heights.tolist())]
        variants += [
            with_curve(asked, (heights + DIFFERENCE * one).tolist()) for one in np.eye(len(KNOTS))
        ]
        errors = _errors(variants, steps)
        slopes = (errors[:1] - errors[1:]).T / DIFFERENCE
        scale = max(np.abs(errors[0]).mean(), LEAST_SCALE)
        ridge = 1e-3 * np.sqrt(len(slopes)) * np.eye(len(KNOTS))
        left = np.concatenate([errors[0] / scale, -1e-3 * heights / scale])
        change, *_ = np.linalg.lstsq(np.vstack([slopes, ridge]) / scale, left, rcond=None)
        heights = heights + np.clip(change, -1.0, 1.0)
    return with_curve(asked, heights.tolist())


def _left(variant: Variant, steps: Sequence[Steps]) -> float:
    """The share of the error that is left under the variant."""
    return float(share_left(*_errors([replace(variant, semantics=None), variant], steps)))


def in_words(asked: str, variant: Variant, again: Variant, steps: Sequence[Steps]) -> str:
    """By how much the function that was computed is off where it is most so, as far as both halves of the
    steps say so, and it is one function. Where it is right is not said: few steps tell that."""
    told = f"{asked} computed as another function"
    each = [heights_of(one.name)[1] for one in (variant, again)]
    larger = np.max(np.abs(each), axis=0)
    apart = np.abs(np.subtract(*each))
    seen = _seen(asked, steps)
    alike = seen & (apart <= np.maximum(ALIKE * larger, FLAT * larger.max()))
    heights = np.where(alike, np.mean(each, axis=0), 0.0)
    most = int(np.argmax(np.abs(heights)))
    high = abs(heights[most])
    if high < larger[seen].max(initial=0.0) / 2 or len(_parameters(asked, steps)) > 1:
        return told
    word = "large" if heights[most] > 0 else "small"
    return f"{told}: by about {high:.2g} too {word} where its argument is near {KNOTS[most]:g}"


def _parameters(asked: str, steps: Sequence[Steps]) -> set[tuple[float, float]]:
    """The alpha and beta that the function is asked for with."""
    semantics = [one.stack.semantics for one in steps]
    functions = (f for s in semantics for some in (*s.f, *s.g) for f in some)
    return {(f.alpha, f.beta) for f in functions if f.name == asked}


def _seen(asked: str, steps: Sequence[Steps]) -> Array:
    """(knots,) near which arguments of the function occur."""
    values = [one.arguments(asked) for one in steps]
    all_values = np.sort(np.concatenate([v.ravel() for v in values]))
    low, high = all_values[len(all_values) // 50], all_values[-1 - len(all_values) // 50]
    near = np.searchsorted(all_values, KNOTS + 0.25) - np.searchsorted(all_values, KNOTS - 0.25)
    return np.asarray((low <= KNOTS) & (high >= KNOTS) & (near > 0))

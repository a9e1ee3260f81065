"""The function that was really computed in place of an activation function, solved for from steps.

Where nothing else explains failing cases, a curve that is added to the function is fitted to one half of
their rows, and judged by the other half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS
from ...gen.variants.families import KNOTS, with_curve
from ...gen.variants.variant import Variant
from .contradictions import Passing
from .failing import evenly
from .finding import Finding
from .fitting import Fit, Guess, moved
from .local import Local
from .proof import SOME
from .steps import Steps, share_left

MOST_LEFT = 0.4
"""Maximum share of the error of rows, or of a case, that a curve leaves; a false one leaves most."""
UNHELPED = 0.1
"""Maximum cases that ask for the function and are wrong otherwise, by those explained; chance gives few."""
CLOSE = 0.5
"""What the curve changes in a case that passed counts by half; straight lines are no more exact than that."""
MOST_STEPS = 24
"""Maximum groups of cases that are fitted; more change no height that counts."""
FEWEST = 24
"""Minimum wrong states of each half; fewer give no curve."""
ALIKE = 0.3
"""Maximum difference of a height that both halves agree on, by the larger one."""


def find_other_function(
    local: Local, left: Array, done: Array, passing: Passing
) -> list[tuple[Finding, Array]]:
    """Find the function that was computed as another one, with the cases (n,) of `left` that this explains.

    Cases that are `done`, explained by something else, may refute it.
    """
    if not left.any():
        return []
    several = _only([(one, left[start + one.stack.rows]) for start, one in local.steps])
    several = [one for one in several if np.isfinite(one.seen).all() and one.wrong.any()]
    several = [several[place] for place in evenly(np.arange(len(several)), MOST_STEPS).tolist()]
    functions = sorted(frozenset().union(*(one.functions for one in several)))
    each = [one for asked in functions for one in _fitted(asked, several)]
    if len(each) != 1:
        return []
    [(asked, variant, about)] = each
    helped, asking = local.helped([variant], MOST_LEFT), np.zeros_like(left)
    for start, one in local.steps:
        asking[start + one.stack.rows] = _asks(one, asked)
    otherwise = int((asking & done & ~helped).sum())
    explains = int((left & helped).sum())
    if not explains:
        return []
    finding = Finding(
        names=(variant.name,),
        kind="misreading",
        about=about,
        explains=explains,
        of=len(left),
        certain=explains >= SOME
        and otherwise <= UNHELPED * explains
        and not passing.excluding([variant], CLOSE),
        operator=several[0].part.block.operator,
    )
    return [(finding, left & helped)]


def _fitted(asked: str, several: Sequence[Steps]) -> list[tuple[str, Variant, str]]:
    """Fit a curve to half of the rows; return the function with it if that gives the others."""
    halves: tuple[list[Steps], list[Steps]] = ([], [])
    for one in _only([(one, _asks(one, asked)) for one in several]):
        rows = np.arange(one.seen.shape[2])
        for half, which in zip(halves, (rows[::2], rows[1::2]), strict=True):
            half += [one.rows(which)] if which.size else []
    if min(sum(int(one.wrong.sum()) for one in half) for half in halves) < FEWEST:
        return []
    fits = [Fit([(one, _every(one)) for one in half], robust=False) for half in halves]
    none = Guess(lambda heights: (with_curve(asked, heights.tolist()),), np.zeros(len(KNOTS)))
    first, second = (fit.improve([none])[0] for fit in fits)
    if share_left(*fits[1].errors([none.variants, first.variants])) > MOST_LEFT:
        return []
    taken = [
        np.abs(one.numbers) * np.linalg.norm(slopes, axis=0)
        for fit, one in zip(fits, (first, second), strict=True)
        for _, slopes in fit.slopes([moved(one)])
    ]
    place = _where(asked, np.array([first.numbers, second.numbers]), sum(taken))
    [variant] = first.variants
    return [(asked, variant, f"{asked} computed as another function{place}")]


def _every(steps: Steps) -> Array:
    """Mask the states of all steps that there are."""
    return np.broadcast_to(steps.taken[:, None, :, None], steps.seen.shape)


def _only(several: Sequence[tuple[Steps, Array]]) -> list[Steps]:
    """Take the cases of steps that masks (n,) say, where there are any."""
    return [steps.only(np.flatnonzero(mask)) for steps, mask in several if mask.any()]


def _asks(steps: Steps, asked: str) -> Array:
    """(n,) which cases ask for a function."""
    s = steps.stack.semantics
    asks = [[f.name == asked for f in one] for one in (*s.f, *s.g)]
    return np.asarray(np.any(asks, axis=0))


def _where(asked: str, heights: Array, taken: Array) -> str:
    """Say by how much the function is off where that matters most, of heights that both halves agree on.

    Where a function takes parameters it is off by another curve with each.
    """
    alike = np.abs(heights[0] - heights[1]) < ALIKE * np.abs(heights).max(axis=0)
    most = int(np.argmax(np.where(alike, taken, 0.0)))
    high = heights[:, most].mean()
    if not alike[most] or FUNCTIONS[asked].default:
        return ""
    word = "large" if high > 0 else "small"
    return f": by about {abs(high):.2g} too {word} where its argument is near {KNOTS[most]:g}"

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
from .local import Local
from .steps import Steps, share_left
from .trying import errors_at

MOST_LEFT = 0.4
"""Maximum share of the error of rows, or of a case, that a curve leaves; a false one leaves most."""
UNHELPED = 0.1
"""Maximum cases that ask for the function and are wrong otherwise, by those explained; chance gives few."""
CLOSE = 0.5
"""What the curve changes in a case that passed counts by half; straight lines are no more exact than that."""
MOST_STEPS, MOST_STATES = 24, 4000
"""Maximum groups of cases, and states of them, that are fitted; more change no height that counts."""
FEWEST = 24
"""Minimum wrong states of each half; fewer give no curve."""
ROUNDS, SLOPE, LONGEST = 4, 1e-4, 1.0
"""How often heights are improved, the change by which slopes are taken, and the maximum improvement."""
RIDGE = 1e-3
"""What keeps heights near zero that hardly any state depends on, by the size of slopes."""
ALIKE = 0.3
"""Maximum difference of a height that both halves agree on, by the larger one."""


def find_other_function(
    local: Local, left: Array, done: Array, passing: Passing
) -> list[tuple[Finding, Array]]:
    """Find the function that was computed as another one, with the cases (n,) of `left` that this explains.

    Cases that are `done`, explained by something else, may refute it.
    """
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
        certain=otherwise <= UNHELPED * explains and not passing.excluding([variant], CLOSE),
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
    (heights, _), _ = each = [_fit(asked, half) for half in halves]
    if share_left(*_errors(asked, [np.zeros_like(heights), heights], halves[1])) > MOST_LEFT:
        return []
    about = f"{asked} computed as another function{_where(asked, each)}"
    return [(asked, with_curve(asked, heights.tolist()), about)]


def _fit(asked: str, several: Sequence[Steps]) -> tuple[Array, Array]:
    """Find the heights of a curve by Gauss-Newton steps, and how much of the error each takes."""
    heights = np.zeros(len(KNOTS))
    for _ in range(ROUNDS):
        around = [heights, *(heights + SLOPE * one for one in np.eye(len(KNOTS)))]
        errors, *others = _errors(asked, around, several)
        slopes = (errors - np.array(others)).T / SLOPE
        ridge = RIDGE * float(np.linalg.norm(slopes))
        whole = np.vstack([slopes, ridge * np.eye(len(KNOTS))])
        change, *_ = np.linalg.lstsq(whole, np.append(errors, -ridge * heights), rcond=None)
        heights = heights + np.clip(change, -LONGEST, LONGEST)
    return heights, np.abs(heights) * np.linalg.norm(slopes, axis=0)


def _errors(asked: str, curves: Sequence[Array], several: Sequence[Steps]) -> Array:
    """(c, states) observed less given under each curve, in units of what is admitted."""
    variants = [[with_curve(asked, one.tolist())] for one in curves]
    taken = [np.broadcast_to(one.taken[:, None, :, None], one.seen.shape) for one in several]
    each = [errors_at(one, here, variants) for one, here in zip(several, taken, strict=True)]
    errors = np.concatenate(each, axis=1)
    return errors[:, :: max(1, errors.shape[1] // MOST_STATES)]


def _only(several: Sequence[tuple[Steps, Array]]) -> list[Steps]:
    """Take the cases of steps that masks (n,) say, where there are any."""
    return [steps.only(np.flatnonzero(mask)) for steps, mask in several if mask.any()]


def _asks(steps: Steps, asked: str) -> Array:
    """(n,) which cases ask for a function."""
    s = steps.stack.semantics
    asks = [[f.name == asked for f in one] for one in (*s.f, *s.g)]
    return np.asarray(np.any(asks, axis=0))


def _where(asked: str, halves: Sequence[tuple[Array, Array]]) -> str:
    """Say by how much the function is off where that matters most, of heights that both halves agree on.

    Where a function takes parameters it is off by another curve with each.
    """
    heights, taken = np.array(halves).swapaxes(0, 1)
    alike = np.abs(heights[0] - heights[1]) < ALIKE * np.abs(heights).max(axis=0)
    most = int(np.argmax(np.where(alike, taken.sum(axis=0), 0.0)))
    high = heights[:, most].mean()
    if not alike[most] or FUNCTIONS[asked].default:
        return ""
    word = "large" if high > 0 else "small"
    return f": by about {abs(high):.2g} too {word} where its argument is near {KNOTS[most]:g}"

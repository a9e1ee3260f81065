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
from .places import is_called
from .proof import SOME
from .steps import Steps, share_left
from .trying import errors_at

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
RIDGE = 1e-3
"""What keeps heights near zero that hardly any state depends on, by the size of slopes."""
BENT = np.array([1.0, 10.0, 1.0]) / 12.0
"""What neighbouring heights count: lines fitted to a bend lie beyond it, by 1/12 of the second difference."""
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
    several = [one for _, one in local.steps_among(left)]
    several = [one for one in several if np.isfinite(one.seen).all() and one.wrong.any()]
    several = [several[place] for place in evenly(np.arange(len(several)), MOST_STEPS).tolist()]
    functions = sorted(frozenset().union(*(one.functions for one in several)))
    each = [one for asked in functions for one in _fitted(asked, several)]
    if len(each) != 1:
        return []
    [(asked, variant, about)] = each
    helped = local.helped([variant], MOST_LEFT, left | done)
    asking, unclipped = np.zeros((2, len(left)), bool)
    for rows, one in local.steps_among(left | done):
        asking[rows] = _asks(one, asked)
        unclipped[rows] = np.isinf(one.stack.semantics.clip).all(axis=(1, 2))
    otherwise = int((asking & done & ~helped).sum())
    explains = int((left & helped).sum())
    if not (left & helped & unclipped).any():  # where all clip, the clip may be wrong
        return []
    finding = Finding(
        names=(variant.name,),
        kind="misreading",
        about=about,
        explains=explains,
        of=len(left),
        certain=explains >= SOME
        and otherwise <= UNHELPED * explains
        and not passing.against(passing.every_block(), [[variant]], CLOSE)[0],
        operator=several[0].part.block.operator,
    )
    return [(finding, left & helped)]


def _fitted(asked: str, several: Sequence[Steps]) -> list[tuple[str, Variant, str]]:
    """Fit a curve to half of the rows; return the function with it if that gives the others."""
    halves: tuple[list[Steps], list[Steps]] = ([], [])
    asking = [one.only(mask) for one in several if (mask := _asks(one, asked)).any()]
    for one in asking:
        rows = np.arange(one.seen.shape[2])
        for half, which in zip(halves, (rows[::2], rows[1::2]), strict=True):
            half += [one.rows(which)] if which.size else []
    if min(sum(int(one.wrong.sum()) for one in half) for half in halves) < FEWEST:
        return []
    (first, taken), (second, besides) = (_heights(asked, half) for half in halves)
    variant = with_curve(asked, first.tolist())
    rest = [errors_at(one, _every(one), one.given([(), (variant,)])) for one in halves[1]]
    if share_left(*np.concatenate(rest, axis=1)) > MOST_LEFT:
        return []
    place = _where(asked, np.array([first, second]), taken + besides)
    return [(asked, variant, f"{asked} computed as another function{place}")]


def _heights(asked: str, several: Sequence[Steps]) -> tuple[Array, Array]:
    """Fit the heights of a curve at KNOTS; return them, and how much of the errors each takes."""
    fit = Fit([(one, _every(one)) for one in several], alike=1.0)
    none = np.zeros(len(KNOTS))
    fitted = fit.improve(Guess(lambda h: (with_curve(asked, h.tolist()),), none, ridge=RIDGE))
    _, by, _ = fit.slopes(moved(fitted))
    return fitted.numbers, np.abs(fitted.numbers) * np.linalg.norm(by, axis=0)


def _every(steps: Steps) -> Array:
    """Mask the states of all steps that there are."""
    return np.broadcast_to(steps.taken[:, None, :, None], steps.seen.shape)


def _asks(steps: Steps, asked: str) -> Array:
    """(n,) which cases ask for a function."""
    meant = steps.stack.semantics
    asks = [is_called(asked, functions) for functions in (meant.f, meant.g)]
    return np.asarray(np.any(asks, axis=(0, 2, 3, 4)))


def _where(asked: str, heights: Array, taken: Array) -> str:
    """Say by how much the function is off where that matters most, of heights that both halves agree on.

    Where a function takes parameters it is off by another curve with each.
    """
    alike = np.abs(heights[0] - heights[1]) < ALIKE * np.abs(heights).max(axis=0)
    most = int(np.argmax(np.where(alike, taken, 0.0)))
    high = float(np.pad(heights.mean(axis=0), 1, mode="edge")[most : most + 3] @ BENT)
    if not alike[most] or FUNCTIONS[asked].default:
        return ""
    word = "large" if high > 0 else "small"
    return f": by about {abs(high):.2g} too {word} where its argument is near {KNOTS[most]:g}"

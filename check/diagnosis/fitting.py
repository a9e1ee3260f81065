"""Numbers in mistakes, fitted to many states at once: weighted least squares, by damped Gauss-Newton steps.

The state after a step is a smooth function of these numbers; slopes are differences of two evaluations of
the one GRU.

Source: Å. Björck, Numerical Methods for Least Squares Problems, 1996, sections 9.2 and 9.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Array
from .steps import Steps
from .trying import Variants, errors_at

DAMPED = (1.0, 0.3, 0.1)
"""The parts of a Gauss-Newton step that are tried; the whole may leave the range of its slopes."""
ROUNDS = 8
"""Maximum Gauss-Newton steps; convergence is quadratic near the solution."""
SLOPE = 2.0**-13
"""The change of a number by which slopes are taken: its square is near float32's precision."""
ENOUGH = 1e-2
"""Minimum share of the cost that a Gauss-Newton step takes; near the solution it takes most of it."""
SMALL = 2.0
"""Maximum error that may be rounding, in units of what is admitted: of two that are compared."""
MOST_STATES = 4000
"""Maximum states that are looked at; more change no number that counts."""
PARTS = (1, 2, 4, 10, 8, 16, 20, 100, 32, 64, 128, 256, 1e3, 1e4, 1e5, 1e6, 1e7)
"""What numbers may be multiples of one part of; the first that does is taken, as people write it."""
LEAST = 1e-6
"""Minimum number that is something; less is within what float32 rounds."""

Term = tuple[str, str]
"""A quantity, and the product that is added to it."""


class Guess(NamedTuple):
    """Variants made with numbers.

    Those `rounded` have no number nearer to 0 than `least`, and if it must be `positive`, none below 0.
    `terms` are what a sum adds. A `ridge`, a share of the slopes, keeps numbers near zero that hardly any
    state depends on.
    """

    make: Callable[[Array], Variants]
    numbers: Array
    terms: tuple[Term, ...] = ()
    ridge: float = 0.0
    least: float = LEAST
    positive: bool = False

    @property
    def variants(self) -> Variants:
        """The variants with these numbers."""
        return self.make(self.numbers)

    @property
    def rounded(self) -> list[Variants]:
        """The variants, those with plain numbers first."""
        each = (np.round(self.numbers * parts) / parts + 0.0 for parts in PARTS)
        sizes = ((one, one if self.positive else np.abs(one)) for one in each)
        return [self.make(one) for one, size in sizes if (size >= self.least).all()]


class Fit:
    """Steps of several groups of cases, each with the states (n, direction, rows, hidden) that count.

    A state that is far off costs hardly more than another: it may have another mistake. The least errors, of
    the share `alike` of the states, say what is far.
    """

    def __init__(self, several: Sequence[tuple[Steps, Array]], alike: float = 0.5) -> None:
        self.several, self._alike = several, alike
        self.states = sum(int(usable.sum()) for _, usable in several)

    def errors(self, tried: Sequence[Variants]) -> Array:
        """(c, states) Compute observed less given, in units of what is admitted."""
        found = [errors_at(steps, usable, steps.given(tried)) for steps, usable in self.several]
        return np.concatenate(found, axis=1)[:, :: max(1, self.states // MOST_STATES)]

    def costs(self, tried: Sequence[Variants], scale: float = SMALL) -> Array:
        """(c,) Compute the cost of what each leaves; errors beyond the scale cost hardly more."""
        return np.asarray(np.log1p((self.errors(tried) / scale) ** 2).mean(axis=1))

    def slopes(self, tried: Sequence[Variants]) -> tuple[Array, Array, float]:
        """(states,) errors of the first one, and (states, others) minus slopes, weighted; and their scale."""
        errors, *others = self.errors(tried)
        scale = max(SMALL, 3.0 * float(np.quantile(np.abs(errors), self._alike)))
        weights = 1.0 / np.sqrt(1.0 + (errors / scale) ** 2)
        return errors * weights, ((errors - others) * weights).T / SLOPE, scale

    def improve(self, one: Guess) -> Guess:
        """Find the numbers of a guess by damped Gauss-Newton steps."""
        for _ in range(ROUNDS):
            errors, by, scale = self.slopes(moved(one))
            ridge = one.ridge * float(np.linalg.norm(by))
            rows = np.vstack([by, ridge * np.eye(len(one.numbers))])
            errors = np.append(errors, -ridge * one.numbers)
            change, *_ = np.linalg.lstsq(rows, errors, rcond=None)
            tried = [one._replace(numbers=one.numbers + part * change) for part in DAMPED]
            before, *costs = self.costs([guess.variants for guess in (one, *tried)], scale).tolist()
            if min(costs) >= (1.0 - ENOUGH) * before:
                break
            one = tried[costs.index(min(costs))]
        return one


def moved(one: Guess) -> list[Variants]:
    """List a guess, and it with each of its numbers changed by SLOPE."""
    moves = [0.0 * one.numbers, *SLOPE * np.eye(len(one.numbers))]
    return [one.make(one.numbers + move) for move in moves]

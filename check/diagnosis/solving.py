"""Solve for what steps have too much or too little of: coefficients, by least squares over many states.

The observed state after a step is a smooth function of what is added to the quantities of the step. So the
terms are chosen greedily by what they take from the error, and their coefficients follow by Gauss-Newton
steps; slopes are differences of two evaluations of the one GRU.

Source: Å. Björck, Numerical Methods for Least Squares Problems, 1996, sections 9.2 and 9.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.sums import PRODUCTS, with_terms
from ...gen.variants.variant import Variant
from .steps import Steps
from .trying import Shares, explains, shares

MOST_TERMS = 3
"""Maximum terms; more fit anything in small cases."""
STATES_EACH = 16
"""Minimum wrong states for each term; a coefficient that few states give explains nothing."""
BEAM = 6
"""Maximum terms that are tried next; the best at first sight may be a part of two others."""
KEPT = 2
"""Maximum sums that are continued by one more term."""
DAMPED = (1.0, 0.3, 0.1)
"""The parts of a Gauss-Newton step that are tried; the whole may leave the range of its slopes."""
ROUNDS = 8
"""Maximum Gauss-Newton steps; convergence is quadratic near the solution."""
SLOPE = 2.0**-13
"""The change of a coefficient by which slopes are taken: its square is near float32's precision."""
LARGEST = 1e12
"""Maximum error in units of what is admitted; squares of larger ones overflow."""
DIGITS = 8
"""Maximum digits after the point, less one; float32 has no more. The fewest that do are taken."""
FEWEST = 2e-3
"""Minimum coefficient; less is within what roundings do."""

Term = tuple[str, str]
"""A quantity, and the product that is added to it."""
TERMS: Sequence[Term] = [(target, one) for target, some in PRODUCTS.items() for one in some]


def solved(steps: Steps) -> Shares:
    """Find the terms that give every wrong state of some case, and such as may be a part of them.

    They are one variant for each quantity that has terms, with their `shares`.
    """
    usable = steps.wrong & np.isfinite(steps.seen) & np.isfinite(steps.right)
    most = min(MOST_TERMS, int(usable.sum()) // STATES_EACH)
    if most:
        yield from _Problem(steps, usable).solve(most)


class _Problem:
    """Steps whose states at `usable` are to be given by terms."""

    def __init__(self, steps: Steps, usable: Array) -> None:
        self._steps, self._usable = steps, usable
        self._scale = 1.0 / np.maximum(steps.limits[usable], 1e-30)

    def solve(self, most: int) -> Shares:
        """Add one term after another until a case is explained."""
        best: list[tuple[float, list[Term], Array]] = [(np.inf, [], np.zeros(0))]
        for _ in range(most):
            more = [
                self._fit([*terms, term], np.append(numbers, 0.0))
                for _, terms, numbers in best
                for term in self._promising(terms, numbers)
            ]
            best = sorted(more, key=lambda one: one[0])[:KEPT]
            each = [_rounded(terms, numbers) for _, terms, numbers in best]
            tried = [variants for one in each for variants in one]
            cases = explains(self._steps, tried).sum(axis=1) if tried else np.zeros(1)
            if cases.any():
                yield tried[int(np.argmax(cases))], 1.0
                return
            yield from shares(self._steps, [one[0] for one in each if one])

    def _errors(self, several: Sequence[tuple[Sequence[Term], Array]]) -> Array:
        """(c, states) observed less given, in units of what is admitted, for each of several sums."""
        given = self._steps.given([_variants(*one) for one in several])
        off = (self._steps.seen - given)[:, self._usable] * self._scale
        return np.nan_to_num(np.clip(off, -LARGEST, LARGEST))

    def _slopes(
        self, terms: Sequence[Term], numbers: Array, by: Sequence[Term]
    ) -> tuple[Array, Array]:
        """(states,) errors, and (states, terms) minus their slopes by some terms, weighted."""
        moved = [([*terms, one], np.append(numbers, SLOPE)) for one in by]
        errors, *others = self._errors([(terms, numbers), *moved])
        weights = 1.0 / np.sqrt(1.0 + (errors / max(2.0, 3.0 * np.median(np.abs(errors)))) ** 2)
        return errors * weights, ((errors - others) * weights).T / SLOPE

    def _promising(self, terms: Sequence[Term], numbers: Array) -> list[Term]:
        """List the terms that take most of the error, by its slopes."""
        errors, slopes = self._slopes(terms, numbers, TERMS)
        mine = [TERMS.index(one) for one in terms]
        basis, _ = np.linalg.qr(slopes[:, mine])
        rest = slopes - basis @ (basis.T @ slopes)
        size, whole = (rest**2).sum(axis=0), (slopes**2).sum(axis=0)
        gain = np.where(size > 1e-6 * whole, (rest.T @ errors) ** 2 / np.maximum(size, 1e-300), 0)
        return [TERMS[at] for at in np.argsort(-gain)[:BEAM] if gain[at] > 0 and at not in mine]

    def _fit(self, terms: list[Term], numbers: Array) -> tuple[float, list[Term], Array]:
        """Find the coefficients of terms by damped Gauss-Newton steps; return what is left, too."""
        cost = np.inf
        for _ in range(ROUNDS):
            errors, slopes = self._slopes(terms, numbers, terms)
            change, *_ = np.linalg.lstsq(slopes, errors, rcond=None)
            several = [numbers + part * change for part in DAMPED]
            costs = [self._cost(one) for one in self._errors([(terms, one) for one in several])]
            least = int(np.argmin(costs))
            if not costs[least] < cost - 1e-9:
                break
            cost, numbers = costs[least], several[least]
        return cost, terms, numbers

    @staticmethod
    def _cost(errors: Array) -> float:
        return float(np.mean(np.log1p((errors / 2.0) ** 2)))


def _rounded(terms: Sequence[Term], numbers: Array) -> list[tuple[Variant, ...]]:
    """Make the variants with coefficients of few digits first."""
    each = (np.round(numbers, digits) for digits in range(DIGITS))
    return [_variants(terms, one) for one in each if (np.abs(one) >= FEWEST).all()]


def _variants(terms: Sequence[Term], numbers: Array) -> tuple[Variant, ...]:
    """Make one variant for each quantity that has terms."""
    each: dict[str, dict[str, float]] = {}
    for (target, product), number in zip(terms, numbers.tolist(), strict=True):
        of = each.setdefault(target, {})
        of[product] = of.get(product, 0.0) + number
    return tuple(with_terms(target, of) for target, of in each.items())

"""Solve for what steps have too much or too little of: coefficients, by least squares over many states.

The observed state after a step is a smooth function of what is added to the quantities of the step. So the
terms are chosen greedily, by how much of the error they take, and their coefficients follow by Gauss-Newton
steps; slopes are differences of two evaluations of the one GRU.

Source: Å. Björck, Numerical Methods for Least Squares Problems, 1996, sections 9.2 and 9.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.sums import PRODUCTS, with_terms
from .steps import Steps
from .trying import Variants, errors_at, explains, shares

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
CLEARLY = 1e-3
"""Minimum by which a Gauss-Newton step must lower the cost; less changes no coefficient that counts."""
PARTS = (1, 2, 4, 10, 8, 16, 20, 100, 32, 64, 128, 256, 1e3, 1e4, 1e5, 1e6, 1e7)
"""What coefficients may be multiples of one part of; the first that does is taken, as people write it."""
FEWEST = 1e-6
"""Minimum coefficient; less is within what float32 rounds."""

Term = tuple[str, str]
"""A quantity, and the product that is added to it."""
TERMS: Sequence[Term] = [(target, one) for target, some in PRODUCTS.items() for one in some]


def solved(several: Sequence[Steps]) -> list[tuple[Variants, Array]]:
    """Find the terms that give every wrong state of some case, or such as may be a part of them.

    They are one variant for each quantity that has terms. Beside them (steps,) stand their `shares` of each.
    """
    if not several:
        return []
    problem = _Problem(several)
    return list(problem.solve(min(MOST_TERMS, problem.states // STATES_EACH)))


class _Sum(NamedTuple):
    """Terms with their coefficients, and the cost of what they leave."""

    terms: tuple[Term, ...] = ()
    numbers: Array = np.zeros(0)
    cost: float = np.inf

    def having(self, term: Term, number: float) -> _Sum:
        """Add a term."""
        return _Sum((*self.terms, term), np.append(self.numbers, number))

    def variants(self, numbers: Array) -> Variants:
        """Make one variant for each quantity that has terms, with these coefficients."""
        each: dict[str, dict[str, float]] = {}
        for (target, product), number in zip(self.terms, numbers.tolist(), strict=True):
            of = each.setdefault(target, {})
            of[product] = of.get(product, 0.0) + number
        return tuple(with_terms(target, of) for target, of in each.items())

    @property
    def rounded(self) -> list[Variants]:
        """The variants, those with plain coefficients first."""
        each = (np.round(self.numbers * parts) / parts for parts in PARTS)
        return [self.variants(one) for one in each if (np.abs(one) >= FEWEST).all()]


class _Problem:
    """Steps of several groups of cases, whose states at `usable` are to be given by terms."""

    def __init__(self, several: Sequence[Steps]) -> None:
        known = [np.isfinite(one.seen) & np.isfinite(one.right) for one in several]
        usable = [one.wrong & here for one, here in zip(several, known, strict=True)]
        self.states = sum(int(mask.sum()) for mask in usable)
        if self.states < MOST_TERMS * STATES_EACH:  # a small error shows in few, and is in all
            usable = [
                here & one.taken[:, None, :, None] for one, here in zip(several, known, strict=True)
            ]
            self.states = sum(int(mask.sum()) for mask in usable)
        self._several = list(zip(several, usable, strict=True))

    def solve(self, most: int) -> Iterator[tuple[Variants, Array]]:
        """Add one term after another until a case is explained."""
        best = [_Sum()]
        for _ in range(most):
            slopes = self._slopes([(one, TERMS) for one in best])
            more = [
                one.having(term, 0.0)
                for one, (errors, by) in zip(best, slopes, strict=True)
                for term in _promising(one, errors, by)
            ]
            best = sorted(self._fit(more), key=lambda one: one.cost)[:KEPT]
            each = [one.rounded for one in best]
            tried = [variants for one in each for variants in one]
            if not tried:
                return
            cases = sum(explains(steps, tried).sum(axis=1) for steps, _ in self._several)
            found = (
                [tried[int(np.argmax(cases))]] if cases.any() else [one[0] for one in each if one]
            )
            given = [[share for _, share in shares(steps, found)] for steps, _ in self._several]
            yield from zip(found, np.array(given).T, strict=True)
            if cases.any():
                return

    def _errors(self, several: Sequence[_Sum]) -> Array:
        """(c, states) Compute observed less given, in units of what is admitted, for each of several sums."""
        sums = [one.variants(one.numbers) for one in several]
        found = [errors_at(steps, usable, sums) for steps, usable in self._several]
        return np.concatenate(found, axis=1)

    def _slopes(
        self, several: Sequence[tuple[_Sum, Sequence[Term]]]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield (states,) errors of each sum, and (states, terms) minus slopes by terms, both weighted."""
        moved = [
            one for sum_, by in several for one in (sum_, *(sum_.having(t, SLOPE) for t in by))
        ]
        found, start = self._errors(moved), 0
        for _, by in several:
            errors, *others = found[start : (start := start + 1 + len(by))]
            scale = max(2.0, 3.0 * float(np.median(np.abs(errors))))
            weights = 1.0 / np.sqrt(1.0 + (errors / scale) ** 2)
            yield errors * weights, ((errors - others) * weights).T / SLOPE

    def _fit(self, several: Sequence[_Sum]) -> list[_Sum]:
        """Find the coefficients of sums by damped Gauss-Newton steps."""
        fitted, improving = list(several), list(range(len(several)))
        for _ in range(ROUNDS):
            if not improving:
                break
            tried = []
            slopes = self._slopes([(fitted[at], fitted[at].terms) for at in improving])
            for at, (errors, by) in zip(improving, slopes, strict=True):
                change, *_ = np.linalg.lstsq(by, errors, rcond=None)
                one = fitted[at]
                tried += [one._replace(numbers=one.numbers + part * change) for part in DAMPED]
            costs = np.mean(np.log1p((self._errors(tried) / 2.0) ** 2), axis=1).tolist()
            before, improving = improving, []
            for number, at in enumerate(before):
                parts = range(number * len(DAMPED), (number + 1) * len(DAMPED))
                least = min(parts, key=lambda part: costs[part])
                if costs[least] < fitted[at].cost - CLEARLY:
                    fitted[at] = tried[least]._replace(cost=costs[least])
                    improving.append(at)
        return fitted


def _promising(one: _Sum, errors: Array, slopes: Array) -> list[Term]:
    """List the terms that take most of the error, by its slopes, besides those of a sum."""
    mine = [TERMS.index(term) for term in one.terms]
    basis, _ = np.linalg.qr(slopes[:, mine])
    rest = slopes - basis @ (basis.T @ slopes)
    size, whole = (rest**2).sum(axis=0), (slopes**2).sum(axis=0)
    gain = np.where(size > 1e-6 * whole, (rest.T @ errors) ** 2 / np.maximum(size, 1e-300), 0)
    return [TERMS[at] for at in np.argsort(-gain)[:BEAM] if gain[at] > 0 and at not in mine]

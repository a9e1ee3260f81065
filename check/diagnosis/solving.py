"""Solve for what steps have too much or too little of, and for the number of a family.

Terms are chosen greedily, by how much of the error they take, and families by how little the best of a few
numbers leaves; then the numbers of all are fitted (`fitting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.families import FAMILIES, Family
from ...gen.variants.sums import PRODUCTS, with_terms
from .fitting import LEAST, SLOPE, Fit, Guess, Term
from .steps import Steps
from .trying import Variants, errors_at, explains

MOST_TERMS = 3
"""Maximum terms; more fit anything in small cases."""
STATES_EACH = 16
"""Minimum wrong states for each term; a coefficient that few states give explains nothing."""
BEAM = 6
"""Maximum terms that are tried next; the best at first sight may be a part of two others."""
KEPT = 2
"""Maximum sums that are continued by one more term."""
FEWEST_WRONG = 4
"""Minimum states for the number of a family; fewer fit many numbers."""
CLEARLY = 1e-3
"""Minimum by which costs differ; numbers of less difference are equally good."""
BEST = 8
"""Maximum families that are looked at closer; the right one is among the best with a number near its own."""

TERMS: Sequence[Term] = [(target, one) for target, some in PRODUCTS.items() for one in some]


def solved(several: Sequence[Steps]) -> list[Variants]:
    """Find terms or a number that give every wrong state of some case, or a part of that."""
    if not several:
        return []
    known = [np.isfinite(one.seen) & np.isfinite(one.right) for one in several]
    usable = [one.wrong & here for one, here in zip(several, known, strict=True)]
    if sum(int(mask.sum()) for mask in usable) < MOST_TERMS * STATES_EACH:
        # a small error shows in few states
        taken = (one.taken[:, None, :, None] for one in several)
        usable = [mask & here for mask, here in zip(taken, known, strict=True)]
    fit = Fit(list(zip(several, usable, strict=True)))
    return [*_sums(fit), *(_members(fit) if fit.states >= FEWEST_WRONG else ())]


def _sums(fit: Fit) -> Iterator[Variants]:
    """Add one term after another until a case is explained."""
    best = [Guess(partial(_variants, ()), np.zeros(0))]
    for _ in range(min(MOST_TERMS, fit.states // STATES_EACH)):
        more = []
        for one in best:
            errors, by, _ = fit.slopes([_with(one, ()), *(_with(one, (t,)) for t in TERMS)])
            numbers = np.append(one.numbers, 0.0)
            for term in _promising(one, errors, by):
                terms = (*one.terms, term)
                more.append(fit.improve(Guess(partial(_variants, terms), numbers, terms)))
        if not more:
            return
        costs = np.round(fit.costs([one.variants for one in more]), 6)  # equal but for rounding
        best = [more[at] for at in np.argsort(costs, kind="stable")[:KEPT].tolist()]
        each = [one.rounded for one in best]
        tried = [variants for one in each for variants in one]
        if not tried:
            return
        cases = sum(explains(steps, tried).sum(axis=1) for steps, _ in fit.several)
        if cases.any():
            yield tried[int(np.argmax(cases))]
            return
        yield from (one[0] for one in each if one)


def _with(one: Guess, terms: tuple[Term, ...]) -> Variants:
    """Make the variants of a sum, with terms besides, a little of each."""
    return _variants((*one.terms, *terms), np.append(one.numbers, [SLOPE] * len(terms)))


def _variants(terms: Sequence[Term], numbers: Array) -> Variants:
    """Make one variant for each quantity that has terms, with these coefficients."""
    each: dict[str, dict[str, float]] = {}
    for (target, product), number in zip(terms, numbers.tolist(), strict=True):
        of = each.setdefault(target, {})
        of[product] = of.get(product, 0.0) + number
    return tuple(with_terms(target, of) for target, of in each.items())


def _promising(one: Guess, errors: Array, slopes: Array) -> list[Term]:
    """List the terms that take most of the error, by its slopes, besides those of a sum."""
    mine = [TERMS.index(term) for term in one.terms]
    basis, _ = np.linalg.qr(slopes[:, mine])
    rest = slopes - basis @ (basis.T @ slopes)
    size, whole = (rest**2).sum(axis=0), (slopes**2).sum(axis=0)
    gain = np.where(size > 1e-6 * whole, (rest.T @ errors) ** 2 / np.maximum(size, 1e-300), 0)
    return [TERMS[at] for at in np.argsort(-gain)[:BEAM] if gain[at] > 0 and at not in mine]


def _members(fit: Fit) -> Iterator[Variants]:
    """Fit the numbers of the families of which a number leaves least; yield that with the fewest digits.

    Which these are, the first group tells that can tell a family.
    """
    best: dict[str, tuple[float, float]] = {}
    for steps, usable in fit.several:
        tried = [
            (name, number)
            for name, family in FAMILIES.items()
            if name not in best
            and steps.has_all([family.member(1.0)])
            and steps.tells(family.needs)
            for number in family.form.tried
        ]
        members = [(FAMILIES[name].member(number),) for name, number in tried]
        errors = errors_at(steps, usable, steps.given([(), *members]))
        nothing, *left = np.maximum(np.abs(errors).sum(axis=1), 1e-300).tolist()
        for (name, number), rest in zip(tried, left, strict=True):
            best[name] = min(best.get(name, (1.0, number)), (rest / nothing, number))
    order = sorted((rest, name, number) for name, (rest, number) in best.items() if rest < 1.0)
    for _, name, number in order[:BEST]:
        one = _member(FAMILIES[name], number)
        one = fit.improve(one) if FAMILIES[name].form.fitted else one
        if not (rounded := one.rounded):  # a limit of nothing, or below it, is no limit
            continue
        cases = sum(explains(steps, rounded).sum(axis=1) for steps, _ in fit.several)
        costs = fit.costs(rounded)
        near = costs <= costs.min() + CLEARLY
        yield rounded[int(np.argmax(cases if cases.any() else near))]


def _member(family: Family, number: float) -> Guess:
    """Guess a member of a family; its number may be below 0 only if such numbers are tried."""
    tried = family.form.tried
    return Guess(
        lambda some: (family.member(float(some[0])),),
        np.array([number]),
        least=0.0 if 0.0 in tried else LEAST,
        positive=min(tried) >= 0.0,
    )

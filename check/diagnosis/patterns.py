"""What is off by a little in every step, where nothing explains it, from how large the residuals are.

A residual is an observed state less the exact one, a step after the observed state before it. What is off
by some e leaves residuals as large as e times the sensitivity of the step to it (`sensitivity`): a pattern of
large and small ones, known but for one factor. The factors of all patterns are fitted together, as variances
that add up; a function has one for each range of its argument. A pattern is told if it alone fits as well as
all together do, if all others without it fit clearly less well, and if no residuals are far too large for it.
A fast product of 1 - z and the candidate looks as a fast tanh does, where no other function is asked for.

Source of the fit: C. Févotte, N. Bertin and J.-L. Durrieu, Nonnegative matrix factorization with the
Itakura-Saito divergence, Neural Computation 21, 2009. Of the idea: cuDNN 9.19 on an H100, whose tanh in
float32 is off by up to 7.5e-6, and all else as good as it can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.operators.activations import FUNCTIONS
from .constant import CONSTANTS, fitted, made_of
from .failing import evenly
from .sensitivity import Quantity, squares_of
from .steps import Steps

MOST_GROUPS, MOST_CASES, MOST_ROWS, MOST_STATES = 48, 12, 16, 6000
"""So many groups of cases are looked at, so many cases of each, rows of these, and states of all groups."""
FEW_GROUPS = 12
"""A constant error is the same in all groups, and is looked for in so many."""
FEWEST = 200
"""Of fewer states nothing is told: there are some fifty factors."""
ROUNDS = 100
"""How often the factors are improved: by then no fit becomes clearly better."""
CLEARLY = 3.0 * math.sqrt(0.5 / MOST_STATES)
"""By how much a pattern alone may fit less well than all together; by how much all others must without it.
The mean log-likelihood of so many normal residuals is off by no more: three standard deviations of it."""
CHANCE = 0.5
"""Each factor that is fitted makes the log-likelihood of all states together so much larger by chance.
Source: S. Wilks, The large-sample distribution of the likelihood ratio for testing composite hypotheses,
Annals of Mathematical Statistics 9, 1938."""
SIZES = np.arange(-5.0, 3.1, 0.2)
"""Logarithms of residuals, in units of what a fit says, are counted between these."""
OWN = 0.99
"""Of a residual's variance a pattern makes so much, or more, if the residual is its own: the rest adds a
tenth to its size, the root of what is left."""
HEAVY = 6.0
"""Residuals have a heavy tail if their fourth moment is so many times the square of the second, or more, each
in units of what a fit says. It is 3 of normal ones, and 3/p where only a share p of the states is off: at
least half of them must be."""
SMALL = 0.01
"""What is off by more is no more off by a little: the search for a number tries a tenth of that already."""
GATES = ("z", "r")
"""Quantities that a function gives: where they fit, the function is not refuted."""
ROUNDED = {"state": "the new state", "products": "the operands of products", "biases": "the biases"}
"""What may be rounded to fewer bits, by the name of the quantity."""
CONSTANT = 0.1
"""Where one constant error leaves no more of the errors, it is that: rounding on top of it leaves less."""
_TO_ZERO = ("cut off", "rounded away from zero")
ONE_WAY = {
    "state": {
        made_of("state-scaled"): _TO_ZERO,
        made_of("state-shifted"): ("rounded down", "rounded up"),
    },
    "products": {made_of("w-zrh-scaled", "r-zrh-scaled"): _TO_ZERO},
    "biases": {made_of("b-zrh-scaled"): _TO_ZERO},
}
"""What rounding that goes one way is like, by what is rounded: a constant error below 0, or one above it."""
LEANING = 0.9
"""Errors go one way if they lean as much: 19 in 20 by their size do."""
TWO_ROUNDED = 3.0**-0.5
"""Where both operands are rounded, the root mean square of a product's relative error is so much of what one
operand is off by at most, if significands are spread evenly."""


@dataclass(frozen=True)
class _Fit:
    """The factors of some quantities, and the variances that they make. How well these fit is the
    log-likelihood of a state, if residuals are normal, and the entropy of their sizes in units of what is
    said; both as they are without what so many factors do by chance."""

    factors: Array
    variances: Array
    likelihood: float
    entropy: float

    def behind(self, other: _Fit) -> float:
        """By how much it fits less well than another, in the one way or the other."""
        return max(other.likelihood - self.likelihood, self.entropy - other.entropy)


@dataclass(frozen=True)
class _Residuals:
    """Of some states the residuals (states,), their variances where all is but rounded, and `squares`
    (states, quantities), what each quantity adds to these if it is off by 1. `unit` is that of rounding."""

    quantities: Sequence[Quantity]
    off: Array
    rounding: Array
    squares: Array
    unit: float

    def called(self, *names: str) -> Array:
        """(quantities,) which have one of these names."""
        return np.array([name in names for name, _ in self.quantities], bool)

    @cached_property
    def whole(self) -> _Fit:
        """The fit of all quantities."""
        return self.fit(self.squares)

    def without(self, *names: str) -> _Fit:
        """The fit of all quantities but those of these names."""
        return self.fit(self.squares[:, ~self.called(*names)])

    def fit(self, squares: Array) -> _Fit:
        """The likeliest variances that are sums of these (states, factors), and of what rounding makes."""
        energy = self.off**2
        scale = np.maximum(squares.mean(axis=0), 1e-300)
        squares = squares / scale
        count = squares.shape[1]
        factors = np.full(count, energy.mean() / max(count, 1))
        for _ in range(ROUNDS):
            inverse = 1.0 / (squares @ factors + self.rounding)
            factors *= (squares.T @ (energy * inverse**2)) / (squares.T @ inverse)
        variances = squares @ factors + self.rounding
        likelihood = -0.5 * float(np.mean(np.log(variances) + energy / variances))
        sizes = 0.5 * np.log(np.maximum(energy / variances, 1e-300))
        counts, _ = np.histogram(np.clip(sizes, SIZES[0], SIZES[-1]), SIZES)
        shares = counts[counts > 0] / len(energy)
        entropy = -float(shares @ np.log(shares))
        chance = CHANCE * count / len(energy)
        return _Fit(factors / scale, variances, likelihood - chance, entropy + chance)

    def suffices(self, alone: _Fit) -> bool:
        """Whether a pattern alone fits as well as all together, and no residuals are far too large for it."""
        energy = self.off**2 / alone.variances
        heavy = float(np.mean(energy**2)) >= HEAVY * float(np.mean(energy)) ** 2
        return not heavy and alone.behind(self.whole) <= CLEARLY

    def largest(self, fit: _Fit, made: Array, squares: Array) -> float:
        """By how much something is off, by the residuals whose variances it has `made`, and nothing else."""
        own = made >= OWN * fit.variances
        size = np.sqrt(np.maximum(squares[own], 1e-300))
        return float(np.max(np.abs(self.off[own]) / size, initial=0.0))


def pattern(several: Sequence[Steps]) -> str:
    """What is off by a little in every step, in words; nothing if no pattern fits clearly."""
    some = list(_some(several))
    residuals = _residuals(some)
    if residuals is None:
        return ""
    told = _of_constant(some) or _of_functions(residuals) or _of_rounding(residuals, some)
    return f"every step is off by a little, as if {told}" if told else ""


def constant(several: Sequence[Steps]) -> str:
    """What is off by a constant in every step, in words; nothing if that does not fit clearly."""
    some = list(_some(several))
    return _of_constant(some) if some else ""


def _of_functions(residuals: _Residuals) -> str:
    """That functions are approximated, and by how much they are off: the fewest that suffice together."""
    needed = list(takewhile(_is_curved, _needed(residuals)))
    for count in range(1, len(needed) + 1):
        mine = residuals.called(*needed[:count])
        alone = residuals.fit(residuals.squares[:, mine])
        if residuals.suffices(alone):
            return _approximated(residuals, alone, needed[:count])
    return ""


def _approximated(residuals: _Residuals, alone: _Fit, names: Sequence[str]) -> str:
    """That these functions are, whose fit `alone` is."""
    sizes = []
    for name in names:
        own = residuals.called(name)
        squares = residuals.squares[:, own]
        made = squares @ alone.factors[own[residuals.called(*names)]]
        sizes.append(residuals.largest(alone, made, squares.sum(axis=1)))
    if not all(residuals.unit < size < SMALL for size in sizes):
        return ""
    each = [f"{name} were off by up to {size:.2g}" for name, size in zip(names, sizes, strict=True)]
    asked = "is it" if len(names) == 1 else "are they"
    return (
        f"{' and '.join(each)}: {asked} approximated (a table, a polynomial, a fast instruction)?"
    )


def _needed(residuals: _Residuals) -> list[str]:
    """The functions without which all other patterns fit clearly less well, the worst missed first."""
    whole = residuals.without(*GATES)
    asked = [name for name in FUNCTIONS if residuals.called(name).any()]
    missed = {name: residuals.without(name, *GATES).behind(whole) for name in asked}
    return sorted((n for n in asked if missed[n] > CLEARLY), key=lambda name: -missed[name])


def _is_curved(name: str) -> bool:
    """Whether a function is one that is approximated: those of straight pieces are computed as they are."""
    return FUNCTIONS[name].shape(1.0, 1.0).second > 0.0


def _of_constant(several: Sequence[Steps]) -> str:
    """That every step has one constant error, and of what, if hardly any error is left without it."""
    several = [several[place] for place in evenly(np.arange(len(several)), FEW_GROUPS).tolist()]
    best = min(fitted(CONSTANTS, several), key=lambda one: one.left)
    if best.left > CONSTANT or abs(best.number) >= SMALL:
        return ""
    return best.constant.in_words(best.number, several[0])


def _of_rounding(residuals: _Residuals, several: Sequence[Steps]) -> str:
    """That something is rounded to fewer bits, and to how many."""
    for name, what in ROUNDED.items():
        squares = residuals.squares[:, residuals.called(name)].sum(axis=1)
        alone = residuals.fit(squares[:, None])
        if not residuals.suffices(alone):
            continue
        if residuals.without(name).behind(residuals.whole) <= CLEARLY:
            continue
        size = residuals.largest(alone, squares * alone.factors, squares)
        if name == "products":
            size = float(np.sqrt(alone.factors[0])) / TWO_ROUNDED
        if residuals.unit < size < SMALL:
            way = _one_way(name, several)
            bits = -np.log2(size / 2.0 if way else size)  # by a whole unit, not by half of one
            return f"{what} were {way or 'rounded'} to about {bits:.0f} bits"
    return ""


def _one_way(name: str, several: Sequence[Steps]) -> str:
    """How something is rounded whose errors all go one way; nothing if they go both ways."""
    for one in fitted(list(ONE_WAY[name]), several):
        if abs(one.lean) >= LEANING:
            return ONE_WAY[name][one.constant][one.lean > 0]
    return ""


def _residuals(several: Sequence[Steps]) -> _Residuals | None:
    """Those of some states of these steps; None where there are too few."""
    found = [_of(steps, MOST_STATES // len(several)) for steps in several]
    if sum(len(off) for off, _, _ in found) < FEWEST:
        return None
    quantities = list(dict.fromkeys(one for _, _, squares in found for one in squares))
    off, units = (np.concatenate(each) for each in list(zip(*found, strict=True))[:2])
    table = [
        np.stack([squares.get(one, np.zeros_like(off)) for one in quantities], axis=1)
        for off, _, squares in found
    ]
    squares = np.concatenate(table)
    rounding = squares.sum(axis=1) * units**2 / 3.0 + 1e-300
    there = np.asarray(squares.any(axis=0))
    kept = [one for one, some in zip(quantities, there, strict=True) if some]
    return _Residuals(kept, off, rounding, squares[:, there], float(units.max()))


def _some(several: Sequence[Steps]) -> Iterator[Steps]:
    """Some rows of some cases of some of the steps."""
    for place in evenly(np.arange(len(several)), MOST_GROUPS).tolist():
        some = several[place].only(evenly(np.arange(len(several[place].seen)), MOST_CASES))
        yield some.rows(evenly(np.arange(some.seen.shape[2]), MOST_ROWS))


def _of(steps: Steps, most: int) -> tuple[Array, Array, dict[Quantity, Array]]:
    """Of some states of steps: the residuals, the units of rounding, and what quantities leave there."""
    with np.errstate(all="ignore"):
        off, squares = steps.seen - steps.right, squares_of(steps)
    finite = np.isfinite(off) & steps.taken[:, None, :, None]
    for one in squares.values():
        finite &= np.isfinite(one)
    states = evenly(np.flatnonzero(finite), most)
    unit = 2.0 ** -FLOAT_TYPES[steps.part.block.dtype].precision
    left = {quantity: one.ravel()[states] for quantity, one in squares.items()}
    return off.ravel()[states], np.full(len(states), unit), left

"""One constant error of every step: a quantity or an input that is off by a share of itself, or by an amount.

Such an error is one number, which is solved for from the steps. What has more numbers fits it as well: a
curve that is added to a function does where values are large, and so does rounding where sizes alone are
looked at. Errors count in units of what is admitted of a state: those of small states too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...gen.variants.expressions import QUANTITIES
from ...gen.variants.families import FAMILIES, Family
from ...gen.variants.variant import Variant
from .steps import Steps, share_left

DIFFERENCE = 1e-4
"""The number by which a slope is taken."""
LARGEST = 1e100
"""What is off by more units of what is admitted counts as right: no square of it overflows."""


@dataclass(frozen=True)
class Constant:
    """Families whose members with one number together make a constant error."""

    families: tuple[Family, ...]

    @property
    def scales(self) -> bool:
        """Whether it is a share of what is off, not an amount."""
        return self.families[0].form.name == "scaled"

    def of(self, number: float) -> tuple[Variant, ...]:
        """What is off by a number."""
        return tuple(family.member(self.scales + number) for family in self.families)

    def means_something_for(self, steps: Steps) -> bool:
        """Whether the operator of some steps has what is off."""
        return steps.has_all(self.of(1.0))

    def in_words(self, number: float, steps: Steps) -> str:
        """What is off by a number, in words that complete "as if …"."""
        operator = OPERATORS[steps.part.block.operator]
        subjects = [Variant("", family.subject).about_for(operator) for family in self.families]
        sign = "+" if number > 0 else "-"
        by = f"multiplied by 1 {sign} {abs(number):.2g}" if self.scales else f"off by {number:.2g}"
        return f"{' and '.join(subjects)} were {by}"


def made_of(*names: str) -> Constant:
    """That of the families of these names."""
    return Constant(tuple(FAMILIES[name] for name in names))


def _constants() -> Iterator[Constant]:
    for name in QUANTITIES:
        yield made_of(f"{name}-scaled")
        yield made_of(f"{name}-shifted")
    for names in (("x",), ("w-zrh",), ("r-zrh",), ("w-zrh", "r-zrh")):
        yield made_of(*(f"{name}-scaled" for name in names))


CONSTANTS = tuple(_constants())
"""What may be off: each quantity of a step, the input, and weights, those of the input and of the state at
once too."""


@dataclass(frozen=True)
class FittedConstant:
    """A constant error, and the number that leaves least of the errors of some steps, by least squares: of
    their sum what share it leaves in others, and from -1 to 1 how much they all go the way of a number above
    0, or of one below it."""

    constant: Constant
    number: float
    left: float
    lean: float


def fitted(
    constants: Sequence[Constant], steps: Sequence[Steps], others: Sequence[Steps] = ()
) -> list[FittedConstant]:
    """Each constant error that means something for all these steps, as it is in them; what it leaves, in
    `others`, if there are any. To first order: such an error is small."""
    kept = [one for one in constants if all(map(one.means_something_for, steps))]
    nudged = [(), *(one.of(DIFFERENCE) for one in kept)]
    off, slopes = _along(nudged, steps)
    numbers = (slopes @ off) / np.maximum((slopes**2).sum(axis=1), 1e-300)
    each = slopes * off
    leans = each.sum(axis=1) / np.maximum(np.abs(each).sum(axis=1), 1e-300)
    if others:
        off, slopes = _along(nudged, others)
    left = share_left(off, off - numbers[:, None] * slopes)
    found = zip(kept, numbers.tolist(), left.tolist(), leans.tolist(), strict=True)
    return [FittedConstant(*one) for one in found]


def left_by(variants: Sequence[Variant], steps: Sequence[Steps]) -> float:
    """The share of the errors of some steps that is left under variants together."""
    return float(share_left(*_errors([(), variants], steps)))


def _along(nudged: Sequence[Sequence[Variant]], steps: Sequence[Steps]) -> tuple[Array, Array]:
    """Errors (states,), and (c, states) by how much each is larger, for each of what is off by DIFFERENCE."""
    errors = _errors(nudged, steps)
    return errors[0], (errors[0] - errors[1:]) / DIFFERENCE


def _errors(several: Sequence[Sequence[Variant]], steps: Sequence[Steps]) -> Array:
    """(c, states) observed less given under combinations of variants, in units of what is admitted."""
    found = []
    for one in steps:
        taken = np.broadcast_to(one.taken[:, None, :, None], one.seen.shape)
        with np.errstate(all="ignore"):
            units = (one.seen - one.given(several)) / np.maximum(one.limits, 1e-300)
        found.append(units[:, taken])
    errors = np.concatenate(found, axis=1)
    return np.where(np.abs(errors) <= LARGEST, errors, 0.0)  # NaN is not <= it

"""Noise: how large errors are in all, as a multiple of what the roundings of an arithmetic make.

A tolerance admits the worst that roundings can add up to, and they hardly ever do. TOLERANCES.md, "Noise",
derives how large they usually are, and how much larger they are once in 10⁹ reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import GruInputs, shared_outputs
from ...cases.operators.readings import ReadingNames, as_read
from ...cases.operators.semantics import StackedSemantics
from ...gen.gru import gru
from ...gen.stacks import Float64, stacks
from ...gen.tolerances.classes import CLASSES
from ...gen.tolerances.spread import Spread, last_spread
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.fields import FIELDS, GATES
from ...vectors.block import Block
from .single_steps import SingleSteps

DTYPES = ("float16", "bfloat16")
"""The dtypes whose roundings are far larger than the errors of the functions."""
FALSE_ALARM = 1e-9
"""Maximum probability that a report says too much of a right implementation."""


LOSSES = [one for one in FIELDS if "-zrh-in-8-bits-" in one.name]
LOSSES += [CATALOGUE[f"bias-{gate}-ignored"] for gate in GATES]
"""Mistakes whose errors may be smaller than those of an arithmetic. But they have a known direction."""
MOST_WORK = 1e10
"""Maximum multiplications to find the spread of last states; more take longer than a second."""


@dataclass(frozen=True)
class Noise:
    """The errors of the states of a case, or of several, each divided by its standard deviation.

    `squares` is the sum of their squares. `together` is the largest sum, over the units of one step of a row,
    of the shares of their variances that they may have in common. For each of LOSSES, whose errors are
    divided likewise, `along` is the sum of products with them, `own` the sum of their squares.
    """

    squares: float = 0.0
    elements: int = 0
    together: float = 0.0
    along: tuple[float, ...] = (0.0,) * len(LOSSES)
    own: tuple[float, ...] = (0.0,) * len(LOSSES)

    def __add__(self, other: Noise) -> Noise:
        return Noise(
            self.squares + other.squares,
            self.elements + other.elements,
            max(self.together, other.together),
            tuple(map(sum, zip(self.along, other.along, strict=True))),
            tuple(map(sum, zip(self.own, other.own, strict=True))),
        )

    def as_text(self) -> str:
        """Write the numbers in a text that `noise_of` reads."""
        return " ".join(
            map(repr, (self.squares, self.elements, self.together, *self.along, *self.own))
        )

    @property
    def ratio(self) -> float:
        """The root mean square; 1 is what roundings make at most."""
        return math.sqrt(self.squares / max(1, self.elements))

    @property
    def norm(self) -> float:
        """A bound of the norm of the errors' covariance, proven in TOLERANCES.md."""
        return 2.0 * (1.0 + self.together)

    def limit(self, tests: int) -> float:
        """Find the ratio that none of `tests` right ones exceeds, except with probability FALSE_ALARM."""
        each = self.norm * _exponent(tests) / max(1, self.elements)
        return math.sqrt(1.0 + 2.0 * math.sqrt(each) + 2.0 * each)

    def nearer(self, loss: int) -> bool:
        """Say whether the errors are nearer to those of a loss of precision than to none."""
        return self.along[loss] > self.own[loss] / 2.0

    def loss(self, tests: int) -> int | None:
        """Find the loss of precision that explains most, if so much is no accident in `tests`."""
        t = _exponent(tests * len(LOSSES))
        found = [
            (along**2 / own, place)
            for place, (along, own) in enumerate(zip(self.along, self.own, strict=True))
            if along > max(own / 2.0, math.sqrt(2.0 * self.norm * t * own))
        ]
        return max(found)[1] if found else None


def noise_of(text: str) -> Noise:
    """Read what `as_text` wrote; raises ValueError for anything else."""
    squares, elements, together, *rest = text.split()
    numbers = tuple(map(float, rest))
    if len(numbers) != 2 * len(LOSSES):
        raise ValueError(f"{len(numbers)} numbers; expected {2 * len(LOSSES)}")
    along, own = numbers[: len(LOSSES)], numbers[len(LOSSES) :]
    return Noise(float(squares), int(elements), float(together), along, own)


def _exponent(tests: int) -> float:
    return math.log(tests / FALSE_ALARM)


@dataclass(frozen=True)
class Remark:
    """A remark upon passing cases of a dtype: their errors are larger than `arithmetic` makes.

    `noise` is of all `measured` cases, `cases` has the ratios of those that are remarked upon, by id, `about`
    the loss of precision whose errors they have, or "".
    """

    arithmetic: str
    noise: Noise
    measured: int
    cases: Mapping[str, float]
    about: str

    def __str__(self) -> str:
        worst = max(self.cases, key=lambda one: self.cases[one])
        like = f"errors like those of {self.about}, " if self.about else ""
        many = f"in {len(self.cases)} of {self.measured} cases"
        largest = f"up to {_format(self.cases[worst])} as large as {self.arithmetic} makes"
        return f"{like or 'errors '}{largest} ({worst}), {many}"


def _format(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio < 100 else f"{ratio:.0f} times"


def remark(arithmetic: str, noises: Mapping[str, Noise], tests: int) -> Remark | None:
    """Remark upon the cases of a dtype, by id, whose noise no right implementation has; None without any.

    Where all of them together are too noisy, each that is noisier than roundings make counts. Where all have
    the errors of a loss of precision, each that is nearer to it than to none counts.
    """
    whole = sum(noises.values(), Noise())
    loud, loss = whole.ratio > whole.limit(tests), whole.loss(tests)
    found = {
        name: one.ratio
        for name, one in noises.items()
        if one.ratio > (1.0 if loud else one.limit(tests))
        or (loss is not None and one.nearer(loss))
    }
    about = "" if loss is None else LOSSES[loss].about.format(w="W", r="R")
    return Remark(arithmetic, whole, len(noises), found, about) if found else None


def measure(block: Block, outputs: Arrays, reading: ReadingNames, name: str) -> list[Noise | None]:
    """Measure the noise of each case of a block in the class of arithmetic `name`.

    Steps are measured from the observed state before each, where outputs hold that; of a large case those of
    the first rows, which are enough. Else the last state is. It is None where that takes too long, and for
    other dtypes than DTYPES.
    """
    found: list[Noise | None] = [None] * len(block)
    if block.dtype not in DTYPES:
        return found
    operator, kind = OPERATORS[block.operator], FLOAT_TYPES[block.dtype]
    shared = shared_outputs(operator, operator.with_defaults(block.given[0]), outputs)
    [one] = [one for one in CLASSES[block.dtype] if one.name == name]
    for stack in stacks(operator, block.given, block.inputs):
        meant, inputs = as_read(reading, stack.semantics), stack.inputs
        y = shared.get("y")
        if y is None and inputs.x.shape[-2] == 1:
            y = shared["ho"][..., None, :]
        noises: list[Noise] = []
        if y is not None:
            _, steps = next(SingleSteps.of(inputs, meant, y[stack.rows]).parts(1))
            noises = _noises(steps.seen, steps.spread(one, block.dtype), meant, steps.inputs)
        elif inputs.x.shape[-2] * inputs.h0.size * inputs.h0.shape[-1] ** 2 < MOST_WORK:
            seen = shared["ho"][stack.rows].astype(np.float64)
            noises = _noises(seen, last_spread(meant, inputs, one, kind), meant, inputs)
        for row, noise in zip(stack.rows, noises, strict=False):
            found[row] = noise if noise.elements else None
    return found


def _noises(
    seen: Array, spread: Spread, semantics: StackedSemantics, inputs: GruInputs
) -> list[Noise]:
    """Compare the states `seen` with those that follow from `inputs`, by case."""
    deviation = np.sqrt(spread.variance)
    errors, shares = (seen - spread.values) / deviation, spread.shared / spread.variance
    there = (inputs.lengths > 0)[:, None, :, None] & np.isfinite(errors) & np.isfinite(shares)
    errors, axes = np.where(there, errors, 0.0), (1, 2, 3)
    along, own = [], []
    for loss in LOSSES:
        assert loss.inputs
        _, states = gru(Float64(), semantics, loss.inputs(inputs, semantics))
        direction = np.where(there, (states - spread.values) / deviation, 0.0)
        along.append((errors * direction).sum(axes))
        own.append((direction**2).sum(axes))
    together = np.where(there, shares, 0.0).sum(axis=-1).max(axis=(1, 2))
    found = zip(
        (errors**2).sum(axes), there.sum(axes), together, np.transpose(along), np.transpose(own),
        strict=True,
    )  # fmt: skip
    return [
        Noise(float(q), int(n), float(c), tuple(a.tolist()), tuple(b.tolist()))
        for q, n, c, a, b in found
    ]

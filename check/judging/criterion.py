"""The admitted differences, by the vectors' tolerances or the user's, and the elements that exceed them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...cases.console import shorten, suggest
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.operators.readings import ReadingNames
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...vectors.block import TOGETHER, Block
from ...vectors.case import REQUIRED, difference


@dataclass(frozen=True)
class Demanded:
    """The tolerances that the vectors hold for a class of arithmetic."""

    arithmetic: str

    def admitted(self, block: Block, reading: ReadingNames) -> Arrays:
        """Get the stored tolerances. Raises VectorFileError where the vectors have none of this class."""
        try:
            return block.answers[reading].tolerances[self.arithmetic]
        except KeyError:
            under = f"readings/{TOGETHER.join(reading)}/" if reading else ""
            place = f"/{block.path}/{under}tolerance/{self.arithmetic}"
            raise VectorFileError(f"{place}: is missing; generate the file again") from None

    def __str__(self) -> str:
        return self.arithmetic

    def as_json(self) -> str:
        """Give the name of the class."""
        return self.arithmetic


@dataclass(frozen=True)
class Tolerance:
    """|observed - expected| ≤ absolute + relative·|expected| + ulps·(spacing at expected)."""

    relative: float = 0.0
    absolute: float = 0.0
    ulps: float = 0.0

    def admitted(self, block: Block, reading: ReadingNames) -> Arrays:
        """Compute the admitted differences, in float64."""
        kind, answers = FLOAT_TYPES[block.dtype], block.answers[reading].outputs
        return {name: self._limit(expected, kind) for name, expected in answers.items()}

    def _limit(self, expected: Array, dtype: FloatType) -> Array:
        values = expected.astype(np.float64)
        values[~np.isfinite(values)] = 0.0
        limit = self.absolute + self.relative * np.abs(values)
        if self.ulps:
            limit += self.ulps * dtype.spacing(values)
        return np.asarray(limit)

    def __str__(self) -> str:
        if self.ulps:
            return f"{self.ulps:g} ulp"
        return f"rtol {self.relative:g}, atol {self.absolute:g}"

    def as_json(self) -> dict[str, Any]:
        """Give the tolerance as the report has it."""
        return {"ulp": self.ulps} if self.ulps else {"rtol": self.relative, "atol": self.absolute}


Criterion = Demanded | Tolerance
"""What is demanded of the outputs of a dtype."""


def chosen_criteria(
    arithmetic: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
) -> dict[str, Criterion]:
    """Choose the criterion of each dtype: REQUIRED, unless the user demands another.

    `arithmetic` holds texts `[DTYPE=]CLASS`; a text without a dtype is for every dtype that has the class.
    If only one of `rtol` and `atol` is given, the other is zero. Raises GrucibleError for an unknown class or
    dtype, for a negative or non-finite number, and for options that exclude one another.
    """
    numbers: dict[str, Any] = {"--rtol": rtol, "--atol": atol, "--ulp": ulp}
    given = {option: value for option, value in numbers.items() if value is not None}
    for option, value in given.items():
        if not (isinstance(value, Real) and 0 <= value < math.inf):  # type: ignore[operator]
            raise GrucibleError(
                f"{option} is {shorten(repr(value))}; expected a finite number, not negative"
            )
    if ulp is not None and len(given) > 1:
        raise GrucibleError("--ulp goes with neither --rtol nor --atol; give one or the other")
    if arithmetic and given:
        raise GrucibleError(
            f"--arithmetic does not go with {next(iter(given))}; give one or the other"
        )
    if given:
        return dict.fromkeys(FLOAT_TYPES, Tolerance(*(float(n or 0.0) for n in numbers.values())))
    criteria: dict[str, Criterion] = {d: Demanded(name) for d, name in REQUIRED.items()}
    for text in arithmetic:
        criteria |= _demanded(text)
    return criteria


def _demanded(text: str) -> Mapping[str, Criterion]:
    """Find the dtypes of `[DTYPE=]CLASS`, with what is demanded of them."""
    dtype, equals, name = text.rpartition("=")
    known = {d: [one.name for one in CLASSES[d]] for d in CLASSES if d == dtype or not equals}
    if found := [d for d, names in known.items() if name in names]:
        return dict.fromkeys(found, Demanded(name))
    classes = dict.fromkeys(name for names in known.values() for name in names)
    what, expected = ("class of arithmetic", classes) if known else ("dtype", CLASSES)
    wrong = name if known else dtype
    why = f"{wrong!r} is not a {what}{suggest(wrong, expected)}"
    raise GrucibleError(f"--arithmetic {text}: {why}; expected one of {', '.join(expected)}")


def check_classes(file: Path, block: Block) -> None:
    """Raise VectorFileError unless a block has every class, and none admits less than a finer class."""
    try:
        for reading, chain in product(block.answers, CHAINS[block.dtype]):
            least: Arrays = {}
            for one in chain:
                limits = Demanded(one.name).admitted(block, reading)
                for name in least:
                    if not (limits[name] >= least[name]).all():
                        raise VectorFileError(
                            f"/{block.path}: {one.name} arithmetic admits less in {name} than a finer class; "
                            "generate the file again"
                        )
                least = limits
    except VectorFileError as error:
        raise VectorFileError(f"{file}: {error}") from None


class Comparison(NamedTuple):
    """The worst ratio of difference to tolerance in each of n cases, and its element.

    `ratio` (n,) is 0 for equal elements and infinite where a difference meets a zero tolerance, a
    NaN or an infinity; a case passes if `ratio` ≤ 1. `output` (n,) and `element` (n,) say which
    output and which flat element is the worst; `difference`, `ulps` and `expected` (n,) are of that element.
    `stepwise` (n,) says that it is the worst given the state before its step. `wrong` (n,) counts elements of
    a larger ratio than 1, of the whole outputs.
    """

    ratio: Array
    difference: Array
    ulps: Array
    output: Array
    element: Array
    expected: Array
    stepwise: Array
    wrong: Array

    def worse(self, steps: Comparison) -> Comparison:
        """Take, of each case, the worse of this and a comparison of single steps."""
        which = steps.ratio > self.ratio
        each = {
            name: np.where(which, getattr(steps, name), getattr(self, name))
            for name in self._fields
        }
        return Comparison(**each | {"stepwise": which, "wrong": self.wrong})

    @property
    def passed(self) -> Array:
        """(n,) whether all differences of a case are within their tolerances."""
        return self.ratio <= 1.0


class Differences:
    """The differences between observed and expected outputs of n stacked cases.

    Infinite differences always fail; with `signed_zero`, so does a zero of the other sign. The elements of
    all outputs are joined: (n, elements).
    """

    def __init__(
        self,
        expected: Mapping[str, Array],
        observed: Mapping[str, Array],
        dtype: str,
        *,
        signed_zero: bool,
    ) -> None:
        self._shapes, self._dtype = {name: a.shape for name, a in expected.items()}, dtype
        self._ends = np.cumsum([math.prod(shape[1:]) for shape in self._shapes.values()])
        e, o = self._join(expected), self._join(observed)
        self._expected, self._off = e, difference(o, e)
        self._never = np.isinf(self._off)
        if signed_zero:
            self._never |= (e == 0) & (o == 0) & (np.signbit(e) != np.signbit(o))

    def _join(self, arrays: Mapping[str, Array]) -> Array:
        """Join the elements of all outputs, as float64."""
        flat = [arrays[name].reshape(shape[0], -1) for name, shape in self._shapes.items()]
        with np.errstate(invalid="ignore"):  # for a signalling NaN
            return np.concatenate([array.astype(np.float64) for array in flat], axis=1)

    def within(self, admitted: Mapping[str, Array]) -> Array:
        """Say (n,) whether every element of a case is off by at most what is `admitted` there."""
        passes = (self._off <= self._join(admitted)) & ~self._never
        return np.asarray(passes.all(axis=1))

    def _ratio(self, admitted: Mapping[str, Array]) -> Array:
        limit = self._join(admitted)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio = np.divide(self._off, limit, out=limit)
        ratio[self._off == 0.0] = 0.0  # 0/0 too
        ratio[self._never] = np.inf
        ratio[~(ratio >= 0.0)] = np.inf  # the tolerance is NaN, negative or -0
        return ratio

    def ratios(self, admitted: Mapping[str, Array]) -> Arrays:
        """Divide each output's differences by those `admitted`, element by element."""
        parts = np.split(self._ratio(admitted), self._ends[:-1], axis=1)
        shapes = self._shapes.items()
        return {name: part.reshape(s) for part, (name, s) in zip(parts, shapes, strict=True)}

    def worst(self, admitted: Mapping[str, Array]) -> Comparison:
        """Find each case's element that is furthest off, as a multiple of the `admitted` difference."""
        ratio = self._ratio(admitted)
        place = ratio.argmax(axis=1)
        rows = np.arange(len(ratio))
        at, worst = self._expected[rows, place], self._off[rows, place]
        unit = FLOAT_TYPES[self._dtype].spacing(np.where(np.isfinite(at), at, 0.0))
        with np.errstate(over="ignore"):
            ulps = worst / unit
        output = np.searchsorted(self._ends, place, side="right")
        element = place - np.concatenate([[0], self._ends])[output]
        nowhere = np.zeros(len(ratio), bool)
        wrong = (ratio > 1.0).sum(axis=1)
        return Comparison(ratio[rows, place], worst, ulps, output, element, at, nowhere, wrong)

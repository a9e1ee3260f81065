"""What difference is admitted, element by element: by the vectors' own tolerances, or by the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...cases.console import shorten
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.operators.readings import ReadingNames
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import TOGETHER, Block
from ...vectors.case import REQUIRED


class Criterion(Protocol):
    """What is demanded of the outputs of a dtype."""

    def admitted(self, block: Block, reading: ReadingNames) -> Arrays:
        """Compute the admitted difference of each element of a block's answers under a reading."""

    def as_json(self) -> Any:
        """Give the criterion as the report has it."""


@dataclass(frozen=True)
class Demanded:
    """The tolerances that the vectors hold for a class of arithmetic."""

    arithmetic: str

    def admitted(self, block: Block, reading: ReadingNames) -> Arrays:
        """Give the stored tolerances; VectorFileError where the vectors have none of this class."""
        try:
            return block.answers[reading].tolerances[self.arithmetic]
        except KeyError:
            raise VectorFileError(
                f"/{block.path}: holds no tolerance for {self.arithmetic} arithmetic; "
                "generate the file again"
            ) from None

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


def chosen_criteria(
    arithmetic: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
) -> dict[str, Criterion]:
    """Choose the criterion of each dtype: REQUIRED, unless the user demands another.

    `arithmetic` holds texts `[DTYPE=]CLASS`; one without a dtype is for every dtype that has the
    class. Of `rtol` and `atol` one alone leaves the other zero. Raises GrucibleError for a class that
    is none, for a negative or non-finite number, and for more than one kind of these.
    """
    numbers: dict[str, Any] = {"--rtol": rtol, "--atol": atol, "--ulp": ulp}
    given = {option: value for option, value in numbers.items() if value is not None}
    for option, value in given.items():
        try:
            is_usable = isinstance(value, Real) and 0 <= float(value) < np.inf
        except OverflowError:
            is_usable = False
        if not is_usable:
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
    raise GrucibleError(
        f"--arithmetic {text}: {wrong!r} is not a {what}; expected one of {', '.join(expected)}"
    )


def check_classes(file: Path, block: Block) -> None:
    """Raise VectorFileError unless a block of `file` has the tolerances of every class of its dtype."""
    for reading, answer in block.answers.items():
        for one in CLASSES[block.dtype]:
            if one.name not in answer.tolerances:
                under = f"readings/{TOGETHER.join(reading)}/" if reading else ""
                raise VectorFileError(
                    f"{file}: /{block.path}/{under}tolerance/{one.name}: is missing; "
                    "generate the file again"
                )

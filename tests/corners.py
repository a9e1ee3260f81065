"""Corners: conditions on a question, such as "hidden of 65 or more" or "no initial_h", alone and in pairs.

A kernel that is wrong wherever a condition holds is caught by each deciding case that meets it. Conditions look at
specs, without numbers: how large an input is follows from its scale.
"""

# mypy: disable-error-code="misc"
from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grucible.cases.errors import GrucibleError
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.semantics import Semantics, semantics
from grucible.cases.operators.signature import Operator
from grucible.cases.specs.expand import CaseSpec, case_of
from grucible.gen.drawing import exponents_of

AT_LEAST = {
    "batch": (2, 3, 5, 9, 17, 33), "time": (2, 3, 5, 9, 16, 17, 33),
    "input": (2, 5, 9, 17, 33, 65, 129), "hidden": (2, 5, 9, 17, 33, 34, 65, 66, 129),
}  # fmt: skip
"""The sizes from which on a kernel may be wrong, by axis: both sides of vector widths and of blocks of rows."""
WIDTHS = (2, 4, 8, 16)


@dataclass(frozen=True)
class Asked:
    """What conditions look at: sizes by axis, a length per row, a power of two above each input, the GRU."""

    case: CaseSpec
    sizes: dict[str, int]
    lengths: Sequence[int]
    exponents: dict[str, int]
    meant: Semantics

    @classmethod
    def of(cls, case: CaseSpec) -> Asked:
        operator = OPERATORS[case.operator]
        sizes = {axis: case.sizes[symbol] for symbol, axis in operator.sizes.items()}
        rows = case.lengths or (sizes.get("time", 1),) * sizes["batch"]
        nothing = case.absent | case.zeros
        exponents = {name: e for name, e in exponents_of(case).items() if name not in nothing}
        return cls(case, sizes, rows, exponents, semantics(operator, case.attributes))

    @property
    def time(self) -> int:
        """The number of steps of the longest row that there may be; 1 in cells."""
        return self.sizes.get("time", 1)

    @property
    def both(self) -> bool:
        """Whether there are two directions."""
        return self.sizes.get("direction", 1) == 2


Condition = Callable[[Asked], bool]


def _sizes(operator: Operator) -> Iterator[tuple[str, Condition]]:
    axes = [axis for axis in operator.sizes.values() if axis != "direction"]
    for axis in axes:
        yield f"{axis} of 1", lambda at, a=axis: at.sizes[a] == 1
        yield f"{axis} odd", lambda at, a=axis: at.sizes[a] % 2 == 1
        for n in AT_LEAST[axis]:
            yield f"{axis} of {n} or more", lambda at, a=axis, n=n: at.sizes[a] >= n
        for n in WIDTHS:
            yield f"{axis} a multiple of {n}", lambda at, a=axis, n=n: at.sizes[a] % n == 0
    for one, other in itertools.combinations(axes, 2):
        yield f"{one} equal to {other}", lambda at, a=one, b=other: at.sizes[a] == at.sizes[b]


_LENGTHS: dict[str, Condition] = {
    "a row shorter than the time axis": lambda at: min(at.lengths) < at.sizes["time"],
    "every row shorter than the time axis": lambda at: max(at.lengths) < at.sizes["time"],
    "an empty row": lambda at: 0 in at.lengths,
    "a row of one step": lambda at: 1 in at.lengths,
    "rows of several lengths": lambda at: len({*at.lengths}) > 1,
    "a row longer than the one before": lambda at: list(at.lengths) != sorted(at.lengths)[::-1],
    "the last row the longest": lambda at: at.lengths[-1] == max(at.lengths) > min(at.lengths),
}


def _attributes(operator: Operator) -> Iterator[tuple[str, Condition]]:
    functions: set[str] = set()
    for one in operator.attributes:
        name = one.name
        if not one.required:
            yield f"{name} left out", lambda at, n=name: n not in at.case.given
            yield f"{name} given", lambda at, n=name: n in at.case.given
        if one.sets in ("f", "g", "activations"):
            functions |= {function.name for function in one.choices.values()}
        elif one.choices or one.kind == "boolean":
            for value in one.choices or (False, True):
                yield f"{name} {value}", lambda at, n=name, v=value: at.case.attributes[n] == v
        elif one.sets == "clip":
            yield "finite clip", lambda at: at.meant.clip < math.inf
    for place, function in itertools.product("fg", sorted(functions)):
        yield (
            f"{place} {function}",
            lambda at, p=place, n=function: any(one.name == n for one in getattr(at.meant, p)),
        )


def _tensors(operator: Operator) -> Iterator[tuple[str, Condition]]:
    for one in (*operator.inputs, *operator.outputs):
        if not one.required:
            yield f"no {one.name}", lambda at, n=one.name: n in at.case.absent
        if one.fills:
            yield f"{one.name} zeros", lambda at, n=one.name: n in at.case.zeros
    for one in operator.inputs:
        if one.role != "lengths":
            for limit, least in ((1, 1), (10, 4)):  # numbers nearly fill a power of two
                yield (
                    f"|{one.name}| above {limit}",
                    lambda at, n=one.name, e=least: at.exponents.get(n, -99) >= e,
                )
    for dtype in operator.dtypes():
        yield dtype, lambda at, d=dtype: at.case.dtype == d


def conditions(operator: Operator) -> dict[str, Condition]:
    """Name the conditions on an operator's questions."""
    lengths = _LENGTHS if operator.tensor("lengths") else {}
    return {
        **dict(_sizes(operator)),
        **lengths,
        **dict(_attributes(operator)),
        **dict(_tensors(operator)),
    }


def met(operator: Operator, cases: Sequence[CaseSpec]) -> Any:
    """Say which condition is met by which case, (conditions, cases)."""
    asked, of = [Asked.of(case) for case in cases], conditions(operator).values()
    return np.array([[condition(at) for at in asked] for condition in of], np.float32)


def together(table: Any) -> Any:
    """Say which two conditions some case of a table meets, (conditions, conditions)."""
    return table @ table.T > 0


def mixed(cases: Sequence[CaseSpec], count: int, seed: int) -> list[CaseSpec]:
    """Draw questions that could be asked: each factor has the value of one of two cases."""
    draw, found = random.Random(seed), list[CaseSpec]()
    while len(found) < count:
        one, other = draw.choices(cases, k=2)
        values = {name: draw.choice((v, other.factors[name])) for name, v in one.factors.items()}
        with contextlib.suppress(GrucibleError, ValueError):
            case = case_of(OPERATORS[one.operator], values)
            found.append(dataclasses.replace(case, dtype=draw.choice((one, other)).dtype))
    return found

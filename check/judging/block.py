"""Judging the cases of one block: each against the answers of every reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import READINGS, TOGETHER
from ...gen.tolerances.classes import CLASSES
from ...vectors.case import Block
from ..observed.source import Observed
from .case_result import DECIDING, CaseResult
from .compare import Comparison, compare
from .criterion import Criterion, Demanded, check_classes
from .expectations import Expectation, expectation_for
from .grade import Grade, holding

STORED, EITHER = "stored", "either"


class _Compared:
    """What was observed of a block, compared with the answers of each reading, as often as asked."""

    def __init__(self, block: Block, observed: Observed) -> None:
        self.block, self.observed = block, observed
        self.answers = {"": block.outputs} | block.readings
        self._found: dict[tuple[str, str], Comparison] = {}

    def under(self, reading: str, criterion: Criterion) -> Comparison:
        """The comparison with the answers of `reading` ("" for the stored ones)."""
        key = (reading, str(criterion))
        if key not in self._found:
            self._found[key] = compare(
                self.answers[reading],
                self.observed.outputs,
                criterion.admitted(self.block, reading),
                self.block.dtype,
                signed_zero=self.block.tier == "nonportable",
            )
        return self._found[key]

    def passed(self, criterion: Criterion) -> Array:
        """(n,) whether each case passes under some reading."""
        under = [self.under(reading, criterion).passed for reading in self.answers]
        return np.asarray(np.any(under, axis=0))


def judge_block(
    relative: str,
    block: Block,
    observed: Observed,
    grade: Grade,
    expectations: Sequence[Expectation],
) -> list[CaseResult]:
    """The results of the cases of a block of the file `relative`; counts them in `grade`.

    Raises VectorFileError where the block lacks tolerances.
    """
    check_classes(relative, block)
    compared = _Compared(block, observed)
    stored, *others = (
        _Rows(compared.under(reading, grade.required), reading, answers)
        for reading, answers in compared.answers.items()
    )
    ok = np.array([status == "ok" for status in observed.status])
    held = holding(block.dtype, ok, lambda name: compared.passed(Demanded(name)))
    best = _best_classes(block, held)
    results = []
    for row, case_id in enumerate(block.ids):
        expected = expectation_for(case_id, expectations) if expectations else None
        status: Any = observed.status[row]
        if status != "ok":
            told = observed.messages[row]
            results.append(
                CaseResult(
                    case_id, block.tier, block.dtype, status, message=told, expected=expected
                )
            )
            continue
        passing = [one for one in (stored, *others) if one.passed[row]]
        followed = (
            passing[0] if passing else min((stored, *others), key=lambda one: one.worst[row][0])
        )
        reading = "" if not (block.readings and passing) else followed.reading or STORED
        if len(passing) > 1:
            reading = EITHER  # the readings agree on this case
        results.append(
            replace(
                _result(block, observed, row, followed, best[row], expected),
                reading=reading,
                followed=_followed(block, [one.reading for one in passing]),
            )
        )
    if block.tier in DECIDING:
        grade.see_limits(relative, block, grade.required.admitted(block, ""))
        grade.see_cases(int(ok.sum()), held)
        for result in results:
            grade.see_worst(result.worst_ratio, result.id, result.where)
    return results


def _best_classes(block: Block, held: Mapping[str, Array]) -> list[str]:
    """For each case of a block the best class that it holds, or nothing."""
    best = np.full(len(block), "", dtype=object)
    for one in reversed(CLASSES[block.dtype]):
        best[held[one.name]] = one.name
    return best.tolist()


class _Rows:
    """A comparison with the answers of one reading, as Python values: quicker to go through by row."""

    def __init__(self, found: Comparison, reading: str, answers: Mapping[str, Array]) -> None:
        self.reading, self.answers = reading, answers
        self.passed: list[bool] = found.passed.tolist()
        worst = (found.ratio, found.difference, found.ulps)
        self.worst: list[tuple[float, float, float]] = list(
            zip(*(array.tolist() for array in worst), strict=True)
        )
        names = list(answers)
        self.output: list[str] = [names[number] for number in found.output.tolist()]
        self.element: list[int] = found.element.tolist()


def _result(
    block: Block,
    observed: Observed,
    row: int,
    found: _Rows,
    arithmetic: str,
    expected: Expectation | None,
) -> CaseResult:
    passed, name = found.passed[row], found.output[row]
    index, where = _place(name, block.outputs[name].shape[1:], found.element[row])
    message = ""
    if not passed:
        wanted, got = found.answers[name][row][index], observed.outputs[name][row][index]
        message = f"expected {wanted!s}, got {got!s}"
        if found.reading:
            message += f" (reading {found.reading})"
    return CaseResult(
        block.ids[row],
        block.tier,
        block.dtype,
        "passed" if passed else "failed",
        *found.worst[row],
        where,
        arithmetic=arithmetic,
        message=message,
        expected=expected,
    )


def _followed(block: Block, passing: Sequence[str]) -> dict[str, str]:
    """Of each ledger entry that the block touches, the reading that all names of `passing` agree on:
    its name, or STORED."""
    found = {}
    for name in block.readings if passing else ():
        if TOGETHER not in name:
            taken = {name in together.split(TOGETHER) for together in passing}
            if len(taken) == 1:
                found[READINGS[name].ledger] = name if taken.pop() else STORED
    return found


@lru_cache(maxsize=4096)
def _place(name: str, shape: tuple[int, ...], element: int) -> tuple[tuple[int, ...], str]:
    """The index of a flat element, and what a report calls it."""
    index = tuple(int(i) for i in np.unravel_index(element, shape))
    return index, f"{name}[{', '.join(map(str, index))}]"

"""Judging: each case of a block by the answers of every reading, and one consistent reading for all.

Each case alone passes under any accepted reading. A runtime that takes one here and another there reads
the text in no way at all, so the cases that deviate from what most follow fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import Block
from ..observed.source import Observed
from .case_result import DECIDING, CaseResult
from .compare import Differences
from .criterion import Criterion, Demanded
from .grade import Grade, classes_held


def judge_block(relative: str, block: Block, observed: Observed, grade: Grade) -> list[CaseResult]:
    """Judge the cases of a block of the file `relative`, and count them in `grade`.

    The block has the tolerances of every class.
    """
    off = {
        reading: Differences(
            answer.outputs, observed.outputs, block.dtype, signed_zero=block.tier == "nonportable"
        )
        for reading, answer in block.answers.items()
    }

    def passed(name: str) -> Array:
        """(n,) whether each case holds a class under some reading."""
        criterion = Demanded(name)
        under = [one.within(criterion.admitted(block, reading)) for reading, one in off.items()]
        return np.asarray(np.any(under, axis=0))

    under = [_Rows(block, observed, reading, one, grade.required) for reading, one in off.items()]
    ok = np.array([status == "ok" for status in observed.status])
    holding = classes_held(block.dtype, ok, passed)
    names = tuple(one.name for one in CLASSES[block.dtype])
    holds = np.stack([holding[name] for name in names], axis=-1).tolist()
    results = [
        _judged(under, row, _of_these(names, tuple(holds[row])))
        if ok[row]
        else _not_judged(block, observed, row)
        for row in range(len(block))
    ]
    if block.tier in DECIDING:
        grade.see_limits(relative, block, ok)
        grade.see_cases(int(ok.sum()), holding)
        worst = max(results, key=lambda result: result.worst_ratio)
        grade.see_worst(worst.worst_ratio, worst.id, worst.where)
    return results


def judge_one(block: Block, observed: Observed, criterion: Criterion) -> CaseResult:
    """Judge the case of a block of one."""
    [result] = judge_block("", block, observed, Grade(block.dtype, criterion))
    return result


@lru_cache(maxsize=256)
def _of_these(names: tuple[str, ...], which: tuple[bool, ...]) -> tuple[str, ...]:
    return tuple(name for name, holds in zip(names, which, strict=True) if holds)


class _Rows:
    """A comparison with the answers of one reading, as Python values: quicker to go through by row."""

    def __init__(
        self,
        block: Block,
        observed: Observed,
        reading: ReadingNames,
        off: Differences,
        criterion: Criterion,
    ) -> None:
        self.reading, self.block, self.observed = reading, block, observed
        self.expected = block.answers[reading].outputs
        found = off.worst(criterion.admitted(block, reading))
        self.passed: list[bool] = found.passed.tolist()
        worst = (found.ratio, found.difference, found.ulps)
        self.worst: list[tuple[float, float, float]] = list(
            zip(*(array.tolist() for array in worst), strict=True)
        )
        names = list(self.expected)
        self.output: list[str] = [names[number] for number in found.output.tolist()]
        self.element: list[int] = found.element.tolist()

    def result(
        self,
        row: int,
        holds: tuple[str, ...],
        readings: tuple[ReadingNames, ...] = (),
        followed: Mapping[str, ReadingNames] | None = None,
    ) -> CaseResult:
        """Make the result of the case of a row under this reading."""
        passed, name = self.passed[row], self.output[row]
        index, where = _place(name, self.expected[name].shape[1:], self.element[row])
        message = ""
        if not passed:
            wanted, got = self.expected[name][row][index], self.observed.outputs[name][row][index]
            under = f" (reading {' and '.join(self.reading)})" if self.reading else ""
            message = f"expected {wanted!s}, got {got!s}{under}"
        ratio, difference, ulps = self.worst[row]
        return CaseResult(
            id=self.block.ids[row],
            operator=self.block.operator,
            tier=self.block.tier,
            dtype=self.block.dtype,
            verdict="passed" if passed else "failed",
            worst_ratio=ratio,
            worst_abs=difference,
            worst_ulp=ulps,
            where=where,
            readings=readings,
            followed=followed or {},
            arithmetic=holds[0] if holds else "",
            holds=holds,
            message=message,
        )


def _judged(under: Sequence[_Rows], row: int, holds: tuple[str, ...]) -> CaseResult:
    """Judge a case that gave outputs: under a reading that it passes, or the nearest one."""
    if len(under) == 1:
        return under[0].result(row, holds)
    passing = [one for one in under if one.passed[row]]
    nearest = passing[0] if passing else min(under, key=lambda one: one.worst[row][0])
    readings = tuple(one.reading for one in passing)
    return nearest.result(row, holds, readings, _followed(readings, under))


def _not_judged(block: Block, observed: Observed, row: int) -> CaseResult:
    status: Any = observed.status[row]
    return CaseResult(
        block.ids[row], block.operator, block.tier, block.dtype, status,
        message=observed.messages[row], fault=observed.faults.get(row),
    )  # fmt: skip


def _followed(passing: Sequence[ReadingNames], under: Sequence[_Rows]) -> dict[str, ReadingNames]:
    """Find, for each ledger entry that the case touches, the reading that all of `passing` agree on."""
    found: dict[str, ReadingNames] = {}
    for name in (one.reading[0] for one in under if len(one.reading) == 1):
        taken = {name in names for names in passing}
        if len(taken) == 1:
            found[READINGS[name].ledger] = (name,) if taken.pop() else STORED
    return found


@lru_cache(maxsize=4096)
def _place(name: str, shape: tuple[int, ...], element: int) -> tuple[tuple[int, ...], str]:
    """Find the index of a flat element, and what a report calls it."""
    index = tuple(int(i) for i in np.unravel_index(element, shape))
    return index, f"{name}[{', '.join(map(str, index))}]"


@dataclass(frozen=True)
class Mixed:
    """A ledger entry of which `deviating` of `decided` cases follow the reading `other`, not `most`."""

    ledger: str
    most: ReadingNames
    other: ReadingNames
    deviating: int
    decided: int
    operator: str

    @property
    def about(self) -> str:
        """What the runtime does, in a sentence."""
        return (
            f"two readings of one ambiguous point ({self.ledger}): {self.decided - self.deviating} cases "
            f"follow {_named(self.most, self.ledger)}, {self.deviating} {_named(self.other, self.ledger)}"
        )


def one_reading(results: Sequence[CaseResult]) -> tuple[list[CaseResult], list[Mixed]]:
    """Fail the cases that follow another reading than most; list the entries of which there are such.

    Of equally many, the stored reading counts as what most follow. Readings of the owners are taken by
    themselves: what a runtime takes OpenVINO's text to say, it need not take ONNX's to.
    """
    counted: dict[tuple[str, str], Counter[ReadingNames]] = {}
    operators: dict[tuple[str, str], str] = {}
    for result in results:
        if result.decides and result.verdict == "passed":
            for ledger, reading in result.followed.items():
                point = (_owner(result), ledger)
                counted.setdefault(point, Counter())[reading] += 1
                operators.setdefault(point, result.operator)
    most, mixed = {}, []
    for point, counts in counted.items():
        if len(counts) > 1:
            most[point] = max(counts, key=lambda reading: (counts[reading], reading == STORED))
            [other] = counts.keys() - {most[point]}
            mixed.append(
                Mixed(point[1], most[point], other, counts[other], counts.total(), operators[point])
            )
    return ([_deviating(result, most) for result in results] if most else list(results)), mixed


def _owner(result: CaseResult) -> str:
    return result.operator.partition(".")[0]


def _deviating(result: CaseResult, most: dict[tuple[str, str], ReadingNames]) -> CaseResult:
    """Fail a case that passed and follows another reading than most."""
    if not (result.decides and result.verdict == "passed"):
        return result
    for ledger, reading in result.followed.items():
        wanted = most.get((_owner(result), ledger), reading)
        if reading != wanted:
            return replace(
                result,
                verdict="failed",
                holds=(),  # as near as it is to another reading
                message=f"this case follows {_named(reading, ledger)}; most that touch {ledger} follow "
                f"{_named(wanted, ledger)}",
            )
    return result


def _named(reading: ReadingNames, ledger: str) -> str:
    """Name a reading of a ledger entry in words."""
    if reading:
        return f"{' and '.join(reading)} ({about(reading)})"
    [other] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"the stored reading ({other.stored})"

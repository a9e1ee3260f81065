"""Judging: each case against every accepted reading, then all cases against one reading.

Judged alone, a case passes under any accepted reading. But a runtime must follow one reading throughout:
cases that deviate from the reading that most cases follow fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import Block
from ..observed.source import Observed
from .case_result import DECIDING, CaseResult
from .criterion import Criterion, Demanded, Differences
from .grade import Grade


def judge_block(relative: str, block: Block, observed: Observed, grade: Grade) -> list[CaseResult]:
    """Judge the cases of a block of the file `relative`, and count them in `grade`.

    The block must have the tolerances of every class.
    """
    signed_zero = block.tier == "nonportable"
    off = {
        reading: Differences(answer.outputs, observed.outputs, block.dtype, signed_zero=signed_zero)
        for reading, answer in block.answers.items()
    }

    def passed(name: str) -> Array:
        """Find the cases, (n,), whose outputs the class `name` admits under some reading."""
        criterion = Demanded(name)
        under = [one.within(criterion.admitted(block, reading)) for reading, one in off.items()]
        return np.asarray(np.any(under, axis=0))

    under = [_Rows(block, observed, reading, one, grade.required) for reading, one in off.items()]
    ok = np.array([status == "ok" for status in observed.status])
    holding = {one.name: ok & passed(one.name) for one in CLASSES[block.dtype]}
    results = []
    for row in range(len(block)):
        result = CaseResult(block.ids[row], block.operator, block.tier, block.dtype, "missing")
        if ok[row]:
            holds = tuple(one.name for one in CLASSES[block.dtype] if holding[one.name][row])
            best = holds[0] if holds else ""
            found = replace(_judge(under, row, result), arithmetic=best, holds=holds)
        else:
            status: Any = observed.status[row]
            message, fault = observed.messages[row], observed.faults.get(row)
            found = replace(result, verdict=status, message=message, fault=fault)
        results.append(found)
    if block.tier in DECIDING:
        grade.see_limits(relative, block, ok)
        grade.see(holding, int(ok.sum()), max(results, key=lambda result: result.worst_ratio))
    return results


def judge_one(block: Block, observed: Observed, criterion: Criterion) -> CaseResult:
    """Judge the only case of a block."""
    [result] = judge_block("", block, observed, Grade(block.dtype, criterion))
    return result


class _Rows:
    """A comparison with one reading's answers, as Python lists: reading them row by row is quicker."""

    def __init__(
        self,
        block: Block,
        observed: Observed,
        reading: ReadingNames,
        off: Differences,
        criterion: Criterion,
    ) -> None:
        self.reading, self._observed = reading, observed.outputs
        self._expected = block.answers[reading].outputs
        found = off.worst(criterion.admitted(block, reading))
        names = list(self._expected)
        self.passed: list[bool] = found.passed.tolist()
        self.ratio: list[float] = found.ratio.tolist()
        self._difference, self._ulps = found.difference.tolist(), found.ulps.tolist()
        self._output = [names[number] for number in found.output.tolist()]
        self._element = found.element.tolist()

    def compared(self, row: int, result: CaseResult) -> CaseResult:
        """Complete `result` with the verdict and the worst element of its row under this reading."""
        passed, name = self.passed[row], self._output[row]
        shape = self._expected[name].shape[1:]
        index = tuple(int(i) for i in np.unravel_index(self._element[row], shape))
        message = ""
        if not passed:
            wanted, got = self._expected[name][row][index], self._observed[name][row][index]
            under = f" (reading {' and '.join(self.reading)})" if self.reading else ""
            message = f"expected {wanted!s}, got {got!s}{under}"
        return replace(
            result,
            verdict="passed" if passed else "failed",
            worst_ratio=self.ratio[row],
            worst_abs=self._difference[row],
            worst_ulp=self._ulps[row],
            where=f"{name}[{', '.join(map(str, index))}]",
            message=message,
        )


def _judge(under: Sequence[_Rows], row: int, result: CaseResult) -> CaseResult:
    """Judge a case that gave outputs, under the first reading that it passes, else under the nearest."""
    passing = [one for one in under if one.passed[row]]
    nearest = passing[0] if passing else min(under, key=lambda one: one.ratio[row])
    found = nearest.compared(row, result)
    if len(under) == 1:
        return found
    readings = tuple(one.reading for one in passing)
    followed: dict[str, ReadingNames] = {}  # by entry: the reading on which all that pass agree
    for name in (one.reading[0] for one in under if len(one.reading) == 1):
        taken = {name in names for names in readings}
        if len(taken) == 1:
            followed[READINGS[name].ledger] = (name,) if taken.pop() else STORED
    return replace(found, readings=readings, followed=followed)


@dataclass(frozen=True)
class Mixed:
    """A ledger entry on which a runtime's cases follow two readings.

    Of `decided` cases that show which, `deviating` follow `other`; the rest follow `most`.
    """

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
    """Fail the cases that do not follow the most frequent reading; list the entries with such cases.

    In a tie the stored reading counts as the most frequent. Each owner is counted separately: a runtime may
    read OpenVINO's text in one way and ONNX's in another.
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
    """Fail a case that passed under another reading than the most frequent one."""
    if not (result.decides and result.verdict == "passed"):
        return result
    for ledger, reading in result.followed.items():
        wanted = most.get((_owner(result), ledger), reading)
        if reading != wanted:
            return replace(
                result,
                verdict="failed",
                holds=(),  # it keeps them only under a reading that does not count here
                message=f"this case follows {_named(reading, ledger)}; most cases that touch {ledger} follow "
                f"{_named(wanted, ledger)}",
            )
    return result


def _named(reading: ReadingNames, ledger: str) -> str:
    """Name a reading of a ledger entry in words."""
    if reading:
        return f"{' and '.join(reading)} ({about(reading)})"
    [other] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"the stored reading ({other.stored})"

"""Judging: each case against every accepted reading, then all cases against one reading.

Judged alone, a case passes under any accepted reading, as a whole and step by step. But a runtime must follow
one reading throughout: a case fails if it follows another reading than most cases do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import Block
from ...vectors.case import Answer
from ..observed.source import Observed
from .case_result import DECIDING, FOLLOWS, CaseResult
from .criterion import Comparison, Criterion, Demanded, Differences
from .grade import Grade, ways_of_judging
from .noise import Noise, measure
from .single_steps import step_answers

MIXED = "two readings of one ambiguous point"
"""The beginning of the message about a runtime that follows two readings."""


def judge_blocks(
    asked: Sequence[tuple[Block, Observed]], grades: Mapping[str, Grade]
) -> list[list[CaseResult]]:
    """Judge the cases of several blocks by the grades of their dtypes, without a measure of their errors.

    Single steps of alike cases are bounded together.
    """
    deciding = [
        (place, reading)
        for place, (block, observed) in enumerate(asked)
        for reading in block.answers
        if block.tier in DECIDING and "ok" in observed.status
    ]
    each = [(asked[place][0], asked[place][1].outputs, reading) for place, reading in deciding]
    steps: list[Steps] = [{} for _ in asked]
    for (place, reading), answer in zip(deciding, step_answers(each), strict=True):
        steps[place][reading] = answer
    return [
        judge_block("", block, observed, grades[block.dtype], with_noise=False, steps=known)
        for (block, observed), known in zip(asked, steps, strict=True)
    ]


def judge_block(
    relative: str,
    block: Block,
    observed: Observed,
    grade: Grade,
    *,
    with_noise: bool = True,
    steps: Steps | None = None,
) -> list[CaseResult]:
    """Judge the cases of a block of the file `relative`, and count them in `grade`.

    The block must have the tolerances of every class. `with_noise` measures errors in all, which takes half
    of the time. `steps` are the answers of its single steps, if these are known.
    """
    ok = np.array([status == "ok" for status in observed.status])
    if steps is None:
        steps = {}
        if block.tier in DECIDING and ok.any():
            each = [(block, observed.outputs, reading) for reading in block.answers]
            steps = dict(zip(block.answers, step_answers(each), strict=True))
    readings = block.answers if ok.any() else ()
    compared = {one: _Compared(block, one, observed, steps.get(one)) for one in readings}
    holding: dict[str, Array] = {}
    for name in [one.name for one in CLASSES[block.dtype]]:
        holding[name] = ok & np.any([one.within(name) for one in compared.values()], axis=0)
    worst = {reading: one.worst(grade.required) for reading, one in compared.items()}
    decides = block.tier in DECIDING
    noises = {r: one.noise(grade.required) for r, one in compared.items() if with_noise}
    passed = all(one.passed.all() for one in worst.values())
    seen = {reading: one.steps for reading, one in compared.items() if passed}
    ways = [""] * len(block)
    if decides and ok.any():
        ways = ways_of_judging(block, grade.required, seen)
    results = []
    for row, case_id in enumerate(block.ids):
        status: Any = observed.status[row]
        result = CaseResult(
            case_id, block.operator, block.tier, block.dtype, status,
            message=observed.messages[row], fault=observed.faults.get(row),
            overwrote=observed.overwrote.get(row, ()),
        )  # fmt: skip
        if ok[row]:
            holds = tuple(name for name, cases in holding.items() if cases[row])
            result = replace(result, arithmetic=holds[0] if holds else "", holds=holds)
            result = replace(result, judged_by=ways[row])
            result = _judge(result, row, worst, block, observed)
            if with_noise and result.verdict == "passed" and decides:
                result = replace(result, noise=noises[next(iter(result.readings), STORED)][row])
        results.append(result)
    if decides:
        grade.see(relative, block, ok, results)
    return results


Steps = dict[ReadingNames, Answer | None]
"""The answers of single steps from observed states, by reading; None where states are not seen."""


class _Compared:
    """Outputs compared under a reading: as a whole, and one step at a time where that can be done."""

    def __init__(
        self, block: Block, reading: ReadingNames, observed: Observed, steps: Answer | None
    ) -> None:
        def differences(answer: Answer) -> Differences:
            zero = block.tier == "nonportable"
            return Differences(answer.outputs, observed.outputs, block.dtype, signed_zero=zero)

        self._block, self._reading = block, reading
        self._outputs = dict(observed.outputs)
        self._whole = differences(block.answers[reading])
        self.steps = steps
        """The answers of single steps from observed states."""
        self._steps = [(differences(self.steps), self.steps.tolerances)] if self.steps else []

    def within(self, name: str) -> Array:
        """Say (n,) which cases are within the tolerances of a class of arithmetic."""
        within = self._whole.within(Demanded(name).admitted(self._block, self._reading))
        for off, limits in self._steps:
            within &= off.within(limits[name])
        return within

    def worst(self, required: Criterion) -> Comparison:
        """Find each case's worst element; a user's own tolerances are not of single steps."""
        worst = self._whole.worst(required.admitted(self._block, self._reading))
        if isinstance(required, Demanded):
            for off, limits in self._steps:
                worst = worst.worse(off.worst(limits[required.arithmetic]))
        return worst

    def noise(self, required: Criterion) -> list[Noise | None]:
        """Measure how large each case's errors are in all; a user's own tolerances say nothing of that."""
        if not isinstance(required, Demanded) or self._block.tier not in DECIDING:
            return [None] * len(self._block)
        return measure(self._block, self._outputs, self._reading, required.arithmetic)


def judge_one(block: Block, observed: Observed, criterion: Criterion) -> CaseResult:
    """Judge the only case of a block, without a measure of its errors in all."""
    grade = Grade(block.dtype, criterion)
    [result] = judge_block("", block, observed, grade, with_noise=False)
    return result


def _judge(
    result: CaseResult,
    row: int,
    worst: Mapping[ReadingNames, Comparison],
    block: Block,
    observed: Observed,
) -> CaseResult:
    """Judge a case that gave outputs, under the first reading that it passes, else under the nearest.

    That is the one of fewest wrong elements.
    """
    passing = tuple(reading for reading, one in worst.items() if one.passed[row])
    near = min(worst, key=lambda one: (worst[one].wrong[row], worst[one].ratio[row]))
    reading = passing[0] if passing else near
    found, expected = worst[reading], block.answers[reading].outputs
    name = list(expected)[found.output[row]]
    place = np.unravel_index(found.element[row], expected[name].shape[1:])
    index, message = tuple(map(int, place)), ""
    if not passing:
        wanted, got = expected[name][row][index], observed.outputs[name][row][index]
        if found.stepwise[row]:
            wanted = f"{found.expected[row]:.9g} from the state before it"
        under = f" (reading {' and '.join(reading)})" if reading else ""
        message = f"expected {wanted!s}, got {got!s}{under}"
    followed: dict[str, ReadingNames] = {}  # by entry: the reading that all passing ones share
    for one in (names[0] for names in worst if len(names) == 1):
        taken = {one in names for names in passing}
        if len(taken) == 1:
            followed[READINGS[one].ledger] = (one,) if taken.pop() else STORED
    return replace(
        result,
        verdict="passed" if passing else "failed",
        worst_ratio=float(found.ratio[row]),
        worst_abs=float(found.difference[row]),
        worst_ulp=float(found.ulps[row]),
        where=f"{name}[{', '.join(map(str, index))}]",
        readings=passing if len(worst) > 1 else (),
        followed=followed,
        message=message,
    )


@dataclass(frozen=True)
class Mixed:
    """A ledger entry on which a runtime's cases follow two readings.

    `decided` cases show which reading they follow: `deviating` of them follow `other`, the rest `most`.
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
            f"{MIXED} ({self.ledger}): {self.decided - self.deviating} cases "
            f"follow {_named(self.most, self.ledger)}, {self.deviating} {_named(self.other, self.ledger)}"
        )


def one_reading(results: Sequence[CaseResult]) -> tuple[list[CaseResult], list[Mixed]]:
    """Fail the cases that do not follow the most frequent reading; list the entries with such cases.

    In a tie the stored reading counts as the most frequent. Each owner is counted separately: a runtime may
    read OpenVINO's text in one way and ONNX's in another.
    """
    deciding: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        if result.decides and result.verdict == "passed":
            for ledger in result.followed:
                deciding.setdefault((_owner(result), ledger), []).append(result)
    mixed: dict[tuple[str, str], Mixed] = {}
    for point, some in deciding.items():
        ledger = point[1]
        counts = Counter(result.followed[ledger] for result in some)
        if len(counts) > 1:
            most = max(counts, key=lambda reading: (counts[reading], reading == STORED))
            [other] = counts.keys() - {most}
            mixed[point] = Mixed(ledger, most, other, counts[other], len(some), some[0].operator)
    judged = [_deviating(result, mixed) for result in results] if mixed else list(results)
    return judged, [*mixed.values()]


def judged_alone(result: CaseResult) -> CaseResult:
    """Let a case that fails only for the reading of other cases pass again."""
    if result.verdict != "failed" or not result.message.startswith(FOLLOWS):
        return result
    return replace(result, verdict="passed", message="")


def _owner(result: CaseResult) -> str:
    return result.operator.partition(".")[0]


def _deviating(result: CaseResult, mixed: Mapping[tuple[str, str], Mixed]) -> CaseResult:
    """Fail a case that passed under another reading than the most frequent one."""
    if not (result.decides and result.verdict == "passed"):
        return result
    for ledger, reading in result.followed.items():
        one = mixed.get((_owner(result), ledger))
        if one and reading != one.most:
            return replace(
                result,
                verdict="failed",
                holds=(),  # the tolerances hold only under a reading that does not count here
                message=f"{FOLLOWS} {_named(reading, ledger)}; {one.decided - one.deviating} of "
                f"{one.decided} cases that settle {ledger} follow {_named(one.most, ledger)}",
            )
    return result


def _named(reading: ReadingNames, ledger: str) -> str:
    """Name a reading of a ledger entry in words."""
    if reading:
        return f"{' and '.join(reading)} ({about(reading)})"
    [other] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"the stored reading ({other.stored})"

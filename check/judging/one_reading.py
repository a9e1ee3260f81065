"""Require one consistent reading per runtime: where a text is ambiguous, every case must follow the same.

Each case alone passes under any accepted reading. A runtime that takes one here and another there reads
the text in no way at all, so the cases that deviate from what most follow fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from .case_result import CaseResult


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

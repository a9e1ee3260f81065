"""Readings must be one: where a text is ambiguous, a runtime follows one reading of it, in every case.

Each case alone passes under any accepted reading. A runtime that takes one here and another there reads
the text in no way at all, so the cases that deviate from what most follow fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    """The results, in which cases that follow another reading than most have failed; and how many did.

    Of equally many, the stored reading counts as what most follow. Readings of the owners are taken by
    themselves: what a runtime takes OpenVINO's text to say, it need not take ONNX's to.
    """
    followed: dict[tuple[str, str], Counter[ReadingNames]] = {}
    for result in results:
        for ledger, reading in _decided(result):
            followed.setdefault((_owner(result), ledger), Counter())[reading] += 1
    most = {point: _most(counts) for point, counts in followed.items() if len(counts) > 1}
    if not most:
        return list(results), []
    judged = [_held_to(result, most) for result in results]
    mixed = [_mixed(point, most[point], counts, results) for point, counts in followed.items()
             if point in most]  # fmt: skip
    return judged, mixed


def _owner(result: CaseResult) -> str:
    return result.operator.partition(".")[0]


def _decided(result: CaseResult) -> Iterator[tuple[str, ReadingNames]]:
    """By ledger entry, the reading that a case followed which passed and decides."""
    if result.decides and result.verdict == "passed":
        yield from result.followed.items()


def _most(counts: Counter[ReadingNames]) -> ReadingNames:
    return max(counts, key=lambda reading: (counts[reading], reading == STORED))


def _held_to(result: CaseResult, most: Mapping[tuple[str, str], ReadingNames]) -> CaseResult:
    for ledger, reading in _decided(result):
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


def _mixed(
    point: tuple[str, str],
    most: ReadingNames,
    counts: Counter[ReadingNames],
    results: Sequence[CaseResult],
) -> Mixed:
    owner, ledger = point
    [other] = [reading for reading in counts if reading != most]
    operator = next(r.operator for r in results if _owner(r) == owner and ledger in r.followed)
    return Mixed(ledger, most, other, counts[other], sum(counts.values()), operator)


def _named(reading: ReadingNames, ledger: str) -> str:
    """A reading of a ledger entry, in words."""
    if reading:
        return f"{' and '.join(reading)} ({about(reading)})"
    [other] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"the stored reading ({other.stored})"

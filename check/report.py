"""What was found of all selected cases, and the verdict it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..cases.commands.interrupts import INTERRUPTED
from ..cases.operators.readings import ReadingNames
from .diagnosis.diagnose import Diagnosis
from .judging.case_result import CaseResult
from .judging.expectations import Expectation
from .judging.grade import Grade
from .observed.origin import Origin
from .reach import Reach, reach


@dataclass(frozen=True)
class Report:
    """What was found of all selected cases, and the verdict it gives."""

    runtime: str
    runtime_version: str
    vectors: str
    origins: Mapping[str, Origin]
    """By vector file that was looked at, where it comes from."""
    grades: Mapping[str, Grade]
    results: Sequence[CaseResult]
    expectations: Sequence[Expectation] = field(default_factory=tuple)
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    recomputed: int = 0
    """How many answers were evaluated anew, and were as stored."""
    interrupted: bool = False
    """Whether Ctrl-C ended it: the results are those of the cases that had been compared."""

    @cached_property
    def counts(self) -> Counter[str]:
        """How many deciding cases have each verdict."""
        return Counter(result.verdict for result in self.results if result.decides)

    @property
    def verdict(self) -> str:
        """`does not conform`, `incomplete`, `conforms where supported` or `conforms`."""
        if any(result.wrong for result in self.results):
            return "does not conform"
        nothing = self.counts["passed"] <= self.undeciding
        if self.interrupted or self.counts["missing"] or nothing:
            return "incomplete"
        return "conforms where supported" if self.counts["unsupported"] else "conforms"

    @property
    def undeciding(self) -> int:
        """How many deciding cases were compared whose tolerances say too little to decide."""
        return sum(grade.undeciding.total() for grade in self.grades.values())

    @cached_property
    def reach(self) -> list[Reach]:
        """How much of each operator the runtime supports."""
        return reach(self.results)

    @property
    def unexpected(self) -> list[CaseResult]:
        """The cases that went wrong and were not expected to."""
        return [result for result in self.results if result.wrong and not result.expected]

    @property
    def expected_failures(self) -> list[CaseResult]:
        """The cases that went wrong as expected."""
        return [result for result in self.results if result.wrong and result.expected]

    @property
    def refused(self) -> list[CaseResult]:
        """The deciding cases that are unsupported although they must not be, and not as expected."""
        return [result for result in self.unexpected if result.verdict == "unsupported"]

    @property
    def unexpected_passes(self) -> list[CaseResult]:
        """The deciding cases that passed although a failure was expected."""
        return [r for r in self.results if r.decides and r.verdict == "passed" and r.expected]

    @property
    def readings_followed(self) -> dict[str, Counter[ReadingNames]]:
        """By ledger entry, how many ambiguous cases follow each reading."""
        followed: dict[str, Counter[ReadingNames]] = {}
        for result in self.results:
            for ledger, reading in result.followed.items():
                followed.setdefault(ledger, Counter())[reading] += 1
        return followed

    @property
    def exit_status(self) -> int:
        """0: conforms, or every failure was expected and nothing is missing; 130: interrupted; else 1."""
        if self.interrupted:
            return INTERRUPTED
        if self.unexpected or self.counts["missing"]:
            return 1
        return 0 if self.counts["passed"] > self.undeciding or self.expected_failures else 1

"""What was found of all selected cases, and the verdict it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..cases.console import escape
from ..cases.errors import GrucibleError
from ..cases.operators.readings import ReadingNames
from ..cases.process import INTERRUPTED
from ..cases.selection import WHOLE, Shard
from .diagnosis.failing import FailingBlock
from .diagnosis.finding import Diagnosis
from .judging.case_result import CaseResult
from .judging.expectations import Expectation, Use
from .judging.grade import Grade, Growth
from .judging.noise import Remark, remark
from .observed.observations import Origin
from .refusals import Refusal

CORE = "the core vectors"
"""The `vectors` of a report where no path was given."""


def in_words(reach: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Say which operators are supported: wholly, partly, not at all."""
    whole, partly, none = list[str](), list[str](), list[str]()
    for operator, (supported, cases) in reach.items():
        if 0 < supported < cases:
            partly.append(f"{operator} ({supported} of {cases})")
        else:
            (whole if supported else none).append(operator)
    for word, operators in (("supported", whole), ("in part", partly), ("not supported", none)):
        if operators:
            yield f"{word}: {', '.join(operators)}"


def verdict_of(counts: Mapping[Any, int], *, wrong: bool, incomplete: bool) -> str:
    """Return `does not conform`, `incomplete`, `conforms where supported` or `conforms`."""
    if wrong:
        return "does not conform"
    if incomplete or counts["missing"]:
        return "incomplete"
    return "conforms where supported" if counts["unsupported"] else "conforms"


class ModelSeen(NamedTuple):
    """The user's model whose GRUs were judged.

    `layers` has the layer's name of each case, by id; `unjudged` says why layers were not judged; `notes` are
    lines about the run; `saved` is where the questions are kept, or "".
    """

    path: str
    layers: Mapping[str, str]
    unjudged: Mapping[str, str]
    notes: Sequence[str]
    saved: str


@dataclass(frozen=True, repr=False)
class Report:
    """What was found of all selected cases, and the verdict it gives."""

    runtime: str
    runtime_version: str
    vectors: str
    origins: Mapping[str, Origin]
    """The origin of each vector file that was looked at."""
    grades: Mapping[str, Grade]
    results: Sequence[CaseResult]
    expectations: Sequence[Expectation] = field(default_factory=tuple)
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    recomputed: int = 0
    """The number of answers that were evaluated anew and found to be as stored."""
    asked_again: int = 0
    """The number of cases that passed and were asked again; wrong answers then make them fail."""
    interrupted: bool = False
    """Whether a signal or an error ended the check: `results` has the cases that were compared before."""
    stopped: bool = False
    """Whether `--maxfail` or `--last-failed` left cases out."""
    last_failed: bool = False
    """Whether only what failed in an earlier report was asked."""
    broken_by: GrucibleError | None = field(default=None, repr=False, compare=False)
    """The error that ended the check, such as one about a damaged file."""
    failing: Sequence[FailingBlock] = field(default=(), repr=False, compare=False)
    """The failing cases with what was observed, without cases that are too large to keep."""
    growth: Mapping[str, Growth] = field(default_factory=dict, repr=False, compare=False)
    """The growth of the error over steps, by dtype."""
    refusals: Sequence[Refusal] = ()
    """The outcomes of the invalid questions; none unless they were to be asked."""
    uses: Sequence[Use] = ()
    """The use of each expectation; without `strict`, expectations of invalid questions have none."""
    allow_stale: bool = False
    """Whether stale expectations do not change the exit status."""
    asked: str = ""
    """The `--runtime` that the user gave; `runtime` is the name that the runtime gives itself."""
    outputs: str = ""
    """The `--outputs` that the user gave."""
    machine: str = ""
    """The kind of machine where the runtime ran; "" where that is unknown."""
    shard: Shard = WHOLE
    """The part of the cases that was judged; whether expectations are stale only all parts tell."""
    select: Sequence[str] = ()
    """The globs, and the dtypes of `--dtype`, that selected the cases."""
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The digests of content and of tolerances of each vector file, joined by a space."""
    model: ModelSeen | None = None
    """The model that the cases are the layers of, if `grucible model` judged them."""

    def __repr__(self) -> str:
        counts = self.counts
        parts = [f"{counts['passed']} of {counts.total()} cases passed"]
        others = ("failed", "error", "missing", "unsupported")
        parts += [f"{counts[one]} {one}" for one in others if counts[one]]
        return f"<Report {escape(self.runtime)}: {self.verdict}, {', '.join(parts)}>"

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of deciding cases with each verdict."""
        return Counter(result.verdict for result in self.results if result.decides)

    @property
    def verdict(self) -> str:
        """`does not conform`, `incomplete`, `conforms where supported` or `conforms`."""
        wrong = any(r.wrong for r in self.results) or any(r.wrong for r in self.refusals)
        incomplete = self.unfinished or self._nothing or bool(self.unjudged)
        return verdict_of(self.counts, wrong=wrong, incomplete=incomplete)

    @property
    def unfinished(self) -> bool:
        """Whether there are cases that nobody asked."""
        return self.interrupted or self.stopped

    @property
    def _nothing(self) -> bool:
        """Whether no deciding case is right or, where there are no cases, no invalid question is refused."""
        if self.results:
            return self.counts["passed"] <= self.undeciding
        return not any(one.outcome == "refused" for one in self.refusals)

    @property
    def unjudged(self) -> Mapping[str, str]:
        """Why layers of a model were not judged, by name."""
        return self.model.unjudged if self.model else {}

    @property
    def undeciding(self) -> int:
        """The number of cases that passed, and whose tolerances say too little to decide."""
        return sum(grade.undeciding.total() for grade in self.grades.values())

    @cached_property
    def reach(self) -> dict[str, tuple[int, int]]:
        """By operator, the number of deciding cases that the runtime supports, and of all deciding cases.

        A case is supported if the runtime answered it, rightly or not, or gave an error. Cases that are
        unsupported or missing do not count as supported.
        """
        decides = [one for one in self.results if one.decides]
        unknown = Counter(
            one.operator for one in decides if one.verdict in ("unsupported", "missing")
        )
        cases = Counter(one.operator for one in decides)
        return {operator: (count - unknown[operator], count) for operator, count in cases.items()}

    @property
    def overwritten(self) -> Counter[str]:
        """The number of cases in which the runtime wrote into an input, by the input's name."""
        return Counter(name for result in self.results for name in result.overwrote)

    @cached_property
    def remarks(self) -> dict[str, Remark]:
        """By dtype, the remark upon cases that passed with larger errors than their arithmetic makes."""
        noises = {
            dtype: {
                one.id: one.noise
                for one in self.results
                if one.noise and one.dtype == dtype and one.verdict == "passed"
            }
            for dtype in self.grades
        }
        tests = sum(map(len, noises.values())) + len(noises)
        found = {d: remark(str(self.grades[d].required), of, tests) for d, of in noises.items()}
        return {dtype: one for dtype, one in found.items() if one}

    @property
    def unexpected(self) -> list[CaseResult]:
        """The cases that went wrong and were not expected to."""
        return [result for result in self.results if result.wrong and not result.expected]

    @property
    def expected_failures(self) -> list[CaseResult]:
        """The cases that went wrong as expected."""
        return [result for result in self.results if result.wrong and result.expected]

    @property
    def stale(self) -> list[Use]:
        """The expectations that are of no use any more."""
        return [use for use in self.uses if use.stale]

    @property
    def accepted(self) -> list[Refusal]:
        """The invalid questions that were accepted although they must not be, and not as expected."""
        return [one for one in self.refusals if one.wrong and not one.expected]

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
        """The number of ambiguous cases that follow each reading, by ledger entry."""
        followed: dict[str, Counter[ReadingNames]] = {}
        for result in self.results:
            for ledger, reading in result.followed.items():
                followed.setdefault(ledger, Counter())[reading] += 1
        return followed

    @property
    def exit_status(self) -> int:
        """The status with which `grucible check` exits: 130 where it was interrupted, else 0 or 1.

        It is 0 if nothing is missing or left out, no expectation is stale, and the runtime conforms or every
        failure was expected.
        """
        if self.interrupted:
            return INTERRUPTED
        if self.unexpected or self.accepted or self.counts["missing"] or self.unjudged:
            return 1
        if self.stopped or (self.stale and not self.allow_stale):
            return 1
        expected = self.expected_failures or any(one.wrong for one in self.refusals)
        return 0 if expected or not self._nothing else 1

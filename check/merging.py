"""Merge JSON reports of `grucible check`, of shards or of several machines, into one.

The cases of all reports are one runtime's, so readings, expectations and the verdict are found anew. Each
explanation was tested within its report alone; those alike are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..cases.dtypes import FLOAT_TYPES
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.selection import PLAIN, WHOLE, Shard
from .diagnosis.finding import Diagnosis, Finding, in_order
from .expecting import apply_expectation, find_uses
from .judging.case_result import CaseResult, CaseVerdict
from .judging.criterion import Criterion, Demanded, Tolerance
from .judging.expectations import HOW, Expectation, Expectations, Instead
from .judging.grade import Grade
from .judging.judge import MIXED, judged_alone, one_reading
from .judging.noise import noise_of
from .observed.observations import Origin
from .protocol.header import Fault
from .refusals import Refusal
from .report import Report
from .reports.formats import BY_FILE
from .stored import Count, Number, StoredReport, read_report

_SEEN = "; seen instead: "
_NUMBERS = ("worst_ratio", "worst_abs", "worst_ulp")
_SAME = ("tier", "verdict", "where", "message", "fault", "overwrote", "must_support", "followed",
         "holds", "readings")  # fmt: skip
"""The fields of a case that its result has, too."""


class Part(BaseModel):
    """A part of a stored report."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=False)


class StoredCase(Part):
    """A case of a stored report."""

    id: str
    tier: str
    verdict: CaseVerdict
    worst_ratio: Number
    worst_abs: Number
    worst_ulp: Number
    where: str
    readings: tuple[tuple[str, ...], ...]
    arithmetic: str | None
    judged_by: str | None
    message: str
    fault: Fault | None = None
    overwrote: tuple[str, ...] = ()
    must_support: bool = False
    followed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    holds: tuple[str, ...] = ()
    errors: str = ""
    expected: dict[str, str] | None = None
    instead: str = ""
    diagnosis: tuple[str, ...] = ()
    unexplained: bool = False

    def result(self, known: Expectations) -> CaseResult:
        """Make what was found of the case, before it was compared with others."""
        operator, _, dtype, *_ = [*self.id.split("/", 3), "", ""]
        if operator not in OPERATORS or dtype not in FLOAT_TYPES:
            raise ValueError(f"{self.id}: is of no operator and dtype that are known")
        given: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        given |= {name: float(getattr(self, name)) for name in _NUMBERS}
        one = known.of(self.id)
        seen = self.instead.partition(_SEEN)[2]
        return judged_alone(
            CaseResult(
                self.id, operator, dtype=dtype, **given,
                arithmetic=self.arithmetic or "", judged_by=self.judged_by or "",
                noise=noise_of(self.errors) if self.errors else None,
                expected=one if self.expected else None,
                instead=Instead(one, seen) if one and seen else None,
            )
        )  # fmt: skip


class _Worst(Part):
    ratio: Number
    id: str
    where: str


class _Grade(Part):
    required: str | dict[str, float]
    compared: Count
    holds: dict[str, Count]
    worst: _Worst
    files: dict[str, dict[str, Count]] = Field(default_factory=dict)


def criterion_of(required: str | Mapping[str, float]) -> Criterion:
    """Make the criterion that a report says was required."""
    if isinstance(required, str):
        return Demanded(required)
    return Tolerance(*(required.get(name, 0.0) for name in ("rtol", "atol", "ulp")))


@dataclass(frozen=True)
class _Refused(Refusal):
    """A stored refusal: of the expectation that names it, only the reason is known."""

    expected: dict[str, str] | None = None  # type: ignore[assignment]


class _Vectors(Part):
    path: str
    origins: dict[str, Origin]
    digests: dict[str, str] = Field(default_factory=dict)
    recomputed: Count


class WholeReport(StoredReport):
    """All of a report that a merged one needs."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=False)

    shard: str = Field(str(WHOLE), pattern=r"^[1-9]\d{0,5}/[1-9]\d{0,5}$")
    select: list[str] = Field(default_factory=list)
    vectors: _Vectors
    arithmetic: dict[str, _Grade]  # type: ignore[assignment]
    diagnosis: list[Finding]  # type: ignore[assignment]
    cases: list[StoredCase]  # type: ignore[assignment]
    refusals: list[_Refused] = Field(default_factory=list)  # type: ignore[assignment]
    hints: list[str] = Field(default_factory=list)
    unanswered: list[str] = Field(default_factory=list)
    not_tried: Count = 0
    asked_again: Count = 0
    last_failed: bool = False
    expectations: list[dict[str, Any]] = Field(default_factory=list)
    allow_stale: bool = False

    @property
    def part(self) -> Shard:
        """The shard that the report is of."""
        return Shard(*map(int, self.shard.split("/")))

    @property
    def about(self) -> dict[str, str]:
        """What reports of one runtime and the same vectors have alike, in words, by its name."""
        asked = {
            f"the class of {d}": str(criterion_of(one.required))
            for d, one in self.arithmetic.items()
        }
        digests = {f"the content of {file}": one for file, one in self.vectors.digests.items()}
        known = "; ".join(str([one[name] for name in ("cases", *HOW)]) for one in self.expectations)
        runtime = " ".join(filter(None, self.runtime.values()))
        chosen = {"--select": " ".join(self.select)} if self.part != WHOLE else {}
        return {"runtime": runtime, **asked, **digests, "expectations": known, **chosen}


def merge_reports(paths: Sequence[Path]) -> Report:
    """Merge the reports at several paths.

    Raises GrucibleError for no report, for reports that differ in runtime, classes, vectors or expectations,
    that contradict each other on a case, or that share some cases, and for shards of which one is missing.
    """
    parts = {path: read_report(path, WholeReport) for path in dict.fromkeys(paths)}
    _check_shards(parts)
    alike: dict[str, tuple[Path, str]] = {}
    for path, part in parts.items():
        if part.model is not None:
            raise GrucibleError(f"{path}: is of a model, whose layers are judged together")
        for what, mine in part.about.items():
            first, yours = alike.setdefault(what, (path, mine))
            if mine != yours:
                raise GrucibleError(
                    f"{first} and {path} differ in {what}: {yours[:99] or 'none'}, {mine[:99] or 'none'}; "
                    "merge reports of one runtime and the same vectors"
                )
    kept = _without_copies(parts)
    try:
        return _merge(list(kept.values()))
    except (ValueError, KeyError, TypeError) as error:
        raise GrucibleError(f"{', '.join(map(str, kept))}: cannot be merged: {error}") from None


def _without_copies(parts: Mapping[Path, WholeReport]) -> dict[Path, WholeReport]:
    """Leave out reports whose cases and invalid questions others have, too; none may be contradicted."""
    seen, kept = dict[str, tuple[Path, str]](), dict[Path, WholeReport]()
    for path, part in sorted(parts.items(), key=lambda one: -len(one[1].cases)):
        mine = {one.id: one.verdict for one in part.cases}
        mine |= {one.id: one.outcome for one in part.refusals}  # type: ignore[misc]
        both = mine.keys() & seen.keys()
        for one in sorted(both):
            if mine[one] != seen[one][1]:
                raise GrucibleError(
                    f"{one}: {seen[one][1]} in {seen[one][0]}, {mine[one]} in {path}; "
                    "ask the runtime again, and see `grucible compare`"
                )
        if both and len(both) < len(mine):
            raise GrucibleError(
                f"{path}: has {min(both)} and others that another report has, too, but not all of its cases; "
                "merge reports that share none"
            )
        if not both:
            kept[path] = part
            seen |= {one: (path, verdict) for one, verdict in mine.items()}
    return kept


def _check_shards(parts: Mapping[Path, WholeReport]) -> None:
    shards = {part.part for part in parts.values() if part.part != WHOLE}
    for of in {one.of for one in shards}:
        lacking = sorted({*range(1, of + 1)} - {one.number for one in shards if one.of == of})
        if lacking:
            names = ", ".join(f"{number}/{of}" for number in lacking[:9])
            raise GrucibleError(f"no report is of shard {names}; give the reports of all {of}")


def _merge(parts: Sequence[WholeReport]) -> Report:
    first = min(parts, key=lambda part: part.part)
    fields = ("cases", "reason", "link", *HOW, "place")
    entries = [{name: one[name] for name in fields} for one in first.expectations]
    expectations = tuple(Expectation(**one) for one in entries)
    known = Expectations(expectations)
    cases = sorted(
        chain(*(part.cases for part in parts)),
        key=lambda one: (not one.id.split("/")[1].startswith(PLAIN), one.id),
    )
    alone = [one.result(known) for one in cases]
    results, mixed = one_reading(alone)
    grades = {d: _grade(d, parts) for d in dict.fromkeys(chain(*(p.arithmetic for p in parts)))}
    changed = [now for now, was in zip(results, alone, strict=True) if now is not was]
    for was in (was for now, was in zip(results, alone, strict=True) if now is not was):
        grades[was.dtype].holds.subtract(was.holds)
    found = _diagnosis(parts, cases).with_mixed(mixed, len(changed))
    failed = sum(one.decides and one.verdict == "failed" for one in results)
    found = replace(
        found, failed=failed, findings=[replace(one, of=failed) for one in found.findings]
    )
    again = {one.id for one in changed}
    results = [
        apply_expectation(replace(one, expected=None, instead=None), expected, found)
        if one.id in again and (expected := known.of(one.id))
        else one
        for one in results
    ]
    report = Report(
        runtime=first.runtime["name"],
        runtime_version=first.runtime["version"],
        vectors=first.vectors.path,
        select=list(dict.fromkeys(chain(*(part.select for part in parts)))),
        origins={f: o for part in parts for f, o in part.vectors.origins.items()},
        digests={f: d for part in parts for f, d in part.vectors.digests.items()},
        grades=grades,
        results=results,
        expectations=expectations,
        diagnosis=found,
        recomputed=sum(part.vectors.recomputed for part in parts),
        asked_again=sum(part.asked_again for part in parts),
        interrupted=any(part.interrupted for part in parts),
        stopped=any(part.stopped for part in parts),
        last_failed=all(part.last_failed for part in parts),
        asked=first.pasted if all(part.asked == first.asked for part in parts) else "",
        refusals=list(_refusals(parts, known)),
        allow_stale=all(part.allow_stale for part in parts),
    )
    left_out = {e["cases"] for part in parts for e in part.expectations if e.get("left_out")}
    return find_uses(report, left_out) if expectations else report


def _grade(dtype: str, parts: Sequence[WholeReport]) -> Grade:
    some = [part.arithmetic[dtype] for part in parts if dtype in part.arithmetic]
    found = Grade(dtype, criterion_of(some[0].required))
    for one in some:
        found.compared += one.compared
        found.holds.update(one.holds)
        key = (float(one.worst.ratio), one.worst.id)
        if key > (found.worst, found.worst_id):
            found.worst, found.worst_id, found.worst_where = *key, one.worst.where
        for file, counts in one.files.items():
            for name in BY_FILE:
                getattr(found, name)[file] += counts.get(name, 0)
    return found


def _diagnosis(parts: Sequence[WholeReport], cases: Sequence[StoredCase]) -> Diagnosis:
    """Add up findings of the same names, places and certainty; keep statements that all reports make."""
    alike: dict[Any, list[Finding]] = {}
    for one in chain(*(part.diagnosis for part in parts)):
        if not one.about.startswith(MIXED):
            alike.setdefault((one.kind, one.names, one.where, one.certain), []).append(one)
    findings = [
        replace(
            max(some, key=lambda one: (one.explains, one.about)),
            explains=sum(one.explains for one in some),
            contradicted=sum(one.contradicted for one in some),
        )
        for some in alike.values()
    ]
    named = {one.names: one for one in sorted(findings, key=lambda one: one.explains)}
    hints, unanswered = (
        _shared([getattr(part, name) for part in parts]) for name in ("hints", "unanswered")
    )
    gone = [one.id for one in cases if one.verdict not in ("passed", "failed")]
    return Diagnosis(
        findings=in_order(findings),
        unexplained_ids=frozenset(one.id for one in cases if one.unexplained),
        hints=hints,
        by_case={c.id: named[c.diagnosis] for c in cases if c.diagnosis in named},
        not_tried=sum(part.not_tried for part in parts),
        unanswered=dict.fromkeys(gone, unanswered) if unanswered else {},
    )


def _shared(lists: Sequence[Sequence[str]]) -> list[str]:
    """List the texts that all lists have."""
    return [text for text in lists[0] if all(text in one for one in lists)]


def _refusals(parts: Sequence[WholeReport], known: Expectations) -> Iterator[Refusal]:
    for one in sorted(chain(*(part.refusals for part in parts)), key=lambda one: one.id):
        yield Refusal(**vars(one) | {"expected": known.of(one.id) if one.expected else None})

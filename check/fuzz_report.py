"""What fuzzing found, as JSON: written, read, and merged with what others found of the same runtime."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from ..cases.errors import GrucibleError
from ..cases.files import read_limited
from ..cases.specs.pairs import PairsAsked
from ..cases.strict_json import strict_json
from .fuzz import Fuzzed
from .grouping import Findings, FuzzFinding
from .judging.case_result import CaseResult, CaseVerdict
from .judging.expectations import Expectation, Expectations
from .merging import Part, StoredCase, criterion_of
from .reports.formats import case_value
from .stored import MAX_BYTES, Count, first_error

BEGINS = re.compile(rb"\{\s*\"grucible_fuzz\"")
"""The beginning of a report of fuzzing."""


def fuzz_value(found: Fuzzed) -> dict[str, Any]:
    """Return what was found as plain data."""
    places = Counter((operator, dtype) for operator, dtype, _ in found.tally)
    return {
        "grucible_fuzz": 1,
        "runtime": {"name": found.runtime, "version": found.version},
        "seed": found.seed,
        "required": {dtype: one.as_json() for dtype, one in found.criteria.items()},
        "interrupted": found.interrupted,
        "stopped": found.stopped,
        "lost": found.lost,
        "ranges": found.ranges,
        "replayed": found.replayed,
        "asked_again": found.asked_again,
        "seconds": found.seconds,
        "tally": [
            {"operator": o, "dtype": d}
            | {verdict: found.tally[o, d, verdict] for verdict in CaseVerdict.__args__}  # type: ignore[attr-defined]
            for o, d in sorted(places)
        ],
        "undeciding": found.undeciding,
        "undrawn": dict(found.undrawn.most_common()),
        "unsupported": dict(found.unsupported.most_common()),
        "findings": [_finding(key, one) for (key, _), one in found.findings.items()],
        "readings": [
            {
                "owner": owner,
                "ledger": ledger,
                "reading": reading,
                "cases": count,
                "case": case_value(one),
            }
            for (owner, ledger), followed in found.followed.items()
            for reading, (count, _, one) in followed.items()
        ],
        "pairs": {prefix: pairs.as_json() for prefix, pairs in found.pairs.items()},
    }


def _finding(key: object, one: FuzzFinding) -> dict[str, Any]:
    return {
        "name": _name(key),
        "about": one.about,
        "new": one.new,
        "count": one.count,
        "where": [{"operator": o, "dtype": d, "cases": n} for (o, d), n in one.where.items()],
        "expected": [
            {"operator": o, "dtype": d, **asdict(e)} for (o, d), e in one.expected.items()
        ],
        "cases": list(map(case_value, one.results)),
        "looks_like": list(one.looks_like),
        "hints": list(one.hints),
        "unsteady": one.unsteady,
    }


def _name(key: object) -> str:
    """Name a finding, so that the same one has the same name in every report."""
    return " ".join(map(_name, key)) if isinstance(key, tuple) else str(key)


class _Found(Part):
    name: str
    about: str
    new: bool
    count: Count
    where: list[dict[str, Any]]
    expected: list[dict[str, Any]]
    cases: list[StoredCase]
    looks_like: list[str]
    hints: list[str] = Field(default_factory=list)
    unsteady: str

    def finding(self) -> FuzzFinding:
        """Make the finding."""
        expected = {
            (e.pop("operator"), e.pop("dtype")): Expectation(**e) for e in map(dict, self.expected)
        }
        return FuzzFinding(
            self.about, None, self.new, self.count,
            where=Counter({(one["operator"], one["dtype"]): int(one["cases"]) for one in self.where}),
            expected=expected, read=list(map(_result, self.cases)),
            looks_like=dict.fromkeys(self.looks_like), hints=self.hints, unsteady=self.unsteady,
        )  # fmt: skip


class _Followed(Part):
    owner: str
    ledger: str
    reading: tuple[str, ...]
    cases: Count
    case: StoredCase


class _FuzzReport(Part):
    grucible_fuzz: int = Field(ge=1, le=1)
    runtime: dict[str, str]
    seed: Count
    required: dict[str, str | dict[str, float]]
    interrupted: bool
    stopped: str
    lost: list[str]
    ranges: list[tuple[Count, int, int]]
    replayed: Count
    asked_again: Count
    seconds: float
    tally: list[dict[str, Any]]
    undeciding: Count
    undrawn: dict[str, Count]
    unsupported: dict[str, Count] = Field(default_factory=dict)
    findings: list[_Found]
    readings: list[_Followed]
    pairs: dict[str, dict[str, Any]]


def _result(case: StoredCase) -> CaseResult:
    return case.result(Expectations(()))


def _read(path: Path) -> Fuzzed:
    """Read a report. Raises GrucibleError, in one line, for anything else."""
    try:
        stored = _FuzzReport.model_validate(strict_json(read_limited(path, MAX_BYTES)))
        findings = Findings()
        for one in stored.findings:
            findings[one.name, not one.new] = one.finding()
        followed: dict[Any, Any] = {}
        for two in stored.readings:
            point = followed.setdefault((two.owner, two.ledger), {})
            point[two.reading] = two.cases, None, _result(two.case)
        return Fuzzed(
            stored.runtime["name"], stored.runtime["version"], stored.seed, (),
            {dtype: criterion_of(one) for dtype, one in stored.required.items()}, findings,
            Counter({(t["operator"], t["dtype"], v): int(n) for t in stored.tally for v, n in t.items()
                     if v not in ("operator", "dtype")}),
            stored.undeciding, Counter(stored.undrawn), Counter(stored.unsupported),
            stored.ranges, stored.replayed,
            stored.asked_again, {p: PairsAsked.of_json(one) for p, one in stored.pairs.items()},
            stored.seconds, stored.stopped, stored.interrupted, stored.lost, followed=followed,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError) as error:
        why = first_error(error)
        raise GrucibleError(
            f"{path}: is no report that `grucible fuzz --report json=FILE` writes: {why}"
        ) from None


def merge_fuzz(paths: Sequence[Path]) -> Fuzzed:
    """Merge reports of fuzzing.

    Raises GrucibleError for no report, for reports that differ in runtime or classes, and for a question that
    was asked twice.
    """
    first, *others = dict.fromkeys(paths)
    merged = _read(first)
    for path in others:
        other = _read(path)
        for what, mine, yours in (
            ("runtime", f"{merged.runtime} {merged.version}", f"{other.runtime} {other.version}"),
            ("the classes", _classes(merged.criteria), _classes(other.criteria)),
        ):
            if mine != yours:
                raise GrucibleError(f"{first} and {path} differ in {what}: {mine}, {yours}")
        try:
            merged.merge(other)
        except GrucibleError as error:
            raise GrucibleError(f"{path}: {error}") from None
    merged.two_readings()
    return merged


def _classes(criteria: Mapping[str, Any]) -> str:
    return ", ".join(f"{dtype}={one}" for dtype, one in sorted(criteria.items()))

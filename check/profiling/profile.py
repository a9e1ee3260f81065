"""Profiling a runtime: the plain questions, one feature at a time, and what became of each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...cases.expansion.expand import expand
from ...cases.operators.known import OPERATORS
from ...cases.selection import FEATURES, PLAIN, PLAIN_SIZES
from ...cases.specs.spec_file import SHIPPED, find_specs
from ...gen.variants.known import variant_called
from ..diagnosis.finding import Finding, Names
from ..judging.case_result import CaseResult
from ..judging.criterion import chosen_criteria
from ..observed.pool import RuntimePool
from ..observed.source import FromRuntime
from ..refusals.asking import refusals
from ..refusals.refusal import Refusal
from ..report import Report
from ..reports.findings import report_broken_diagnosis
from ..verdict import judge
from .again import asked_again
from .row import Profile, row_of

REFUSING_SECONDS = 2.0
"""How long a runtime may take over a question that it must refuse: some wait for ever for what a wrong shape
lets them expect."""
_OTHERS = 2
"""So many other explanations are told, where no case tells them from the first."""
_COARSER = ("float64=float32",)
"""What failures are held to: a mistake is told though float64 is computed in float32 besides."""


def profile(
    source: RuntimePool | FromRuntime,
    vectors: Path | None = None,
    select: Sequence[str] = FEATURES,
    advance: Callable[[int], None] = lambda _: None,
    refusing: RuntimePool | None = None,
) -> Profile:
    """What the runtime behind `source` makes of each feature, by the vectors at a path (None: the core).

    Every selected case is a feature, or shares one. Those of theme `plain` are asked twice more in the first
    dtype that is right, so that state which is kept, and memory which is not written, shows. Where a baseline
    is among them, so are the operator's questions that must be refused, in the first dtype; they are asked of
    `refusing`, the same runtime, where it is given. `advance(n)` as cases are judged. Raises GrucibleError
    for vectors that cannot be used, and where nothing is selected.
    """
    report = judge(vectors, source, chosen_criteria(_COARSER), select, advance=advance)
    report_broken_diagnosis(report.diagnosis)
    rows = [row_of(one, _misreading(report, one)) for one in _in_order(report.results)]
    again = list(asked_again(source, vectors, rows, advance))
    stopped = {one.row.operator for one in again if one.stopped}
    asked = [row.operator for row in rows if row.feature == "default"]
    rows += [one.row for one in again]
    refused = _refusals(refusing or source, [one for one in asked if one not in stopped])
    return Profile(source.name, source.version, rows, refused)


def profile_of(
    name: str,
    vectors: Path | None,
    select: Sequence[str],
    timeout: float,
    memory: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Profile:
    """The profile of the runtime called `name`, in one process: it is asked in a known order.

    A question may take `timeout` seconds, the address space of the process `memory` bytes. Without `select`
    all features. Raises RuntimeNotUsable where the runtime does not load, else as `profile`.
    """
    soon = min(timeout, REFUSING_SECONDS)
    with (
        contextlib.closing(RuntimePool(name, timeout, 1, memory)) as source,
        contextlib.closing(RuntimePool(name, soon, 1, memory)) as refusing,
    ):
        _ = refusing.name  # it loads now: how long it takes is not how long it is left alone
        return profile(source, vectors, select or FEATURES, advance, refusing)


def _refusals(source: RuntimePool | FromRuntime, operators: Sequence[str]) -> list[Refusal]:
    """What became of the invalid questions of operators."""
    return [
        one
        for operator in dict.fromkeys(operators)
        for one in refusals(source, [operator], OPERATORS[operator].dtypes()[:1])
    ]


def _misreading(report: Report, result: CaseResult) -> str:
    """What a wrong answer looks like, in the words of its operator; "" where nothing explains it, or where it
    holds a class of arithmetic and is of no mistake that others show."""
    finding = report.diagnosis.by_case.get(result.id)
    if finding is None or finding.kind == "arithmetic":
        return ""
    if result.arithmetic and not _is_found(report, finding):
        return ""
    meant = replace(finding, operator=result.operator)
    said = meant.sentence(_mistakes(finding.names))
    others = [meant.sentence(_mistakes(names)) for names in finding.alternatives[:_OTHERS]]
    perhaps = {one.names for one in report.diagnosis.findings if not one.certain}
    said = "; or, as far as these cases tell: ".join([said, *others])
    return f"{'perhaps: ' * (finding.names in perhaps)}{said}{', ' * bool(finding.where)}{finding.where}"


def _is_found(report: Report, finding: Finding) -> bool:
    """Whether a mistake is one that the diagnosis finds with certainty: then it is no coarse arithmetic."""
    certain = {name for one in report.diagnosis.findings if one.certain for name in one.names}
    return finding.kind == "misreading" and certain.issuperset(finding.names)


def _mistakes(names: Names) -> Names:
    """Without the accepted readings that are followed besides."""
    return tuple(name for name in names if variant_called(name).kind != "reading")


def _in_order(results: Iterable[CaseResult]) -> list[CaseResult]:
    """By operator, then as the specs have the features, then by dtype as they have those."""
    places = _places()
    last = len(places)
    return sorted(results, key=lambda one: (one.operator, places.get(one.id, last)))


@cache
def _places() -> dict[str, int]:
    """The place of each case of the shipped specs of plain questions."""
    found = sorted(SHIPPED.glob(f"*/*/{PLAIN}.yaml")) + sorted(
        SHIPPED.glob(f"*/*/{PLAIN_SIZES}.yaml")
    )
    ids = [case.id for spec in find_specs(tuple(found)) for case in expand(spec)]
    return {case_id: place for place, case_id in enumerate(ids)}

"""A report held against what was expected: the one way there, for a list that was given or just written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..cases.expansion.expand import expand
from ..cases.invalid.questions import invalid_questions
from ..cases.selection import selected
from ..cases.specs.spec_file import find_specs
from ..vectors.find import case_ids
from .expecting.held import Held
from .expecting.use import Unjudged, names, uses
from .judging.expectations import Expectation, Expectations, of_invalid
from .refusals.asking import expected_refusal
from .report import Report


def foretold(
    report: Report, expectations: Sequence[Expectation], vectors: Path | None, select: Sequence[str]
) -> Report:
    """The report on the selected cases of the vectors, where these are the expectations."""
    if not expectations:
        return report
    held = Held(expectations, report.diagnosis, report.failing, looked=not report.interrupted)
    results = [held.result(one) for one in report.results]
    invalid = Expectations(list(filter(of_invalid, expectations)))
    refusals = [expected_refusal(one, invalid) for one in report.refusals]
    without = left_out(report, vectors, select)
    found = uses(expectations, results, refusals, Unjudged(without, _known))
    if report.interrupted:
        for use in found:
            use.stale, use.not_judged = "", use.not_judged or bool(use.stale)
    return replace(
        report,
        results=results,
        refusals=refusals,
        expectations=tuple(expectations),
        uses=tuple(found),
    )


def left_out(report: Report, vectors: Path | None, select: Sequence[str]) -> list[str]:
    """The ids, of the cases of the vectors and of invalid questions where any were asked, that a selection
    left out."""
    if not select:
        return []
    return [
        *(one for one in case_ids(vectors) if not selected(one, select)),
        *_not_asked(report),
    ]


def _not_asked(report: Report) -> Iterator[str]:
    """The ids of invalid questions that a selection left out."""
    if report.refusals:
        asked = {one.id for one in report.refusals}
        yield from (one.id for one in invalid_questions() if one.id not in asked)


def _known(glob: str) -> Iterator[str]:
    """The ids that a glob names of grucible's own cases, and of invalid questions."""
    if glob[:1] in ("*", "?", "["):
        yield from (one for one in _all_ids() if names(glob, one))
        return
    yield from (one.id for one in invalid_questions() if names(glob, one.id))
    for spec in find_specs():
        yield from (case.id for case in expand(spec, (), [glob]) if names(glob, case.id))


@cache
def _all_ids() -> list[str]:
    cases = [case.id for spec in find_specs() for case in expand(spec)]
    return [*cases, *(one.id for one in invalid_questions())]

"""A report held against what was expected: the one way there, for a list that was given or just written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..cases.expansion.expand import expand
from ..cases.invalid.questions import invalid_questions
from ..cases.selection import Ids, is_glob, may_select, selected
from ..cases.specs.spec_file import CaseSpecFile, find_specs
from ..vectors.find import case_ids
from .expecting.held import Held
from .expecting.use import Unjudged, uses
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
    without = Ids(left_out(report, vectors, select))
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
    if not is_glob(glob):
        theme = "/".join(glob.split("/")[:2])
        yield from {glob} & (_invalid_ids() | _ids_of(theme))
        return
    yield from _invalid_ids().matching(glob)
    if glob[0] in "*?[":
        yield from _all_ids().matching(glob)
        return
    for theme in _themes():
        if may_select(f"{theme}/", (glob,)):
            yield from _ids_of(theme).matching(glob)


@cache
def _specs() -> list[CaseSpecFile]:
    return list(find_specs())


@cache
def _themes() -> list[str]:
    return list(dict.fromkeys(f"{spec.model.operator}/{spec.theme}" for spec in _specs()))


@cache
def _all_ids() -> Ids:
    return Ids(case_id for theme in _themes() for case_id in _ids_of(theme))


@cache
def _invalid_ids() -> Ids:
    return Ids(one.id for one in invalid_questions())


@cache
def _ids_of(theme: str) -> Ids:
    """The ids of the cases of an operator's theme, `operator/theme`."""
    mine = (spec for spec in _specs() if f"{spec.model.operator}/{spec.theme}" == theme)
    return Ids(case.id for spec in mine for case in expand(spec))

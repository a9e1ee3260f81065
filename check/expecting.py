"""Compare failures with what is expected of them, and find expectations that are stale."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np

from ..cases.console import shorten
from ..cases.invalid import invalid_questions
from ..cases.operators.readings import without_readings
from ..cases.selection import WHOLE, Ids, selected
from ..cases.specs.expand import expand
from ..cases.specs.spec_file import find_specs
from ..cases.specs.yaml_source import Document, parse, read_text
from ..gen.making import SPECS
from ..gen.variants.known import variant_called
from ..vectors.vector_set import open_set
from .diagnosis.failing import FailingBlock
from .diagnosis.finding import Diagnosis, Names, names_of
from .judging.case_result import CaseResult
from .judging.expectations import (
    HOW,
    UNEXPLAINED,
    BadExpectation,
    Expectation,
    Expectations,
    Instead,
    Use,
    of_invalid,
    says,
)
from .refusals import Refusal
from .report import Report

FIELDS = ("cases", "reason", "link", *HOW)
_MAX_TRIED = 6
"""Maximum misreadings of an expectation that are evaluated together; each doubles the work."""
_MAX_MESSAGE = 200
"""Maximum characters of a message that are shown; a report must stay readable."""


def load_expectations(path: Path) -> list[Expectation]:
    """Read a YAML list of {cases: globs, reason, …}. Raises SpecError, with the line, for anything else."""
    return parse_expectations(str(path), read_text(path, list))


def parse_expectations(name: str, text: str) -> list[Expectation]:
    """Parse a YAML list of expectations, the text of the file `name`. Raises SpecError, with the line."""
    document = parse(name, text, list)
    entries = enumerate(document.value)
    return [one for index, entry in entries for one in _parse_entry(document, index, entry)]


def _parse_entry(document: Document, index: int, entry: Any) -> list[Expectation]:
    if not isinstance(entry, dict):
        raise document.error((index,), "expected a mapping with cases, reason and link")
    for field, value in entry.items():
        if field not in FIELDS:
            expected = f"is not a field here; expected {', '.join(FIELDS)}"
            raise document.error((index, field), expected)
        if value == []:
            raise document.error((index, field), "[]; expected a text")
    for field in ("cases", "reason"):
        if field not in entry:
            raise document.error((index, field), "is missing")
    globs, place = entry["cases"], document.place((index,))
    try:
        return [
            Expectation(**entry | {"cases": one}, place=place)
            for one in (globs if isinstance(globs, list) else [globs])
        ]
    except BadExpectation as error:
        raise document.error((index, error.field), error.why) from None


def apply_expectations(
    report: Report, expectations: Sequence[Expectation], vectors: Path | None, select: Sequence[str]
) -> Report:
    """Mark in a report which failures were expected, and which expectations are stale.

    The report is on the cases of the vectors that `select` matches. In an interrupted report, which has no
    diagnosis, any misreading may explain a failure, and nothing is stale.
    """
    if not expectations:
        return report
    diagnosis = None if report.interrupted else report.diagnosis
    known = Expectations(expectations)
    rows = {
        case_id: (part, row)
        for part in report.failing
        for row, case_id in enumerate(part.block.ids)
    }
    results = [
        apply_expectation(result, one, diagnosis, rows.get(result.id))
        if (one := known.of(result.id))
        else result
        for result in report.results
    ]
    refusals = [replace(one, expected=_expected_refusal(one, known)) for one in report.refusals]
    report = replace(report, results=results, refusals=refusals, expectations=tuple(expectations))
    without = Ids(find_left_out(report, vectors, select))
    left_out = [one.cases for one in expectations if without.matching(one.cases)]
    return find_uses(report, left_out)


def find_uses(report: Report, left_out: Collection[str]) -> Report:
    """Find the use of each expectation of a report; `left_out` are globs that name cases not selected.

    In a report that is unfinished or one of several, nothing is stale.
    """
    known, judged = Expectations(report.expectations), [*_judged(report)]
    uses = [Use(one, left_out=one.cases in left_out) for one in report.expectations]
    for found in judged:
        if (place := known.first(found.id)) is not None:
            getattr(uses[place], _name_use(found)).append(found.id)
    uses = [use for use in uses if report.refusals or not of_invalid(use.expectation)]
    ids = Ids(found.id for found in judged)
    for use in uses:
        _find_stale(use, ids, known)
        if report.unfinished or report.shard != WHOLE:
            use.stale, use.not_judged = "", use.not_judged or bool(use.stale)
    return replace(report, uses=tuple(uses))


def _judged(report: Report) -> Iterator[CaseResult | Refusal]:
    """Yield what decides: cases, and invalid questions."""
    yield from (one for one in report.results if one.decides)
    yield from report.refusals


def _expected_refusal(one: Refusal, known: Expectations) -> Expectation | None:
    """Find the expectation that names an invalid question, unless it expects another message."""
    expected = known.of(one.id)
    if expected and one.wrong and expected.message:
        # if outputs came back, the message about them is the judge's own
        return expected if not one.answered and says(one.message, expected.message) else None
    return expected


def _name_use(one: CaseResult | Refusal) -> str:
    """Name the field of a `Use` that a case or an invalid question belongs to."""
    verdict = one.outcome if isinstance(one, Refusal) else one.verdict
    if one.accepted if isinstance(one, Refusal) else one.wrong:
        return "failed" if one.expected else "otherwise"
    return {"passed": "passed", "refused": "passed", "unsupported": "silent"}.get(
        verdict, "unknown"
    )


def apply_expectation(
    result: CaseResult,
    one: Expectation,
    diagnosis: Diagnosis | None,
    failing: tuple[FailingBlock, int] | None = None,
) -> CaseResult:
    """Add to a result the expectation that names its case, or what was seen instead of it.

    Expected misreadings are compared with those of the `diagnosis`; without a diagnosis, any may explain a
    failure. A diagnosis explains all failures together. Where it names other misreadings for this case, the
    expected ones still count if they give what was observed in this row of the `failing` block.
    """
    if not result.wrong or _is_as_expected(result, one, diagnosis, failing):
        return replace(result, expected=one)
    return replace(result, instead=Instead(one, _describe(result, diagnosis or Diagnosis())))


def _is_as_expected(
    result: CaseResult,
    one: Expectation,
    diagnosis: Diagnosis | None,
    failing: tuple[FailingBlock, int] | None,
) -> bool:
    if not one.says_how or not set(one.observed).isdisjoint(result.holds):
        return True
    if result.verdict != "failed":
        return says(result.message, one.message)
    if not one.diagnosis:
        return False
    if UNEXPLAINED in one.diagnosis or diagnosis is None:
        return True
    found = diagnosis.by_case.get(result.id)
    each = (found.names, *found.alternatives) if found else ()
    if any({*without_readings(names)} <= {*one.diagnosis} for names in each):
        return True
    return failing is not None and bool(find_explaining(one.diagnosis, *failing))


def find_explaining(names: Collection[str], part: FailingBlock, row: int) -> Names:
    """Find the fewest misreadings, of the first few, that give what was observed in a row; () for none.

    Readings may be followed besides. What these give alone, no misreading explains.
    """
    variants = [variant_called(name) for name in islice(names, _MAX_TRIED)]
    some = [one for n in range(len(variants) + 1) for one in combinations(variants, n)]
    besides = [reading for reading in part.block.answers if not {*reading} & {*names}]
    readings = [tuple(map(variant_called, reading)) for reading in besides]
    tried = list(product(some, readings))
    [off] = part.rows(np.array([row])).distances([a + b for a, b in tried], known=True).T
    return next((names_of(a) for (a, _), one in zip(tried, off, strict=True) if one <= 1.0), ())


def _describe(result: CaseResult, diagnosis: Diagnosis) -> str:
    """Describe how a case went wrong."""
    quoted = f'"{shorten(result.message, _MAX_MESSAGE)}"'
    if result.verdict != "failed":
        kind = result.fault.kind if result.fault else result.verdict
        words = {"unsupported": "unsupported", "crashed": "a crash", "hung": "a hang"}
        return f"{words.get(kind, 'an error')}, {quoted}"
    if found := diagnosis.by_case.get(result.id):
        return f"diagnosis {' and '.join(found.names)}"
    return f"observed {result.arithmetic}" if result.holds else f"wrong numbers, {quoted}"


def find_left_out(report: Report, vectors: Path | None, select: Sequence[str]) -> list[str]:
    """Find the ids that a selection left out: cases and, if any were asked, invalid questions."""
    if not select or (vectors and vectors.suffix in SPECS):
        return []
    every = open_set(vectors)
    found = [one for one in every.ids if not selected(one, select)]
    asked = {one.id for one in report.refusals}
    invalid = invalid_questions() if asked else ()
    return [*found, *(one.id for one in invalid if one.id not in asked)]


def _find_stale(use: Use, judged: Ids, known: Expectations) -> None:
    """Find out whether none of a use's cases fails any more, or whether they were not judged."""
    if use.failed or use.otherwise or use.unknown:
        return
    glob, passed, silent = use.expectation.cases, len(use.passed), len(use.silent)
    if use.left_out:
        use.not_judged = True
    elif silent:
        use.stale = f"no case of it fails: {passed} passed, {silent} unsupported"
    elif passed:
        use.stale = "its only case passes" if passed == 1 else "every case of it passes"
    elif any(known.of(one) is use.expectation for one in _known_ids().matching(glob)):
        use.not_judged = True
    elif judged.matching(glob):
        use.stale = "never the first that names a case: others stand before it"
    else:
        use.stale = "names no case"


@cache
def _known_ids() -> Ids:
    """Expand the ids of all of grucible's own cases and invalid questions."""
    cases = [case.id for spec in find_specs() for case in expand(spec)]
    return Ids([*cases, *(one.id for one in invalid_questions())])

"""Compare failures with what is expected of them, and find expectations that are stale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ..cases.errors import GrucibleError
from ..cases.invalid import invalid_questions
from ..cases.selection import Ids, is_glob, selected
from ..cases.specs.expand import expand
from ..cases.specs.spec_file import find_specs
from ..cases.specs.yaml_source import Document, parse, read_text
from ..gen.variants.known import variant_called
from ..vectors.vector_set import open_set
from .diagnosis.failing import FailingBlock
from .diagnosis.finding import Diagnosis
from .judging.case_result import CaseResult
from .judging.expectations import (
    HOW,
    UNEXPLAINED,
    BadExpectation,
    Expectation,
    Expectations,
    Instead,
    Use,
    check_globs,
    of_invalid,
    says,
)
from .refusals import Refusal, expected_refusal
from .report import Report

FIELDS = ("cases", "reason", "link", *HOW)
_MAX_TRIED = 6
"""Maximum misreadings of an expectation that are evaluated together; each doubles the work."""
_MAX_MESSAGE = 200
"""Maximum characters of a message that are shown."""


def load_expectations(path: Path) -> list[Expectation]:
    """Read a YAML list of {cases: glob, reason, …}; SpecError, with the line, for anything else."""
    return parse_expectations(parse(str(path), read_text(path, list), list))


def parse_expectations(document: Document) -> list[Expectation]:
    """Parse the expectations of a YAML document that is a list; SpecError, with the line, for others."""
    found = [_parse_entry(document, index, entry) for index, entry in enumerate(document.value)]
    check_globs(found)
    return found


def _parse_entry(document: Document, index: int, entry: Any) -> Expectation:
    if not isinstance(entry, dict):
        raise document.error((index,), "expected a mapping with cases, reason and link")
    for field, value in entry.items():
        if field not in FIELDS:
            expected = f"is not a field here; expected {', '.join(FIELDS)}"
            raise document.error((index, field), expected)
        if not isinstance(value, str) and not (field in HOW and isinstance(value, list) and value):
            raise document.error((index, field), f"{value!r}; expected a text")
    for field in ("cases", "reason"):
        if field not in entry:
            raise document.error((index, field), "is missing")
    try:
        return Expectation(**entry, place=document.place((index,)))
    except BadExpectation as error:
        raise document.error((index, error.field), error.why) from None


def check_expectations(expectations: Sequence[Expectation], *, diagnosed: bool) -> None:
    """Raise GrucibleError for too many globs, and for a diagnosis expected where none is made."""
    check_globs(expectations)
    for one in expectations:
        if one.diagnosis and not diagnosed:
            place = f"{one.place}: " if one.place else ""
            raise GrucibleError(
                f"{place}expects diagnosis {one.diagnosis[0]} of {one.cases!r}, and failures are not to be "
                "diagnosed; leave --no-diagnose out"
            )


def apply_expectations(
    report: Report, expectations: Sequence[Expectation], vectors: Path | None, select: Sequence[str]
) -> Report:
    """Mark what was expected in a report on the selected cases of the vectors, and what is stale.

    In an interrupted report, which has no diagnosis, any misreading may explain a failure, and nothing is
    stale.
    """
    if not expectations:
        return report
    diagnosis = None if report.interrupted else report.diagnosis
    known = Expectations(expectations)
    failing = {
        case_id: (part, row)
        for part in report.failing
        for row, case_id in enumerate(part.block.ids)
    }
    results = [
        apply_expectation(one, expected, diagnosis, failing.get(one.id))
        if (expected := known.of(one.id))
        else one
        for one in report.results
    ]
    invalid = Expectations(list(filter(of_invalid, expectations)))
    refusals = [expected_refusal(one, invalid) for one in report.refusals]
    uses = _find_uses(expectations, results, refusals)
    without = Ids(find_left_out(report, vectors, select))
    every = Ids(one.id for one in results if one.decides), Ids(one.id for one in refusals)
    for use in uses:
        _find_stale(use, every[of_invalid(use.expectation)], known, without)
        if report.interrupted:
            use.stale, use.not_judged = "", use.not_judged or bool(use.stale)
    return replace(
        report, results=results, refusals=refusals,
        expectations=tuple(expectations), uses=tuple(uses),
    )  # fmt: skip


def apply_expectation(
    result: CaseResult,
    one: Expectation,
    diagnosis: Diagnosis | None,
    failing: tuple[FailingBlock, int] | None = None,
) -> CaseResult:
    """Add to a result the expectation that names its case, or what was seen instead of it.

    Names are compared with those of the `diagnosis`; without one, any misreading may explain a failure. The
    diagnosis names one explanation for all that failed together: where its names are others, the expected
    misreadings count if they give what was observed in a row of a `failing` block.
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
    if found and any({*names} <= {*one.diagnosis} for names in (found.names, *found.alternatives)):
        return True
    return failing is not None and _are_explaining(one.diagnosis[:_MAX_TRIED], *failing)


def _are_explaining(names: Sequence[str], part: FailingBlock, row: int) -> bool:
    """Whether misreadings, alone or together, give what was observed in a row."""
    variants = [variant_called(name) for name in names]
    tried = [some for n in range(1, len(variants) + 1) for some in combinations(variants, n)]
    alone = part.rows(np.array([row]))
    return any((alone.distances(tried, loose=loose) <= 1.0).any() for loose in (False, True))


def _describe(result: CaseResult, diagnosis: Diagnosis) -> str:
    """Describe how a case went wrong."""
    words = " ".join(result.message.split())
    quoted = f'"{words if len(words) <= _MAX_MESSAGE else words[:_MAX_MESSAGE] + "…"}"'
    if result.verdict == "unsupported":
        return f"unsupported, {quoted}"
    if result.verdict == "error":
        crashed = result.fault and result.fault.kind == "crashed"
        return f"{'a crash' if crashed else 'an error'}, {quoted}"
    if found := diagnosis.by_case.get(result.id):
        return f"diagnosis {' and '.join(found.names)}"
    return f"observed {result.arithmetic}" if result.holds else f"wrong numbers, {quoted}"


def find_left_out(report: Report, vectors: Path | None, select: Sequence[str]) -> list[str]:
    """Find the ids that a selection left out of the vectors and of what invalid questions were asked."""
    if not select:
        return []
    every = open_set(vectors)
    found = [one for one in every.ids if not selected(one, select)]
    asked = {one.id for one in report.refusals}
    invalid = invalid_questions() if asked else ()
    return [*found, *(one.id for one in invalid if one.id not in asked)]


def _find_uses(
    expectations: Sequence[Expectation], results: Iterable[CaseResult], refusals: Sequence[Refusal]
) -> list[Use]:
    """Find the use of each expectation; of those of invalid questions only where these were asked."""
    uses = [Use(one) for one in expectations]
    known = Expectations(expectations)
    for result in results:
        if not result.decides or (place := known.first(result.id)) is None:
            continue
        use = uses[place]
        if result.wrong:
            (use.otherwise if result.instead else use.failed).append(result.id)
        elif result.verdict == "unsupported":
            use.silent += 1
        else:
            (use.passed if result.verdict == "passed" else use.unknown).append(result.id)
    invalid = [use for use in uses if of_invalid(use.expectation)]
    known = Expectations([use.expectation for use in invalid])
    for one in refusals:
        if (place := known.first(one.id)) is None:
            continue
        use = invalid[place]
        if one.accepted:
            (use.failed if one.expected else use.otherwise).append(one.id)
        else:
            (use.passed if one.outcome == "refused" else use.unknown).append(one.id)
    return [use for use in uses if refusals or not of_invalid(use.expectation)]


def _find_stale(use: Use, judged: Ids, known: Expectations, left_out: Ids) -> None:
    """Find out whether none of a use's cases fails any more, or whether they were not judged."""
    if use.failed or use.otherwise or use.unknown:
        return
    glob = use.expectation.cases
    if _named(glob, left_out):
        use.not_judged = True
    elif use.silent:
        use.stale = f"no case of it fails: {len(use.passed)} passed, {use.silent} unsupported"
    elif use.passed:
        use.stale = "its only case passes" if len(use.passed) == 1 else "every case of it passes"
    elif any(known.of(one) is use.expectation for one in _named(glob, _known_ids())):
        use.not_judged = True
    elif _named(glob, judged):
        use.stale = "never the first that names a case: others stand before it"
    else:
        use.stale = "names no case"


def _named(glob: str, ids: Ids) -> list[str]:
    """Find the ids that an expectation's glob names; without a wildcard, it is an id."""
    return ids.matching(glob) if is_glob(glob) else [glob] * (glob in ids)


@cache
def _known_ids() -> Ids:
    """Expand the ids of all of grucible's own cases and invalid questions."""
    cases = [case.id for spec in find_specs() for case in expand(spec)]
    return Ids([*cases, *(one.id for one in invalid_questions())])

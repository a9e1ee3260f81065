"""What each expectation is good for: what it names of what was judged, and whether it is stale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...cases.selection import Ids, is_glob, matches
from ..judging.case_result import CaseResult
from ..judging.expectations import Expectation, Expectations, of_invalid
from ..refusals.refusal import Refusal


@dataclass
class Use:
    """What an expectation is the first to name of the deciding cases, or of the invalid questions.

    Ids: `failed` went wrong as expected, `otherwise` in another way, `passed` did not, as it were right,
    `unknown` is what was missing, or not asked; `silent` counts those that are unsupported. `stale` says why
    it is of no use any more, in words; `not_judged` that what it names was not judged here, or not all of it.
    """

    expectation: Expectation
    failed: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    silent: int = 0
    stale: str = ""
    not_judged: bool = False

    @property
    def too_broad(self) -> bool:
        """Whether it would excuse cases that pass today."""
        return bool(self.failed and self.passed)


@dataclass(frozen=True)
class Unjudged:
    """Ids of cases that were not judged: `left_out` by a selection, of the vectors given; `elsewhere` gives
    those that a glob names of all that are known, of these vectors or not."""

    left_out: Ids = field(default_factory=Ids)
    elsewhere: Callable[[str], Iterable[str]] = lambda _: ()


def uses(
    expectations: Sequence[Expectation],
    results: Iterable[CaseResult],
    refusals: Sequence[Refusal],
    unjudged: Unjudged,
) -> list[Use]:
    """The use of each expectation that is of what was judged: without refusals, none of invalid questions.

    One is stale if none of its cases fails any more and none was left out, or if there is no case, judged or
    not, that it is the first to name.
    """
    found = [Use(one) for one in expectations]
    known = Expectations(expectations)
    ids = []
    for result in results:
        if result.decides:
            ids.append(result.id)
            place = known.first(result.id)
            if place is not None:
                _count(found[place], result)
    _count_refusals(found, refusals)
    every, asked = Ids(ids), Ids(one.id for one in refusals)
    told = [use for use in found if refusals or not of_invalid(use.expectation)]
    for use in told:
        _judge(use, asked if of_invalid(use.expectation) else every, known, unjudged)
    return told


def _count(use: Use, result: CaseResult) -> None:
    if result.wrong:
        (use.otherwise if result.instead else use.failed).append(result.id)
    elif result.verdict == "passed":
        use.passed.append(result.id)
    elif result.verdict == "missing":
        use.unknown.append(result.id)
    else:
        use.silent += 1


def _count_refusals(found: Sequence[Use], refusals: Sequence[Refusal]) -> None:
    mine = [use for use in found if of_invalid(use.expectation)]
    known = Expectations([use.expectation for use in mine])
    for one in refusals:
        place = known.first(one.id)
        if place is None:
            continue
        use = mine[place]
        if one.accepted:
            (use.failed if one.expected else use.otherwise).append(one.id)
        else:
            (use.passed if one.outcome == "refused" else use.unknown).append(one.id)


def _judge(use: Use, ids: Ids, known: Expectations, unjudged: Unjudged) -> None:
    """Say whether it is stale, or was not judged."""
    if use.failed or use.otherwise or use.unknown:
        return
    glob = use.expectation.cases
    if _named(glob, unjudged.left_out):
        use.not_judged = True
    elif use.passed or use.silent:
        use.stale = _fails_no_more(use)
    elif any(known.of(one) is use.expectation for one in unjudged.elsewhere(glob)):
        use.not_judged = True
    elif _named(glob, ids):
        use.stale = "never the first that names a case: others stand before it"
    else:
        use.stale = "names no case"


def _fails_no_more(use: Use) -> str:
    if not use.silent:
        return "its only case passes" if len(use.passed) == 1 else "every case of it passes"
    return f"no case of it fails: {len(use.passed)} passed, {use.silent} unsupported"


def _named(glob: str, ids: Ids) -> bool:
    """Whether an expectation's glob names one of the ids: what has no wildcard is looked up."""
    return bool(ids.matching(glob)) if is_glob(glob) else glob in ids


def names(glob: str, case_id: str) -> bool:
    """Whether an expectation's glob names a case; what has no wildcard names one id."""
    return matches(case_id, glob) if is_glob(glob) else case_id == glob

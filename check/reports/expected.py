"""What a report says of expectations: what they were good for, what was seen instead, and what is stale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..globs import find_globs
from ..judging.case_result import CaseResult
from ..judging.expectations import Use
from ..report import Report
from .messages import masked
from .wrapping import head_and_tail, width, wrapped

_SHOWN = 10
_MOST_NARROWER = 3


def expected_lines(report: Report) -> Iterator[str]:
    """The expectations that are in use, and what is to be done about the others."""
    yield from _otherwise([r for r in report.unexpected if r.instead])
    in_use = [use for use in report.uses if not use.stale and not use.not_judged]
    if in_use:
        yield ""
        yield "expected findings:"
        alike: dict[tuple[str, str], list[Use]] = {}
        for use in in_use:
            alike.setdefault((use.expectation.reason, use.expectation.link), []).append(use)
        for uses in alike.values():
            yield from _in_use(uses)
    passed = report.unexpected_passes
    for result in passed[:_SHOWN]:
        yield head_and_tail(f"  passed unexpectedly: {result.id}", width())
    if len(passed) > _SHOWN:
        yield f"  … and {len(passed) - _SHOWN} more"
    yield from _not_judged([use for use in report.uses if use.not_judged])
    yield from _too_broad(report)
    yield from _says_nothing(in_use)
    yield from _stale(report)


def _otherwise(results: Sequence[CaseResult]) -> Iterator[str]:
    """Cases that went wrong in another way than expected, those together of which the same is said."""
    alike: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        if result.instead:
            way = (result.instead.expectation.cases, masked(result.instead.seen))
            alike.setdefault(way, []).append(result)
    if not alike:
        return
    yield ""
    yield "wrong in another way than expected:"
    groups = sorted(alike.values(), key=lambda cases: -len(cases))
    for cases in groups[:_SHOWN]:
        first = cases[0]
        more = f", and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield head_and_tail(f"  {first.id}", width() - len(more)) + more
        if first.instead:
            yield from wrapped(first.instead.in_words, indent=4)
    if len(groups) > _SHOWN:
        yield f"  … and {len(groups) - _SHOWN} other ways"


def _in_use(uses: Sequence[Use]) -> Iterator[str]:
    """The globs of one reason, and how many cases each excuses."""
    for use in uses[:_SHOWN]:
        count = len(use.failed)
        note = f", {len(use.passed)} passed unexpectedly" if use.passed else ""
        yield f"  {count:6} {'case' if count == 1 else 'cases'}{note}: {use.expectation.cases}"
    if len(uses) > _SHOWN:
        more = sum(len(use.failed) for use in uses[_SHOWN:])
        yield f"  {more:6} {'case' if more == 1 else 'cases'}: … {len(uses) - _SHOWN} more entries"
    yield from wrapped(uses[0].expectation.reason, indent=9)
    if uses[0].expectation.link:
        yield f"         {uses[0].expectation.link}"


def _not_judged(found: Sequence[Use]) -> Iterator[str]:
    if found:
        told = "expectation names cases" if len(found) == 1 else "expectations name cases"
        yield from wrapped(
            f"{len(found)} {told} that were not judged here, not all of them", indent=2
        )


def _too_broad(report: Report) -> Iterator[str]:
    """Globs that would excuse more than fails today."""
    found = [use for use in report.uses if use.too_broad]
    if not found:
        return
    yield ""
    yield "could excuse more than fails today:"
    for use in found[:_SHOWN]:
        place = f"{use.expectation.place}: " if use.expectation.place else ""
        yield from wrapped(
            f"{place}{use.expectation.cases} names {len(use.passed)} that pass; {_narrower(use, report)}",
            indent=2, more=4, cut=False,
        )  # fmt: skip
    if len(found) > _SHOWN:
        yield f"  … and {len(found) - _SHOWN} more"


def _narrower(use: Use, report: Report) -> str:
    """How to name what fails, and nothing else that fails or passes."""
    mine = set(use.failed)
    others = [
        r.id
        for r in report.results
        if r.decides and r.verdict != "unsupported" and r.id not in mine
    ]
    globs, left = find_globs(use.failed, others, _MOST_NARROWER)
    named = [*globs, *left]
    if len(named) <= _MOST_NARROWER:
        return f"narrower: {' and '.join(named)}"
    return f"nothing short tells them apart, and what it expects holds them: {use.expectation.in_words}"


def _says_nothing(in_use: Sequence[Use]) -> Iterator[str]:
    count = sum(bool(use.failed) and not use.expectation.says_how for use in in_use)
    if count:
        told = f"{count} of them {'excuses' if count == 1 else 'excuse'} any failure"
        yield from wrapped(
            f"{told}: say what is expected, by observed, message or diagnosis", indent=2
        )


def _stale(report: Report) -> Iterator[str]:
    if not report.stale:
        return
    yield ""
    status = "" if report.allow_stale else "; exit status 1 without --allow-stale"
    yield f"stale expectations, to be taken out{status}:"
    for use in report.stale[:_SHOWN]:
        place = f"{use.expectation.place}: " if use.expectation.place else ""
        yield from wrapped(
            f"{place}{use.expectation.cases}: {use.stale}", indent=2, more=4, cut=False
        )
    if len(report.stale) > _SHOWN:
        counts = Counter(use.stale for use in report.stale[_SHOWN:])
        told = ", ".join(f"{count} {why}" for why, count in counts.most_common(3))
        yield f"  … and {len(report.stale) - _SHOWN} more: {told}"

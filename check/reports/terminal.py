"""The report as a person reads it, at 80 columns: the verdict first, then why."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from ...cases.operators.readings import READINGS, ReadingNames, about
from ..judging.case_result import CaseResult
from ..judging.expectations import of_invalid
from ..observed.origin import ORIGINS
from ..reach import in_words
from ..report import CORE, Report
from .diagnosis import diagnosis_in_short, diagnosis_lines
from .messages import masked
from .refusals import how_many_refused, in_short, refusal_lines
from .wrapping import WIDTH, clipped, head_and_tail, wrapped

_SHOWN = 10
BASIS = {
    "text": "the specification's text",
    "owner": "the owner's runtime, or the one that all test against",
    "choice": "our choice",
}


def report_lines(report: Report) -> Iterator[str]:
    """The lines of the report."""
    yield headline(report)
    yield from _reach(report)
    version = f" {report.runtime_version}" if report.runtime_version else ""
    total = len(report.results)
    anew = f"; {report.recomputed} of {total} answers recomputed, all as stored"
    yield f"{report.runtime}{version}: {total} cases, {_files(report)}{anew if report.recomputed else ''}"
    yield from diagnosis_lines(report.diagnosis)
    yield from _table(report)
    yield from _arithmetic(report)
    yield from _readings(report)
    yield from _failed([r for r in report.unexpected if r.verdict == "failed"])
    yield from _by_message("errors:", [r for r in report.unexpected if r.verdict == "error"])
    yield from _by_message("unsupported, but --require names them:", report.refused)
    yield from _missing([r for r in report.results if r.decides and r.verdict == "missing"])
    yield from refusal_lines(report.refusals)
    yield from _expected(report)
    yield from _unsupported(report)
    yield from _start(report)


def _files(report: Report) -> str:
    """How many vector files, and where they come from."""
    count = len(report.origins)
    files = f"{'file' if count == 1 else 'files'} of {report.vectors}"
    origins = Counter(report.origins.values())
    if origins["published"] == count:
        return f"{count} published {files}"
    told = [f"{origins[one]} {words}" for one, words in ORIGINS.items() if origins[one]]
    return f"{count} {files}: {', '.join(told)}"


def headline(report: Report) -> str:
    """The verdict, and what it rests on, in a sentence."""
    counts = report.counts
    total = sum(counts.values())
    passed = f"{counts['passed']} of {total} cases passed"
    parts = [passed if report.results else how_many_refused(report.refusals)]
    if report.undeciding:
        parts.append(f"{report.undeciding} decide{'s' * (report.undeciding == 1)} nothing")
    for verdict, word in (("failed", "failed"), ("error", "errors"), ("missing", "missing")):
        if counts[verdict]:
            parts.append(f"{counts[verdict]} {word}")
    if counts["unsupported"]:
        refused = len(report.refused)
        named = f", {refused} of them in spite of --require" if refused else ""
        parts.append(f"{counts['unsupported']} unsupported{named}")
    if report.expected_failures:
        known = len(report.expected_failures)
        parts.append(
            "all of them expected" if not report.unexpected else f"{known} of them expected"
        )
    if accepted := in_short(report.refusals):
        parts.append(accepted)
    if report.interrupted:
        parts.append("interrupted before the others")
    return f"{report.verdict}: {', '.join(parts)}{diagnosis_in_short(report.diagnosis)}"


def _reach(report: Report) -> Iterator[str]:
    """Which operators the verdict is about, where that is not all of every one."""
    if report.counts["unsupported"]:
        for sentence in in_words(report.reach):
            yield from wrapped(sentence, indent=2, more=4)


def _table(report: Report) -> Iterator[str]:
    if not report.results:
        return
    yield ""
    yield f"{'':11}{'cases':>6}{'passed':>8}{'failed':>8}{'errors':>8}{'missing':>9}{'unsupported':>13}"
    groups: dict[str, list[CaseResult]] = {}
    for result in report.results:
        groups.setdefault(result.dtype if result.decides else result.tier, []).append(result)
    for name, results in sorted(groups.items(), key=lambda group: not group[1][0].decides):
        c = Counter(result.verdict for result in results)
        note = "" if results[0].decides else "  does not decide"
        yield (
            f"{name:11}{len(results):6}{c['passed']:8}{c['failed']:8}{c['error']:8}"
            f"{c['missing']:9}{c['unsupported']:13}{note}"
        )


def _arithmetic(report: Report) -> Iterator[str]:
    grades = [grade for grade in report.grades.values() if grade.compared]
    if not grades:
        return
    yield ""
    yield f"{'arithmetic':12}{'required':21}{'observed':19}{'worst ratio':>11}"
    for grade in grades:
        observed = ", ".join([grade.observed, *grade.observed_too]) or "none of them"
        yield f"{grade.dtype:12}{grade.required!s:21}{observed:19}{_short(grade.worst):>11}"
    for grade in grades:
        if count := grade.undeciding.total():
            files = [name for name, cases in grade.undeciding.items() if cases]
            yield from wrapped(
                f"{count} of the {grade.dtype} cases decide{'s' * (count == 1)} nothing: "
                f"{grade.required!s} admits more than the value for over half of the elements, "
                f"in {_named(files)}",
                indent=2,
            )


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _readings(report: Report) -> Iterator[str]:
    for ledger, followed in report.readings_followed.items():
        yield ""
        consistent = "" if len(followed) == 1 else ", not the same in every case"
        yield f"the reading followed where the text is ambiguous (ledger: {ledger}){consistent}:"
        for names, count in followed.most_common():
            yield from wrapped(f"{count:6}  {_reading(names, ledger)}", indent=0, more=8)


def _reading(names: ReadingNames, ledger: str) -> str:
    if names:
        return f"{' and '.join(names)}: {about(names)}"
    [reading] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"as stored: {reading.stored} (basis: {BASIS[reading.basis]})"


def _failed(results: Sequence[CaseResult]) -> Iterator[str]:
    """The plainest failures, of each dtype in turn."""
    if not results:
        return
    yield ""
    yield "failed (the plainest of each dtype first):"
    for result in _plainest(results)[:_SHOWN]:
        yield f"  {result.id}"
        told = result.message
        if result.worst_ratio > 1.0:
            told = (
                f"{result.where}: {told}; off by {result.worst_abs:.3g}, "
                f"{result.worst_ratio:.3g} × tolerance"
            )
        yield from wrapped(told, indent=4)
    yield from _and_more(len(results))


def _plainest(results: Sequence[CaseResult]) -> list[CaseResult]:
    """The plainest first, of each dtype in turn."""
    placed: Counter[str] = Counter()
    order = []
    for place, result in enumerate(sorted(results, key=lambda r: r.plainness)):
        placed[result.dtype] += 1
        order.append((placed[result.dtype], place, result))
    return [entry[2] for entry in sorted(order, key=lambda entry: entry[:2])]


def _start(report: Report) -> Iterator[str]:
    """What to look at first."""
    failed = [r for r in report.unexpected if r.verdict == "failed"]
    if report.diagnosis.unexplained:
        unexplained = [r for r in failed if r.id not in report.diagnosis.by_case]
        failed = unexplained or failed
    if failed:
        vectors = "" if report.vectors == CORE else f"{shlex.quote(report.vectors)} "
        yield ""
        first = min(failed, key=lambda r: (r.plainness, r.dtype != "float32"))
        yield f"start with: grucible show {vectors}{first.id}"


def _by_message(title: str, results: Sequence[CaseResult]) -> Iterator[str]:
    """Cases that gave a message and no outputs, those together whose messages differ in no more than
    numbers and dtypes."""
    if not results:
        return
    yield ""
    yield title
    alike: dict[str, list[CaseResult]] = {}
    for result in results:
        alike.setdefault(masked(result.message), []).append(result)
    groups = sorted(alike.values(), key=lambda cases: -len(cases))
    for cases in groups[:_SHOWN]:
        yield from wrapped(head_and_tail(cases[0].message, 3 * WIDTH), indent=2)
        yield f"    {cases[0].id}"
        if len(cases) > 1:
            yield f"    and {len(cases) - 1} more"
    if len(groups) > _SHOWN:
        yield f"  … and {len(groups) - _SHOWN} other messages; --report json=FILE has all of them"


def _missing(results: Sequence[CaseResult]) -> Iterator[str]:
    if not results:
        return
    yield ""
    yield "missing:"
    yield from (f"  {result.id}" for result in results[:_SHOWN])
    yield from _and_more(len(results))
    for message, count in Counter(r.message for r in results).most_common(_SHOWN):
        told = head_and_tail(message, 8 * WIDTH)
        yield from wrapped(f"{count:8}  {told}", indent=0, more=10, cut=False)


def _and_more(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"  … and {count - _SHOWN} more; --report json=FILE has all of them"


def _expected(report: Report) -> Iterator[str]:
    told = [one for one in report.expectations if report.refusals or not of_invalid(one)]
    if not told:
        return
    yield ""
    yield "expected findings:"
    seen = Counter(result.expected for result in report.expected_failures)
    seen.update(one.expected for one in report.refusals if one.accepted)
    passed = Counter(result.expected for result in report.unexpected_passes)
    for expectation in told:
        note = f", {passed[expectation]} passed unexpectedly" if passed[expectation] else ""
        count = seen[expectation]
        yield f"  {count:6} {'case' if count == 1 else 'cases'}{note}: {expectation.cases}"
        yield from wrapped(expectation.reason, indent=9)
        if expectation.link:
            yield f"         {expectation.link}"
    for result in report.unexpected_passes[:_SHOWN]:
        yield f"  passed unexpectedly: {result.id}"
    if len(report.unexpected_passes) > _SHOWN:
        yield f"  … and {len(report.unexpected_passes) - _SHOWN} more"


def _unsupported(report: Report) -> Iterator[str]:
    reasons = Counter(r.message for r in report.results if r.decides and r.verdict == "unsupported")
    if reasons:
        yield ""
        yield "declared unsupported by the runtime:"
        for reason, count in reasons.most_common():
            yield f"  {count:6}  {clipped(reason, WIDTH - 10)}"

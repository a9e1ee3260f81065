"""The report as a person reads it, at 80 columns: the verdict first, then why."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from ...vectors.find import CORE as CORE_DIRECTORY
from ..judging.case_result import CaseResult
from ..observed.origin import ORIGINS
from ..reach import in_words
from ..report import CORE, Report
from .diagnosis import diagnosis_in_short, diagnosis_lines, sentence
from .expected import expected_lines
from .failures import failure_lines, first_to_look_at
from .refusals import how_many_refused, in_short, refusal_lines
from .wrapping import wrapped

_LAST_WORD = re.compile(r" (?=[^ (]*(?:\([^()]*\))?$)")
"""The space before a text's last word; what it has in brackets belongs to it: scaled-tanh(1.25, 0.75)."""
_SHOWN = 10
_PLACES = (6, 8, 8, 8, 9, 13)
BASIS = {
    "text": "the specification's text",
    "owner": "the owner's runtime, or the one that all test against",
    "choice": "our choice",
}


def report_lines(report: Report) -> Iterator[str]:
    """The lines of the report."""
    yield from wrapped(headline(report), indent=0, more=4, cut=False)
    yield from _reach(report)
    yield from wrapped(_judged(report), indent=0, more=4, cut=False)
    if report.vectors == CORE:
        yield f"  in {CORE_DIRECTORY}"
    yield from diagnosis_lines(report.diagnosis)
    yield from _table(report)
    yield from _arithmetic(report)
    yield from _readings(report)
    yield from failure_lines(report)
    yield from refusal_lines(report.refusals)
    yield from expected_lines(report)
    yield from _unsupported(report)
    yield from first_to_look_at(report)


def quiet_lines(report: Report) -> Iterator[str]:
    """The report in five lines at most, for a log: the verdict, what was judged, what explains most of the
    failures, and what to look at first."""
    yield headline(report)
    yield _judged(report)
    if report.counts["unsupported"]:
        yield "; ".join(in_words(report.reach))
    for finding in report.diagnosis.findings[:1]:
        yield f"{finding.explains} of {finding.of} failures: {sentence(finding)}"
    yield from list(first_to_look_at(report))[1:]


def _judged(report: Report) -> str:
    """What was judged, and by which files."""
    version = f" {report.runtime_version}" if report.runtime_version else ""
    total = len(report.results)
    anew = f"; {report.recomputed} of {total} answers recomputed, all as stored"
    return f"{report.runtime}{version}: {total} cases, {_files(report)}{anew if report.recomputed else ''}"


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
    if passes := len(report.unexpected_passes):
        parts.append(f"{passes} passed unexpectedly")
    if accepted := in_short(report.refusals):
        parts.append(accepted)
    if stale := 0 if report.allow_stale else len(report.stale):
        parts.append(f"{stale} expectation{'s are' if stale > 1 else ' is'} stale")
    if report.interrupted:
        parts.append("interrupted before the others")
    return f"{report.verdict}: {', '.join(parts)}{diagnosis_in_short(report.diagnosis)}"


def _reach(report: Report) -> Iterator[str]:
    """Which operators the verdict is about, where that is not all of every one."""
    if report.counts["unsupported"]:
        for sentence in in_words(report.reach):
            yield from wrapped(sentence, indent=2, more=4)


def table_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """How many cases of each dtype have each verdict, under a row of titles; last, what does not decide."""
    groups: dict[str, list[CaseResult]] = {}
    for result in report.results:
        groups.setdefault(result.dtype if result.decides else result.tier, []).append(result)
    if groups:
        yield ("", "cases", "passed", "failed", "errors", "missing", "unsupported", "")
    for name, results in sorted(groups.items(), key=lambda group: not group[1][0].decides):
        c = Counter(result.verdict for result in results)
        counts = (c[v] for v in ("passed", "failed", "error", "missing", "unsupported"))
        note = "" if results[0].decides else "does not decide"
        yield (name, str(len(results)), *map(str, counts), note)


def _table(report: Report) -> Iterator[str]:
    for number, row in enumerate(table_rows(report)):
        if not number:
            yield ""
        name, *counts, note = row
        columns = (f"{one:>{place}}" for one, place in zip(counts, _PLACES, strict=True))
        yield f"{name:11}{''.join(columns)}  {note}".rstrip()


def _arithmetic(report: Report) -> Iterator[str]:
    grades = [grade for grade in report.grades.values() if grade.compared]
    if not grades:
        return
    yield ""
    yield f"{'arithmetic':12}{'required':21}{'observed':19}{'worst error/tolerance':>21}"
    for grade in grades:
        observed = ", ".join([grade.observed, *grade.observed_too]) or "none of them"
        yield f"{grade.dtype:12}{grade.required!s:21}{observed:19}{_short(grade.worst):>21}"
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
    if math.isinf(ratio):
        return "infinite"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _readings(report: Report) -> Iterator[str]:
    """The readings followed, but those that are the stored ones everywhere."""
    for ledger, followed in report.readings_followed.items():
        if set(followed) == {STORED}:
            continue
        owners = {OPERATORS[r.operator].owner for r in report.results if ledger in r.followed}
        pages = " and ".join(f"cases/{owner}/LEDGER.md" for owner in sorted(owners))
        consistent = "" if len(followed) == 1 else ", not the same in every case"
        yield ""
        told = (
            f"the reading followed where the text is ambiguous ({ledger} in {pages}){consistent}:"
        )
        yield from wrapped(told, indent=0, more=2, cut=False)
        for names, count in followed.most_common():
            yield from wrapped(f"{count:6}  {_reading(names, ledger)}", indent=0, more=8)


def _reading(names: ReadingNames, ledger: str) -> str:
    if names:
        return f"{' and '.join(names)}: {about(names)}"
    [reading] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"as stored: {reading.stored} (basis: {BASIS[reading.basis]})"


def _unsupported(report: Report) -> Iterator[str]:
    reasons = Counter(r.message for r in report.results if r.decides and r.verdict == "unsupported")
    if reasons:
        yield ""
        yield "declared unsupported by the runtime:"
        for count, told in sorted(_together(reasons), key=lambda one: -one[0]):
            yield from wrapped(f"{count:6}  {told}", indent=0, more=10, cut=False)


def _together(reasons: Counter[str]) -> Iterator[tuple[int, str]]:
    """The reasons, those in one that differ in their last word alone, with the number of cases."""
    alike: dict[str, dict[str, int]] = {}
    for reason, count in reasons.most_common():
        *before, last = _LAST_WORD.split(reason, maxsplit=1)
        alike.setdefault(" ".join(before), {})[last] = count
    for head, words in alike.items():
        yield sum(words.values()), f"{head} {', '.join(words)}".lstrip()

"""The report as a person reads it, at 80 columns: the verdict first, then why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from ...cases.console import escape, format_table
from ...cases.operators import OPERATORS
from ...cases.operators.readings import READINGS, STORED, ReadingNames, about
from ...vectors.hdf5 import CORE as CORE_DIRECTORY
from ..judging.case_result import CaseVerdict
from ..observed.observations import ORIGINS
from ..report import CORE, Report, in_words
from .findings import (
    diagnosis_in_short,
    diagnosis_lines,
    expected_lines,
    failure_lines,
    first_to_look_at,
    how_many_refused,
    refusal_lines,
    refusals_in_short,
    sentence,
)
from .text import group, list_some, wrap

_BASIS = {
    "text": "the specification's text",
    "owner": "the owner's runtime, or the one that all test against",
    "choice": "our choice",
}


def report_text(report: Report) -> str:
    """Format a report as `grucible check` prints it, escaped, in the terminal's width."""
    return "\n".join(map(escape, report_lines(report)))


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report."""
    yield from wrap(headline(report), 0, 4, cut=False)
    for words in in_words(report.reach) if report.counts["unsupported"] else ():
        yield from wrap(words, 2, 4)
    yield from wrap(_judged(report), 0, 4, cut=False)
    if report.vectors == CORE:
        yield f"  in {CORE_DIRECTORY}"
    yield from diagnosis_lines(report.diagnosis)
    yield from _table(list(table_rows(report)), range(1, 7))
    yield from _arithmetic(report)
    yield from _readings(report)
    yield from failure_lines(report)
    yield from refusal_lines(report.refusals)
    yield from expected_lines(report)
    yield from _unsupported(report)
    yield from first_to_look_at(report)


def _table(rows: Sequence[Sequence[str]], right: Collection[int]) -> Iterator[str]:
    """Yield a header and rows of cells; nothing where there is only a header."""
    if len(rows) > 1:
        yield from ["", *format_table(rows[0], rows[1:], right).splitlines()]


def quiet_lines(report: Report) -> Iterator[str]:
    """Yield the report in five lines at most, for a log."""
    yield from (headline(report), _judged(report))
    if report.counts["unsupported"]:
        yield "; ".join(in_words(report.reach))
    for finding in report.diagnosis.findings[:1]:
        yield f"{finding.explains} of {finding.of} failures: {sentence(finding)}"
    yield from list(first_to_look_at(report))[1:]


def _judged(report: Report) -> str:
    """Return what was judged, by how many vector files, and where these come from."""
    origins, count = Counter(report.origins.values()), len(report.origins)
    files = f"{'file' if count == 1 else 'files'} of {report.vectors}"
    kinds = [f"{origins[one]} {words}" for one, words in ORIGINS.items() if origins[one]]
    if origins["published"] == count:
        origin = f"{count} published {files}"
    else:
        origin = f"{count} {files}: {', '.join(kinds)}"
    judged = f"{f'{report.runtime} {report.runtime_version}'.rstrip()}: {len(report.results)} cases, {origin}"
    if not report.recomputed:
        return judged
    return (
        f"{judged}; {report.recomputed} of {len(report.results)} answers recomputed, all as stored"
    )


def headline(report: Report) -> str:
    """Return the verdict and its reasons in a sentence."""
    counts = report.counts
    passed = f"{counts['passed']} of {counts.total()} cases passed"
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
    if known := len(report.expected_failures):
        parts.append(f"{known if report.unexpected else 'all'} of them expected")
    if passes := len(report.unexpected_passes):
        parts.append(f"{passes} passed unexpectedly")
    if accepted := refusals_in_short(report.refusals):
        parts.append(accepted)
    if stale := 0 if report.allow_stale else len(report.stale):
        parts.append(f"{stale} expectation{'s are' if stale > 1 else ' is'} stale")
    if report.interrupted:
        parts.append("interrupted before the others")
    return f"{report.verdict}: {', '.join(parts)}{diagnosis_in_short(report.diagnosis)}"


def table_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield titles, then how many cases of each dtype have each verdict; last, what does not decide."""
    verdicts: list[CaseVerdict] = ["passed", "failed", "error", "missing", "unsupported"]
    yield ("", "cases", "passed", "failed", "errors", "missing", "unsupported", "")
    groups = group(report.results, lambda r: (not r.decides, r.dtype if r.decides else r.tier))
    for (undeciding, name), results in sorted(groups.items(), key=lambda one: one[0][0]):
        c = Counter(result.verdict for result in results)
        counts = (str(c[verdict]) for verdict in verdicts)
        yield (name, str(len(results)), *counts, "not counted" * undeciding)


def arithmetic_rows(report: Report) -> list[tuple[str, str, str, str]]:
    """Return by dtype the required arithmetic, the observed one, and the worst ratio."""
    return [
        (
            grade.dtype,
            str(grade.required),
            ", ".join([grade.observed, *grade.observed_too]) or "none of them",
            _short(grade.worst),
        )
        for grade in report.grades.values()
        if grade.compared
    ]


def _arithmetic(report: Report) -> Iterator[str]:
    """Yield the arithmetic that each dtype requires and holds, and what of it decides nothing."""
    header = ("arithmetic", "required", "observed", "worst error/tolerance")
    yield from _table([header, *arithmetic_rows(report)], [3])
    for grade in report.grades.values():
        if count := grade.undeciding.total():
            files = [name for name, cases in grade.undeciding.items() if cases]
            named = ", ".join(files[:4]) + f" and {len(files) - 4} more" * (len(files) > 4)
            what = f"{count} of the {grade.dtype} cases decide{'s' * (count == 1)} nothing"
            why = f"{grade.required!s} admits more than the value for over half of the elements"
            yield from wrap(f"{what}: {why}, in {named}", 2)


def _short(ratio: float) -> str:
    if math.isinf(ratio):
        return "infinite"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _readings(report: Report) -> Iterator[str]:
    """Yield the readings followed, but those that are the stored ones everywhere."""
    for ledger, followed in report.readings_followed.items():
        if set(followed) == {STORED}:
            continue
        owners = {OPERATORS[r.operator].owner for r in report.results if ledger in r.followed}
        pages = " and ".join(f"cases/{owner}/LEDGER.md" for owner in sorted(owners))
        same = "" if len(followed) == 1 else ", not the same in every case"
        title = f"the reading followed where the text is ambiguous ({ledger} in {pages}){same}:"
        yield from ["", *wrap(title, 0, 2, cut=False)]
        for names, count in followed.most_common():
            yield from wrap(f"{count:6}  {_reading(names, ledger)}", 0, 8)


def _reading(names: ReadingNames, ledger: str) -> str:
    if names:
        return f"{' and '.join(names)}: {about(names)}"
    [reading] = [one for one in READINGS.values() if one.ledger == ledger]
    return f"as stored: {reading.stored} (basis: {_BASIS[reading.basis]})"


def _unsupported(report: Report) -> Iterator[str]:
    """Yield the reasons for being unsupported, the most frequent first."""
    reasons = Counter(r.message for r in report.results if r.decides and r.verdict == "unsupported")
    yield from ["", "declared unsupported by the runtime:"] if reasons else []
    some = [wrap(f"{n:6}  {one}", 0, 10, cut=False) for one, n in reasons.most_common()]
    yield from list_some(some, "more reasons; --report json=FILE has all of them")

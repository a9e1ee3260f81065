"""The report as a person reads it, at 80 columns: the verdict first, then why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from ...cases.console import escape, format_table
from ...cases.operators.readings import READINGS, STORED, about
from ...cases.selection import WHOLE
from ...vectors.hdf5 import CORE as CORE_DIRECTORY
from ..judging.case_result import CaseVerdict
from ..observed.observations import ORIGINS
from ..report import CORE, Report, in_words
from .findings import (
    BELOW,
    diagnosis_in_short,
    diagnosis_lines,
    entries_in_short,
    expected_lines,
    failure_lines,
    first_to_look_at,
    how_many_refused,
    refusal_lines,
    refusals_in_short,
    sentence,
)
from .text import fit, group, list_some, plural, width, wrap


def report_text(report: Report) -> str:
    """Format a report as `grucible check` prints it, escaped, in the terminal's width."""
    return "\n".join(map(escape, report_lines(report)))


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the report."""
    yield from wrap(headline(report), 0, 4)
    for words in in_words(report.reach) if report.counts["unsupported"] else ():
        yield from wrap(words, 2, 4)
    yield from wrap(_judged(report), 0, 4)
    yield from _model(report)
    if report.vectors == CORE and {*report.origins.values()} == {"published"}:
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


def _model(report: Report) -> Iterator[str]:
    """Yield how a model was run, and why layers were not judged."""
    for note in report.model.notes if report.model else ():
        yield from wrap(note, 2, 4)
    words = {"the whole model": "the whole model, of which only GRUs are judged"}
    some = [
        wrap(f"{words.get(n, f'not judged: {n}')}: {why}", 2, 4)
        for n, why in report.unjudged.items()
    ]
    yield from list_some(some, "layers")


def _table(rows: Sequence[Sequence[str]], right: Collection[int]) -> Iterator[str]:
    """Yield a table with a header; nothing if it has only a header."""
    if len(rows) > 1:
        yield from ["", *format_table(rows[0], rows[1:], right).splitlines()]


def quiet_lines(report: Report) -> Iterator[str]:
    """Yield the report in five lines at most, for a log."""
    first = headline(report).replace(BELOW, "")
    yield from (first + entries_in_short(report), _judged(report))
    if report.counts["unsupported"]:
        yield "; ".join(in_words(report.reach))
    found = report.diagnosis
    causes = [f"{one.explains} of {one.of} failures: {sentence(one)}" for one in found.findings[:1]]
    if found.unexplained and not causes:
        hint = "".join(f"; {one}" for one in found.hints[:1])
        causes = [f"{found.unexplained} of {found.failed} failures: unexplained{hint}"]
    errors = Counter(r.message for r in report.unexpected if r.verdict == "error")
    yield from causes or [
        fit(f"{count} of {errors.total()} errors: {message}", 3 * width())
        for message, count in errors.most_common(1)
    ]
    yield from list(first_to_look_at(report))[1:]


def _judged(report: Report) -> str:
    """Return what was judged, by how many vector files, and the origins of these files."""
    origins, count = Counter(report.origins.values()), len(report.origins)
    mixed = report.vectors == CORE and origins["published"] < count  # some are made, or changed
    files = f"{'file' if count == 1 else 'files'}{'' if mixed else f' of {report.vectors}'}"
    kinds = {words: origins[one] for one, words in ORIGINS.items() if origins[one]}
    counted = ", ".join(f"{number} {words}" for words, number in kinds.items())
    origin = (
        f"{count} {files}: {counted}" if len(kinds) > 1 else f"{count} {files}, {''.join(kinds)}"
    )
    if origins["published"] == count:
        origin = f"{count} published {files}"
    total, who = len(report.results), f"{report.runtime} {report.runtime_version}".rstrip()
    if report.model:
        layers = len({*report.model.layers.values()})
        return f"{who}: {plural(total, 'case')} of {plural(layers, 'layer')} of {report.model.path}"
    anew = f"; {report.recomputed} of {total} answers recomputed, all as stored"
    return f"{who}: {plural(total, 'case')}, {origin}{anew if report.recomputed else ''}"


def headline(report: Report) -> str:
    """Return the verdict and its reasons in a sentence."""
    counts, known = report.counts, Counter(one.verdict for one in report.expected_failures)
    of = {v: f", {'all' if n == counts[v] else n} of them expected" for v, n in known.items()}
    cases = "cases that failed pass now" if report.last_failed else "cases passed"
    passed = f"{counts['passed']} of {counts.total()} {cases}"
    nothing, refused, unjudged = report.undeciding, len(report.refused), len(report.unjudged)
    named = f", {refused} of them in spite of --require" * bool(refused) + of.get("unsupported", "")
    stale = len({use.expectation.entry for use in report.stale if not report.allow_stale})
    parts = {
        _wrong_layers(report): _wrong_layers(report),
        passed if report.results else how_many_refused(report.refusals): 1,
        f"{nothing} of them decide{'s' * (nothing == 1)} nothing": nothing,
        f"{counts['failed']} failed{of.get('failed', '')}": counts["failed"],
        f"{plural(counts['error'], 'error')}{of.get('error', '')}": counts["error"],
        f"{counts['missing']} missing": counts["missing"],
        f"{counts['unsupported']} unsupported{named}": counts["unsupported"],
        f"{len(report.unexpected_passes)} passed unexpectedly": len(report.unexpected_passes),
        refusals_in_short(report.refusals): any(one.wrong for one in report.refusals),
        f"{stale} expectation{'s are' if stale > 1 else ' is'} stale": stale,
        _unjudged(report): unjudged,
        "interrupted before the others": report.interrupted,
        "no others asked": report.stopped,
        f"in shard {report.shard} alone": report.shard != WHOLE,
    }
    reasons = ", ".join(text for text, holds in parts.items() if holds)
    written = [f"{name} in {plural(n, 'case')}" for name, n in report.overwritten.most_common()]
    if report.last_failed and report.verdict == "incomplete":
        reasons += "; run without --last-failed for a verdict"
    inputs = f"; overwrites its inputs: {', '.join(written)}" if written else ""
    remarks = "".join(f"; {dtype}: {one}" for dtype, one in report.remarks.items())
    return f"{report.verdict}: {reasons}{diagnosis_in_short(report.diagnosis)}{remarks}{inputs}"


def _unjudged(report: Report) -> str:
    """Say how many layers were not judged, and whether the whole model gives other outputs."""
    layers = sum(name.startswith("layer ") for name in report.unjudged)
    parts = [f"{plural(layers, 'layer')} not judged, or not in whole"] * bool(layers)
    parts += ["the whole model gives other outputs"] * ("the whole model" in report.unjudged)
    return ", ".join(parts)


def _wrong_layers(report: Report) -> str:
    """Say which layers of a model are wrong; "" for none, and without a model."""
    layers = report.model.layers if report.model else {}
    ids = {r.id for r in report.results if r.wrong}
    wrong = list(dict.fromkeys(layer for one, layer in layers.items() if one in ids))
    named = ", ".join(wrong[:3]) + f" and {len(wrong) - 3} more" * (len(wrong) > 3)
    return (
        f"layer{'s' * (len(wrong) > 1)} {named} {'are' if len(wrong) > 1 else 'is'} wrong"
        if wrong
        else ""
    )


def table_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield titles, then for each dtype the number of cases with each verdict; last, what does not decide."""
    verdicts: list[CaseVerdict] = ["passed", "failed", "error", "missing", "unsupported"]
    yield ("", "cases", "passed", "failed", "errors", "missing", "unsupported", "")
    groups = group(report.results, lambda r: (not r.decides, r.dtype if r.decides else r.tier))
    for (undeciding, name), results in sorted(groups.items(), key=lambda one: one[0][0]):
        c = Counter(result.verdict for result in results)
        counts = (str(c[verdict]) for verdict in verdicts)
        yield (name, str(len(results)), *counts, "not counted" * undeciding)


def arithmetic_rows(report: Report) -> list[tuple[str, str, str, str]]:
    """Return for each dtype the required arithmetic, the observed arithmetic, and the worst ratio."""
    return [
        (
            grade.dtype,
            str(grade.required),
            ", ".join([grade.observed, *grade.observed_too]) or "none",
            _short(grade.worst),
        )
        for grade in report.grades.values()
        if grade.compared
    ]


def _arithmetic(report: Report) -> Iterator[str]:
    """Yield the required and the observed arithmetic of each dtype, and the cases that decide nothing."""
    header = ("dtype", "required arithmetic", "observed arithmetic", "worst error/tolerance")
    yield from _table([header, *arithmetic_rows(report)], [3])
    for grade in report.grades.values():
        if count := grade.undeciding.total():
            files = [name for name, cases in grade.undeciding.items() if cases]
            named = ", ".join(files[:4]) + f" and {len(files) - 4} more files" * (len(files) > 4)
            what = f"{count} of the {grade.dtype} cases decide{'s' * (count == 1)} nothing"
            why = f"in {grade.required!s} the tolerance is larger than the value in over half of the elements"
            yield from wrap(f"{what}: {why}, in {named}", 2)
        if alone := grade.steps_alone.total():
            what = f"single steps alone judge {alone} of the {grade.dtype} cases"
            yield from wrap(f"{what}; nothing judges their outputs as a whole", 2)


def _short(ratio: float) -> str:
    if math.isinf(ratio):
        return "infinite"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _readings(report: Report) -> Iterator[str]:
    """Yield the readings that were followed, except where all cases follow the stored one."""
    stored = {one.ledger: one.stored for one in READINGS.values()}
    for ledger, followed in report.readings_followed.items():
        if set(followed) == {STORED}:
            continue
        same = "" if len(followed) == 1 else ", not the same in every case"
        see = f"see: grucible explain ledger {ledger}"
        title = f"the reading followed where the text is ambiguous ({see}){same}:"
        yield from ["", *wrap(title, 0, 2)]
        for names, count in followed.most_common():
            word = " and ".join(names) or "as stored"
            yield from wrap(f"{count:6}  {word}: {about(names) if names else stored[ledger]}", 0, 8)


def _unsupported(report: Report) -> Iterator[str]:
    """Yield the reasons for being unsupported, the most frequent first."""
    reasons = Counter(r.message for r in report.results if r.decides and r.verdict == "unsupported")
    yield from ["", "declared unsupported by the runtime:"] if reasons else []
    some = [wrap(f"{n:6}  {one}", 0, 10) for one, n in reasons.most_common()]
    yield from list_some(some, "reasons; --report json=FILE has all of them")

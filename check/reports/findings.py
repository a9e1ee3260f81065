"""What went wrong, as a person reads it: failures, their explanations, expectations and refusals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ...cases.console import format_command, format_own_command
from ...vectors.case import REQUIRED
from ..diagnosis.finding import ON_MORE, ON_ROWS, Diagnosis, Finding
from ..judging.case_result import AGAIN, FOLLOWS, CaseResult, mask
from ..judging.expectations import Use, find_globs, is_misreading
from ..refusals import Outcome, Refusal, counts
from ..report import CORE, Report
from .text import fit, group, list_some, plural, width, wrap

_IN_HEADLINE = 2
"""Maximum findings in the first line."""
_ALL = "; --report json=FILE has all of them"
_NARROWER = 3
"""Maximum globs that are proposed in place of a glob that is too broad."""
_TAKE_OUT = "give --write-expect in place of --expect"
_LONGEST = 100
"""Maximum characters of a name that is shown."""
_ACCEPTED: dict[Outcome, str] = {
    "obvious": "answered as if nothing were wrong",
    "garbage": "answered with garbage",
    "crash": "crashed or hung",
}
BELOW = ", see below"
"""The end of a headline's clause where the lines below it say more."""


def how_far_off(result: CaseResult) -> str:
    """Return what is wrong with a case: its worst element, or the message of an error."""
    if result.verdict != "failed" or result.worst_ratio <= 1.0:
        return result.message
    return f"{result.where}: {result.message}{off_by(result.worst_abs, result.worst_ratio)}"


def off_by(absolute: float, ratio: float) -> str:
    """Return how far an element is off, also as a multiple of its tolerance; "" for NaN and infinity."""
    if not math.isfinite(absolute):
        return ""
    if math.isinf(ratio):
        return f"; off by {absolute:.3g}, where no error is admitted"
    return f"; off by {absolute:.3g}, {ratio:.3g} × tolerance"


def see_command(report: Report, case: CaseResult) -> str:
    """Return the command that leads to a case's cause."""
    grade = report.grades.get(case.dtype)
    required = str(grade.required) if grade else ""
    if report.model and not report.model.saved:
        place = f"{case.id.split('/')[1]}-layers"  # two models may be looked at
        keep = format_own_command("--save", place)
        return f"{keep}; {leading_command(case, place, required, '', f'{place}-outputs')}"
    return leading_command(case, _vectors(report), required, report.asked, report.outputs)


def _vectors(report: Report) -> str:
    return "" if report.vectors == CORE else report.vectors


def _shrink_command(case: CaseResult, vectors: str, runtime: str) -> str:
    return format_command(
        "shrink", [*([vectors] if vectors else []), case.id], ["--runtime", runtime]
    )


def leading_command(
    case: CaseResult, vectors: str, required: str, runtime: str, outputs: str = ""
) -> str:
    """Return the command that leads to a case's cause: its steps where an answer failed, else the case.

    A program that crashed or hung gets the question as a file, for a debugger; one that broke the protocol
    is probed.
    What went wrong with other rows of the batch is found again by shrinking.
    """
    given = [vectors] if vectors else []
    if runtime and case.message.startswith(f"{AGAIN} with "):
        return _shrink_command(case, vectors, runtime)
    if case.fault and runtime.startswith("exec:"):
        if case.fault.no_answer:
            return format_command("ask", given, ["-o", "asked", "--select", case.id])
        return format_command("probe", [runtime])
    failed = case.verdict == "failed" and may_trace(case.dtype, required, case.message)
    return case_command(vectors, case.id, runtime * failed, outputs * failed)


def may_trace(dtype: str, required: object, message: str) -> bool:
    """Say whether `trace` judges a case as its report did: by the usual class, asked once, and by itself."""
    return required == REQUIRED.get(dtype) and not message.startswith((AGAIN, FOLLOWS))


def unsaved_command(case_id: str) -> str:
    """Say how to come to a case of a model whose questions were not kept."""
    return f"the same command with --save FILE.h5, and then: {format_command('show', ['FILE.h5', case_id])}"


def case_command(vectors: str, case_id: str, runtime: str = "", outputs: str = "") -> str:
    """Return the command that traces a runtime or outputs on a case, or else shows the case."""
    given = {"--runtime": runtime, "--against": outputs}
    against = [word for option, value in given.items() if value for word in (option, value)]
    operands = [*([vectors] if vectors else []), case_id]
    return format_command("trace" if against else "show", operands, against)


def paragraph(report: Report, result: CaseResult) -> Iterator[str]:
    """Yield how far a case is off, what explains it, and how to see more; each in a line."""
    yield how_far_off(result)
    yield from report.diagnosis.unanswered.get(result.id, ())
    finding = report.diagnosis.by_case.get(result.id)
    if finding is not None:
        yield f"looks like: {sentence(finding)}"
    elif result.verdict == "failed" and report.diagnosis.failed:
        yield "nothing that grucible knows explains it"
    yield f"see: {see_command(report, result)}"


def diagnosis_in_short(diagnosis: Diagnosis) -> str:
    """Return the end of the first line: the findings, if they are certain and explain all."""
    found = diagnosis.findings
    if more := _depends_on_more(diagnosis):
        return f"; {more}{BELOW}"
    certain = [finding.certain for finding in found]
    if not all(certain) or not found:
        how = "explained in part" if any(certain) else "perhaps explained"
        return f"; {how}{BELOW}" if found else ""
    if diagnosis.unexplained or len(found) > _IN_HEADLINE:
        explained = diagnosis.failed - diagnosis.unexplained
        share = f"{explained} of {diagnosis.failed}" if diagnosis.unexplained else "all"
        findings = "one finding" if len(found) == 1 else f"{len(found)} findings together"
        are = "is" if explained == 1 else "are"
        return f"; {share} failures {are} explained by {findings}{BELOW}"
    return "; all failures are explained by: " + "; and by: ".join(
        _placed(one.in_short, one) for one in found
    )


def _depends_on_more(diagnosis: Diagnosis) -> str:
    """Say on what the answers depend, where cases gave other numbers when they were asked again."""
    return next((more for more in (ON_MORE, ON_ROWS) if more in " ".join(diagnosis.hints)), "")


def _placed(text: str, finding: Finding) -> str:
    return f"{text}, {finding.where}" if finding.where else text


def sentence(finding: Finding) -> str:
    """Return a finding in words, and its names as an expectation's `diagnosis` takes them."""
    words = _placed(finding.about, finding) + in_brackets(finding.names)
    return f"{'' if finding.certain else 'perhaps: '}{words}"


def in_brackets(names: Sequence[str]) -> str:
    """Write the names of misreadings, as `grucible explain` and expectations take them; "" for others.

    That of a curve has all its heights, which nobody reads.
    """
    known = all(len(name) <= _LONGEST and is_misreading(name) for name in names)
    return f" [{', '.join(names)}]" * known


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield each finding with its notes, then the failures that nothing explains."""
    if not diagnosis.failed:
        return
    counted = sum(one.explains for one in diagnosis.findings) + diagnosis.unexplained
    several = ", of which some count under several findings" * (counted > diagnosis.failed)
    yield from ["", f"diagnosis of {plural(diagnosis.failed, 'failure')}{several}:"]
    for finding in diagnosis.findings:
        yield from wrap(f"{finding.explains:6}  {sentence(finding)}", 0, 8)
        for note in notes(finding):
            yield from wrap(note, 8)
        links = finding.links[:2] if finding.certain else ()
        yield from (f"        reported: {link}" for link in links)
    if diagnosis.unexplained:
        yield f"{diagnosis.unexplained:6}  unexplained"
        if diagnosis.not_tried:
            yield f"        {diagnosis.not_tried} of them too large to be explained, or not looked at"
        for hint in diagnosis.hints:
            yield from wrap(hint, 8)
    if command := explain_command(diagnosis):
        yield f"more about a name in brackets: {command}"


def explain_command(diagnosis: Diagnosis) -> str:
    """Return the command that explains the first name in brackets, where it was found; "" for none.

    It names the operator and the dtype, if there is only one.
    """
    named = [one.names for one in diagnosis.findings if in_brackets(one.names)]
    ids = [one.split("/") for one, found in diagnosis.by_case.items() if found.names in named[:1]]
    found_in = {"--operator": {one[0] for one in ids}, "--dtype": {one[2] for one in ids}}
    where = [word for option, one in found_in.items() if len(one) == 1 for word in (option, *one)]
    return format_command("explain", named[0][:1], where) if named else ""


def notes(finding: Finding) -> Iterator[str]:
    """Yield what else may explain a finding's failures, where it does not hold, and if the text is silent."""
    if finding.alternatives:
        others = [
            _placed(finding.sentence(names), finding) + in_brackets(names)
            for names in finding.alternatives
        ]
        more = f"; and {len(others) - 3} more" * (len(others) > 3)
        yield f"or, as far as these cases tell: {'; '.join(others[:3])}{more}"
    if finding.not_everywhere:
        yield f"not everywhere: {plural(finding.contradicted, 'case')} that would show it passed"
    if finding.silent:
        entries = " and ".join(f"`grucible explain ledger {one}`" for one in finding.silent)
        yield f"(the text is silent, and the owner's runtime decides: see {entries})"


def failure_lines(report: Report) -> Iterator[str]:
    """Yield failures, errors, cases that are unsupported although required, and missing cases."""
    failed = [r for r in report.unexpected if r.verdict == "failed"]
    ids, start = report.diagnosis.unexplained_ids, _find_first(report)
    some = 0 < sum(r.id in ids for r in failed) < len(failed)
    order = sorted(plainest(failed), key=lambda r: (r is not start, r.id not in ids))
    unlike = "; no finding explains it"
    lines = [
        [f"  {r.id}", *wrap(f"{how_far_off(r)}{unlike * (some and r.id in ids)}", 4)] for r in order
    ]
    title = f"failed ({'what nothing explains, and ' * some}the plainest of each dtype first):"
    if report.model:
        title = (
            f"failed (the model's first, then {'what nothing explains, then ' * some}the plainest):"
        )
    yield from _section(title, lines, f"failures{_ALL}")
    errors = [r for r in report.unexpected if r.verdict == "error"]
    missing = [r for r in report.results if r.decides and r.verdict == "missing"]
    for title, results in (
        ("errors:", errors),
        ("unsupported, but --require names them:", report.refused),
        ("missing:", missing),
    ):
        groups = _by_words(results, lambda r: r.message, report.diagnosis.unanswered)
        yield from _section(title, groups, f"messages{_ALL}")


def _section(title: str, groups: Sequence[Iterable[str]], what: str) -> Iterator[str]:
    """Yield the first groups of lines below a title; nothing if there are no groups."""
    yield from ["", title] if groups else []
    yield from list_some(groups, what)


def _by_words(
    results: Sequence[CaseResult],
    words: Callable[[CaseResult], str],
    notes: Mapping[str, Sequence[str]] | None = None,
) -> list[list[str]]:
    """Return a group of lines for all cases whose words differ only in numbers and dtypes, largest first.

    The plainest of them is named. Each of the `notes`, by id, is shown once.
    """
    groups = sorted(group(results, lambda r: mask(words(r))).values(), key=len, reverse=True)
    lines, new = [], dict.fromkeys(chain(*(notes or {}).values()))
    for cases in groups:
        rest = [f"    and {plural(len(cases) - 1, 'other case')}"] * (len(cases) > 1)
        first = min(cases, key=lambda r: r.plainness)
        text = fit(words(first), 3 * width())
        mine = [one for one in (notes or {}).get(first.id, ()) if one in new]
        new = {one: None for one in new if one not in mine}
        noted = [line for one in mine for line in wrap(one, 4)]
        lines.append([*wrap(text, 2), f"    {first.id}", *rest, *noted])
    return lines


def first_to_look_at(report: Report) -> Iterator[str]:
    """Yield the command that leads to the cause of the case to start with.

    Where an answer may depend on others, only `shrink` asks each question of a new process.
    """
    first, alone = _find_first(report), not _depends_on_more(report.diagnosis)
    if first and alone:
        yield from ["", f"start with: {see_command(report, first)}"]
    elif first and report.asked and not report.model:
        yield from ["", f"start with: {_shrink_command(first, _vectors(report), report.asked)}"]


def _find_first(report: Report) -> CaseResult | None:
    """Find the plainest case of those that most are like; of a model, its first."""
    failed = [r for r in report.unexpected if r.verdict == "failed"]
    failed = failed or [r for r in report.unexpected if r.verdict == "error"]
    if report.model:
        wrong = {r.id: r for r in failed}
        return next((wrong[one] for one in report.model.layers if one in wrong), None)
    found = report.diagnosis
    names = {case_id: one.names for case_id, one in found.by_case.items()}
    alike = group(failed, lambda r: (r.id in found.unexplained_ids, names.get(r.id)))
    most = max(alike.values(), key=len, default=[])
    return min(most, key=lambda r: r.plainness, default=None)


def plainest(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Sort cases: the plainest of each dtype, then the next plainest of each, and so on."""
    placed: Counter[str] = Counter()
    order = []
    for place, result in enumerate(sorted(results, key=lambda r: r.plainness)):
        placed[result.dtype] += 1
        order.append((placed[result.dtype], place, result))
    return [entry[2] for entry in sorted(order, key=lambda entry: entry[:2])]


def expected_lines(report: Report) -> Iterator[str]:
    """Yield what each expectation excuses, and the expectations that need a change."""
    otherwise = [r for r in report.unexpected if r.instead]
    instead = _by_words(otherwise, lambda r: r.instead.in_words if r.instead else "")
    yield from _section("wrong in another way than expected:", instead, "ways")
    passed = [[f"  {r.id}"] for r in report.unexpected_passes]
    yield from _section("passed unexpectedly:", passed, "unexpected passes")
    in_use = [use for use in report.uses if not use.stale and not use.not_judged]
    yield from ["", "expected findings:"] if in_use else []
    reasons = group(in_use, lambda use: (use.expectation.reason, use.expectation.link))
    for (reason, link), uses in reasons.items():
        yield from list_some([[_excused(use)] for use in uses], "entries", indent=9)
        yield from [*wrap(reason, 9), *([f"         {link}"] if link else [])]
    if count := sum(bool(use.failed) and not use.expectation.says_how for use in in_use):
        excuse = f"{count} of them {'excuses' if count == 1 else 'excuse'} any failure"
        yield from wrap(f"{excuse}: say what is expected, by observed, message or diagnosis", 2)
    if idle := sum(use.not_judged for use in report.uses):
        name = "expectation names" if idle == 1 else "expectations name"
        text = f"{idle} {name} cases that were not judged here; they may be stale"
        yield from ["", *wrap(text, 0, 2)]
    broad = [_use_lines(use, f" {_narrower(use, report)}") for use in report.uses if use.too_broad]
    yield from _section("could excuse more than fails today:", broad, "expectations")
    status = "" if report.allow_stale else "; exit status 1 without --allow-stale"
    stale = [_use_lines(use, f": {use.stale}") for use in report.stale]
    yield from _section(f"stale expectations, to be taken out{status}:", stale, "expectations")
    yield from wrap(f"to take them out: {_TAKE_OUT}", 2) if stale else ()


def entries_in_short(report: Report) -> str:
    """Name the entries that need a change, for a log; "" where none does."""
    unfit = [use.expectation for use in report.uses if use.stale or use.passed or use.otherwise]
    if not unfit:
        return ""
    entries = group(unfit, lambda one: one.entry).values()
    names = [f"{first.place} {first.cases}".lstrip() for first, *_ in entries]
    more = f" and {len(names) - _NARROWER} more" * (len(names) > _NARROWER)
    allow = ", or give --allow-stale" * bool(report.stale and not report.allow_stale)
    what = f"mend these entries, or take them out ({_TAKE_OUT}){allow}"
    otherwise = [one for use in report.uses for one in use.otherwise]
    ways = f"; {len(otherwise)} wrong in another way: {otherwise[0]}" if otherwise else ""
    return f"{ways}; {what}: {', '.join(names[:_NARROWER])}{more}"


def _excused(use: Use) -> str:
    note = f", {len(use.passed)} passed unexpectedly" if use.passed else ""
    return (
        f"  {len(use.failed):6} case{'s' * (len(use.failed) != 1)}{note}: {use.expectation.cases}"
    )


def _use_lines(use: Use, text: str) -> list[str]:
    place = f"{use.expectation.place}: " if use.expectation.place else ""
    return wrap(f"{place}{use.expectation.cases}{text}", 2, 4)


def _narrower(use: Use, report: Report) -> str:
    """Return how many named cases pass, and narrower globs for those that failed as expected."""
    failed, judged = {*use.failed}, [r for r in report.results if r.verdict != "unsupported"]
    others = [r.id for r in judged if r.decides and r.id not in failed]
    globs, left = find_globs(use.failed, others, _NARROWER)
    named = [*globs, *left]
    narrower = f"; narrower: {' and '.join(named)}" if len(named) <= _NARROWER else ""
    return f"names {len(use.passed)} that pass{narrower}"


def how_many_refused(refusals: Sequence[Refusal]) -> str:
    """Return how many of the invalid questions that were asked were refused."""
    found = counts(refusals)
    return f"{found['refused']} of {len(refusals) - found['unasked']} invalid questions refused"


def refusals_in_short(refusals: Sequence[Refusal]) -> str:
    """Return how many questions were wrongly accepted, for the first line; "" if none."""
    wrong = [one for one in refusals if one.wrong]
    known = sum(one.expected is not None for one in wrong)
    expected = f", {known} of them expected" if known else ""
    return f"{len(wrong)} accepted that must be refused{expected}" if wrong else ""


def refusal_lines(refusals: Sequence[Refusal]) -> Iterator[str]:
    """Yield how many questions were refused, and each defect that was accepted, with its dtypes."""
    if not refusals:
        return
    found = counts(refusals)
    others = "".join(f", {found[word]} {text}" for word, text in _ACCEPTED.items() if found[word])
    yield from ["", *wrap(f"{how_many_refused(refusals)}{others}{':' if others else ''}", 0, 2)]
    accepted = [one for one in refusals if one.accepted and not one.expected]
    alike = group(accepted, lambda one: (one.operator, one.defect, one.outcome))
    for (operator, defect, outcome), members in alike.items():
        first, dtypes = members[0], ", ".join(one.dtype for one in members)
        yield f"  {outcome:7}  {operator}/invalid/*/{defect}"
        entry = first.ledger.partition("#")[2]
        leaves = "" if first.decides else "; the text leaves it open, so it does not decide"
        yield from wrap(f"{first.about} (ledger: {entry}){leaves}; {dtypes}", 11)
        yield from wrap(fit(first.message, 3 * width()), 11)
    unasked = Counter(one.message for one in refusals if one.outcome == "unasked")
    yield from ["  not asked, as the valid question is not answered either:"] if unasked else []
    for message, count in unasked.most_common():
        yield from wrap(f"{count:6}  {fit(message, 2 * width())}", 0, 8)

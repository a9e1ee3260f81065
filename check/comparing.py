"""Compare two JSON reports of `grucible check`, case by case."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from itertools import chain
from typing import Any

from ..cases.errors import GrucibleError
from ..cases.operators.readings import without_readings
from ..gen.tolerances.classes import CHAINS
from .judging.case_result import DECIDING
from .report import CORE
from .reports.findings import case_command, in_brackets, may_trace, unsaved_command
from .reports.text import list_some, plural, wrap
from .stored import MAX_TEXT, ComparedCase, StoredFinding, StoredReport

_MAX_IN_HEADLINE = 3

_WRONG = {
    "failed": "newly failing",
    "error": "newly ending in an error",
    "missing": "newly missing",
}
WORSE = (*_WRONG.values(), "newly unsupported")
BETTER, OTHER = "newly passing", "otherwise changed"
KINDS = (*WORSE, OTHER, BETTER)
"""The ways in which the verdict of a case may change."""


def compare(before: StoredReport, after: StoredReport) -> dict[str, Any]:
    """Compare two reports; the result is what `grucible compare --json` prints.

    Arithmetic and findings are compared if the reports share a case. Raises GrucibleError if they share
    neither a case nor an invalid question that was asked for both.
    """
    old, new = ({one.id: one for one in report.cases} for report in (before, after))
    both = [(old[one], new[one]) for one in new if one in old]
    asked, moved = _compare_refusals(before, after)
    if not (both or asked):
        raise GrucibleError(
            "the reports have no case or invalid question in common; compare reports on the same vectors"
        )
    changed = [(was, now) for was, now in both if was.verdict != now.verdict]
    changes = [
        {"kind": _name_change(was.verdict, now.verdict), "id": now.id, "before": was.verdict,
         "after": now.verdict, "message": _message(now)}
        for was, now in changed if {was.tier, now.tier} <= {*DECIDING}
    ]  # fmt: skip
    grades = list(_compare_grades(before, after)) if both else []
    findings = _compare_findings(before, after, shared=bool(both))
    kinds = {one["kind"] for one in changes}
    improved = BETTER in kinds and kinds.isdisjoint(WORSE)
    unexplained = {one.id for one in after.cases if one.unexplained}
    worse = _summarize(changes, WORSE, [one for one in grades if one["worse"]], unexplained)
    worse += _count_questions(moved["accepted"], "no longer refused")
    # what is left of a mistake that was mended in part may read otherwise
    worse += [f"new finding: {one['about']}" for one in findings["new"] if not improved]
    better = _summarize(changes, (BETTER,), [one for one in grades if one["better"]], ())
    better += _count_questions(moved["refused"], "refused now")
    better += [
        f"gone finding: {one['about']}" for one in findings["gone"]
        if _is_mended(one["names"], both)
    ]  # fmt: skip
    return {
        "grucible_compare": 1,
        "outcome": "worse" if worse else "better" if better else "same",
        "worse": worse,
        "better": better,
        "before": before.side,
        "after": after.side,
        "changes": sorted(changes, key=lambda one: KINDS.index(one["kind"])),
        "arithmetic": grades,
        "diagnosis": findings,
        "readings": _compare_readings(before, after) if old.keys() == new.keys() else {},
        "refusals": moved,
        "undecided": len(changed) - len(changes),
        "new_cases": [one for one in new if one not in old],
        "gone_cases": [one for one in old if one not in new],
        "see": _see(after, changes, grades, moved["accepted"]),
    }


def _see(
    after: StoredReport,
    changes: Sequence[dict[str, str]],
    grades: Sequence[dict[str, Any]],
    accepted: Sequence[str],
) -> str:
    """Return the command that shows the first case or question that became worse; "" where none did."""
    worse = [one for kind in WORSE for one in changes if one["kind"] == kind]
    cases = [(one["id"], one["after"], one["message"]) for one in worse]
    coarser = [after.arithmetic[one["dtype"]].worst_id for one in grades if one["worse"]]
    for case_id, verdict, message in [*cases, *((one, "failed", "") for one in coarser if one)]:
        if after.model and not after.model.saved:
            return unsaved_command(case_id)
        dtype = [*case_id.split("/"), "", "", ""][2]
        required = after.arithmetic[dtype].required if dtype in after.arithmetic else None
        traced = verdict == "failed" and may_trace(dtype, required, message)
        vectors = "" if after.vectors_path == CORE else after.vectors_path
        return case_command(vectors, case_id, after.pasted * traced)
    return case_command("", accepted[0]) if accepted else ""


def _message(one: ComparedCase) -> str:
    """Return a case's message, behind the place of its worst element; "" for one that passed."""
    return f"{one.where}: {one.message}" if one.where and one.message else one.message


def _name_change(was: str, now: str) -> str:
    """Name a change of verdict; a change among failed, error and missing is no worse.

    A case that had any answer and is unsupported now is worse, even if the answer was wrong.
    """
    if {was, now} <= _WRONG.keys() or {was, now} == {"missing", "unsupported"}:
        return OTHER
    return BETTER if now == "passed" else _WRONG.get(now, "newly unsupported")


def _summarize(
    changes: Sequence[dict[str, str]],
    kinds: Sequence[str],
    grades: Sequence[dict[str, Any]],
    unexplained: Collection[str],
) -> list[str]:
    """Count the changes of some kinds, and name the classes of arithmetic in some grades.

    Behind a count stands how many of its ids are among the `unexplained`.
    """
    lines = []
    for kind in kinds:
        ids = [one["id"] for one in changes if one["kind"] == kind]
        left = sum(one in unexplained for one in ids)
        some = f", {left} of them unexplained" if left else ""
        lines += [f"{plural(len(ids), 'case')} {kind}{some}"] if ids else []
    for one in grades:
        was, now = (f"class {name}" if name else "no class" for name in one["observed"])
        lines.append(f"the arithmetic of {one['dtype']} from {was} to {now}")
    return lines


def _count_questions(moved: Sequence[str], about: str) -> list[str]:
    return [f"{plural(len(moved), 'invalid question')} {about}"] if moved else []


def _compare_grades(before: StoredReport, after: StoredReport) -> Iterator[dict[str, Any]]:
    for dtype, now in after.arithmetic.items():
        was = before.arithmetic.get(dtype)
        if was and was.compared and now.compared:
            observed = (was.observed or "", now.observed or "")
            yield {
                "dtype": dtype,
                "observed": observed,
                "ratio": (was.ratio, now.ratio),
                "worse": _is_coarser(dtype, *observed),
                "better": _is_coarser(dtype, *reversed(observed)),
                "required": (was.demand, now.demand),
            }


def _is_coarser(dtype: str, was: str, now: str) -> bool:
    """Say whether the class `now` follows `was` in a chain of the dtype; "" follows every class."""
    if not now or not was:
        return bool(was) and not now
    orders = ([one.name for one in chained] for chained in CHAINS.get(dtype, ()))
    return any({was, now} <= {*order} and order.index(now) > order.index(was) for order in orders)


def _compare_findings(
    before: StoredReport, after: StoredReport, *, shared: bool
) -> dict[str, list[Any]]:
    """Compare the explanations of failures; findings with the same names are one finding.

    A finding is new if it has a mistake that no finding had before, and gone if one is in none any more.
    """
    was, now = (
        {tuple(one.names): one for one in report.diagnosis} if shared else {}
        for report in (before, after)
    )
    both = [(was[names], one) for names, one in now.items() if names in was]
    had = {n for one in was.values() for n in chain(one.names, *one.alternatives)}
    has = {n for names in now for n in names}
    return {
        "new": [_described(one, had, "new") for one in now.values() if _mistakes(one, had)],
        "gone": [_described(one, has, "gone") for one in was.values() if _mistakes(one, has)],
        "other": [
            {"names": new.names, "about": str(new), "before": old.explains, "after": new.explains}
            for old, new in both if old.explains != new.explains
        ],
        "unexplained": [before.unexplained, after.unexplained],
    }  # fmt: skip


def _compare_refusals(
    before: StoredReport, after: StoredReport
) -> tuple[list[str], dict[str, list[str]]]:
    """List the invalid questions that both were asked, and those that are `accepted` or `refused` now."""
    was, now = (
        {one.id: one.decides and one.outcome != "refused" for one in report.refusals
         if one.outcome != "unasked"} for report in (before, after)
    )  # fmt: skip
    asked = [one for one in now if one in was]
    moved = {
        word: [one for one in asked if now[one] is accepted is not was[one]]
        for word, accepted in (("accepted", True), ("refused", False))
    }
    return asked, moved


def _compare_readings(before: StoredReport, after: StoredReport) -> dict[str, list[str]]:
    """List the readings of ambiguous points before and after, where they differ."""
    was, now = before.readings, after.readings
    each = {entry: [f"{was[entry]}", f"{now[entry]}"] for entry in now if entry in was}
    return {entry: two for entry, two in each.items() if two[0] != two[1]}


def _is_mended(names: Sequence[str], both: Sequence[tuple[ComparedCase, ComparedCase]]) -> bool:
    """Say whether all cases that a finding explained pass now, or with some of its mistakes alone.

    Else another mistake may hide it.
    """
    mine = [(was, now) for was, now in both if was.diagnosis == names]
    return bool(mine) and all(
        now.verdict == "passed" or (now.diagnosis and {*now.diagnosis} < {*was.diagnosis})
        for was, now in mine
    )


def _mistakes(one: StoredFinding, known: Container[str]) -> list[str]:
    """List the mistakes of a finding that are not known; a reading is none."""
    return [name for name in without_readings(one.names) if name not in known]


def _described(one: StoredFinding, known: Container[str], word: str) -> dict[str, Any]:
    """Describe a finding by its sentence, and say of which of its mistakes `word` is true, if not of all."""
    some = _mistakes(one, known)
    every = len(some) == len(without_readings(one.names))
    about = (
        f"{one}"
        if every
        else f"{one} (of these, only {' and '.join(some)} {'are' if len(some) > 1 else 'is'} {word})"
    )
    return one.model_dump() | {"about": about}


def comparison_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield a comparison for the terminal: the outcome first, then what changed."""
    diagnosis, refusals, new = found["diagnosis"], found["refusals"], found["new_cases"]
    both = found["after"]["cases"] - len(new)
    yield from wrap(_headline(found, both), 0, 2)
    for word in ("before", "after"):
        side = found[word]
        name = " ".join(side["runtime"].values()).rstrip()
        interrupted = ", interrupted" if side["interrupted"] else ", stopped" * side["stopped"]
        judged = f"{word}: {name}: {side['verdict']}, {side['cases']} cases{interrupted}"
        yield from wrap(judged, 2, 4)
    if new or found["gone_cases"]:
        yield f"  {both} cases in both, {len(new)} new, {len(found['gone_cases'])} gone"
    if found["undecided"]:
        yield f"  {found['undecided']} that decide nothing have another verdict"
    for kind in KINDS:
        changes = [one for one in found["changes"] if one["kind"] == kind]
        yield from _section(kind, [f"{one['id']}\n{_change(one)}" for one in changes])
    yield from _section("arithmetic", [*filter(None, map(_grade, found["arithmetic"]))])
    was, now = diagnosis["unexplained"]
    moved = [*diagnosis["other"], {"about": "unexplained", "before": was, "after": now}]
    explained = [
        *(f"{word}: {one['about'][:MAX_TEXT]}{in_brackets(one['names'])}, {one['explains']} cases"
          for word in ("new", "gone") for one in diagnosis[word]),
        *(f"{one['about']}: {one['before']} → {one['after']} cases"
          for one in moved if one["before"] != one["after"]),
    ]  # fmt: skip
    yield from _section("diagnosis", explained)
    followed = [f"{name}: {was} → {now}" for name, (was, now) in found["readings"].items()]
    yield from _section("readings followed where the text is ambiguous", followed)
    yield from _section("invalid questions that are no longer refused", refusals["accepted"])
    yield from _section("invalid questions that are refused now", refusals["refused"])
    yield from _section("new cases", new)
    yield from _section("gone cases", found["gone_cases"])
    yield from ["", f"start with: {found['see']}"] if found["see"] else []


def _headline(found: dict[str, Any], both: int) -> str:
    changed = []
    for word in ("worse", "better"):
        names = found[word][:_MAX_IN_HEADLINE]
        left = len(found[word]) - len(names)
        shown = [*names, f"and {left} more"] if left else names
        changed += [f"{word}: {', '.join(shown)}"] if names else []
    cut = [
        f"`{side}`" for side in ("before", "after")
        if found[side]["interrupted"] or found[side]["stopped"]
    ]  # fmt: skip
    interrupted = f"; {' and '.join(cut)} lack{'s' * (len(cut) == 1)} cases" if cut else ""
    other = ", but other readings are followed" if found["readings"] else ""
    same = f"same: nothing is worse or better in the {both} cases of both{other}{interrupted}"
    return "; ".join(changed) or same


def _change(one: dict[str, str]) -> str:
    message = f": {one['message']}" if one["message"] else ""
    return f"{one['before']} → {one['after']}{message}"[:MAX_TEXT]


def _section(title: str, entries: Sequence[str]) -> Iterator[str]:
    """Yield entries below a title; the second line of an entry is indented further."""
    if entries:
        yield from ("", f"{title}:")
    parts = (entry.partition("\n") for entry in entries)
    groups = [[*wrap(first, 2, 4), *wrap(about, 4)] for first, _, about in parts]
    yield from list_some(groups, "of these; --json has all of them")


def _grade(one: dict[str, Any]) -> str:
    """Format what differs in a dtype: class, worst ratio, demand; "" if nothing does."""
    parts = {
        "observed arithmetic": [name or "none" for name in one["observed"]],
        "worst ratio": [ratio if isinstance(ratio, str) else f"{ratio:.3g}" for ratio in one["ratio"]],
        "required": one["required"],
    }  # fmt: skip
    differing = [f"{name} {was} → {now}" for name, (was, now) in parts.items() if was != now]
    return f"{one['dtype']}: {', '.join(differing)}" if differing else ""

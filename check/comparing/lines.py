"""What differs between two reports, for a person at 80 columns and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ...cases.commands.no_command import json_text
from ..reports.wrapping import wrapped
from .compare import BETTER, OTHER, WORSE, CaseChange, Compared, GradeChange
from .stored import Number, StoredFinding, StoredReport

_SHOWN = 10
_TOLD = 3
"""So many findings, or classes, are told in the first line."""
_MOST_SAID = 300
"""So many characters of a message or a finding are said: a report may be a stranger's."""


def compared_lines(found: Compared) -> Iterator[str]:
    """The lines: whether it is worse in the first, then why."""
    yield from wrapped(headline(found), indent=0, more=2)
    yield from wrapped(f"before: {_judged(found.before)}", indent=2, more=4)
    yield from wrapped(f"after: {_judged(found.after)}", indent=2, more=4)
    both = len(found.after.cases) - len(found.new_cases)
    if found.new_cases or found.gone_cases:
        told = f"{both} cases in both, {len(found.new_cases)} new, {len(found.gone_cases)} gone"
        yield from wrapped(told, indent=2)
    for kind in (*WORSE, OTHER, BETTER):
        yield from _changes(kind, found.changes.get(kind, ()))
    if found.undecided:
        yield ""
        yield f"{found.undecided} more that decide nothing have another verdict"
    yield from _grades([one for one in found.grades if one.differs or len(set(one.required)) > 1])
    yield from _findings(found)
    yield from _ids("invalid questions that are no longer refused:", found.accepted)
    yield from _ids("invalid questions that are refused now:", found.refused)
    yield from _ids("new cases:", found.new_cases)
    yield from _ids("gone cases:", found.gone_cases)


def headline(found: Compared) -> str:
    """Whether it is worse, better or the same, and in what, in a sentence."""
    if found.worse:
        better = f"; better: {_told(found.better)}" if found.better else ""
        return f"worse: {_told(found.worse)}{better}"
    if found.better:
        return f"better: {_told(found.better)}"
    both = len(found.after.cases) - len(found.new_cases)
    cut = [f"`{word}` was interrupted" for word, one in (("before", found.before), ("after", found.after))
           if one.interrupted]  # fmt: skip
    so_far = f"; {' and '.join(cut)}" if cut else ""
    return f"same: nothing is worse or better in the {both} cases of both{so_far}"


def _told(things: Sequence[str]) -> str:
    more = f", and {len(things) - _TOLD} more" if len(things) > _TOLD else ""
    return ", ".join(things[:_TOLD]) + more


def _judged(report: StoredReport) -> str:
    version = f" {report.runtime.version}" if report.runtime.version else ""
    interrupted = ", interrupted" if report.interrupted else ""
    return (
        f"{report.runtime.name}{version}: {report.verdict}, {len(report.cases)} cases{interrupted}"
    )


def _changes(kind: str, changes: Sequence[CaseChange]) -> Iterator[str]:
    if not changes:
        return
    yield ""
    yield f"{kind}:"
    for change in changes[:_SHOWN]:
        yield f"  {change.after.id}"
        said = f": {change.after.message}" if change.after.message else ""
        told = f"{change.before.verdict} → {change.after.verdict}{said}"
        yield from wrapped(told[:_MOST_SAID], indent=4)
    yield from _and_more(len(changes))


def _grades(grades: Sequence[GradeChange]) -> Iterator[str]:
    if not grades:
        return
    yield ""
    yield f"{'arithmetic':12}{'observed':42}{'worst ratio':>20}"
    for one in grades:
        was, now = (name or "none of them" for name in one.observed)
        seen = now if was == now else f"{was} → {now}"
        before, after = (_short(ratio) for ratio in one.ratio)
        ratio = after if before == after else f"{before} → {after}"
        yield f"{one.dtype[:11]:12}{seen:42}{ratio:>20}"
    for one in grades:
        if len(set(one.required)) > 1:
            told = f"{one.dtype} was held to {one.required[0]}, and now to {one.required[1]}"
            yield from wrapped(told, indent=2)


def _short(ratio: Number) -> str:
    if isinstance(ratio, str):
        return ratio
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _findings(found: Compared) -> Iterator[str]:
    unexplained = (found.before.unexplained, found.after.unexplained)
    if not (found.new_findings or found.gone_findings or found.other_findings) and (
        unexplained[0] == unexplained[1]
    ):
        return
    yield ""
    yield "diagnosis:"
    for word, findings in (("new", found.new_findings), ("gone", found.gone_findings)):
        for one in findings:
            yield from wrapped(f"{word}: {_said(one)}, {one.explains} cases", indent=2, more=4)
    for was, now in found.other_findings:
        yield from wrapped(f"{_said(now)}: {was.explains} → {now.explains} cases", indent=2, more=4)
    if unexplained[0] != unexplained[1]:
        yield f"  unexplained: {unexplained[0]} → {unexplained[1]} cases"


def _said(one: StoredFinding) -> str:
    perhaps = "" if one.certain else "perhaps: "
    where = f", {one.where}" if one.where else ""
    return f"{perhaps}{one.about}{where}"[:_MOST_SAID]


def _ids(title: str, ids: Sequence[str]) -> Iterator[str]:
    if ids:
        yield ""
        yield title
        yield from (f"  {one}" for one in ids[:_SHOWN])
        yield from _and_more(len(ids))


def _and_more(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"  … and {count - _SHOWN} more; --json has all of them"


def compared_json(found: Compared) -> str:
    """The same as strict JSON."""
    value: dict[str, Any] = {
        "grucible_compare": 1,
        "outcome": found.outcome,
        "worse": found.worse,
        "better": found.better,
        "before": _side(found.before),
        "after": _side(found.after),
        "changes": [
            {"kind": kind, "id": one.after.id, "before": one.before.verdict,
             "after": one.after.verdict, "message": one.after.message}
            for kind in (*WORSE, OTHER, BETTER) for one in found.changes.get(kind, ())
        ],
        "arithmetic": [asdict(one) for one in found.grades],
        "diagnosis": {
            "new": [one.model_dump() for one in found.new_findings],
            "gone": [one.model_dump() for one in found.gone_findings],
            "other": [{"names": now.names, "before": was.explains, "after": now.explains}
                      for was, now in found.other_findings],
            "unexplained": [found.before.unexplained, found.after.unexplained],
        },
        "refusals": {"accepted": list(found.accepted), "refused": list(found.refused)},
        "undecided": found.undecided,
        "new_cases": list(found.new_cases),
        "gone_cases": list(found.gone_cases),
    }  # fmt: skip
    return json_text(value)


def _side(report: StoredReport) -> dict[str, Any]:
    return {
        "runtime": report.runtime.model_dump(),
        "verdict": report.verdict,
        "interrupted": report.interrupted,
        "cases": len(report.cases),
    }

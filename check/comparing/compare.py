"""What differs between two reports, and whether it is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...gen.tolerances.classes import CHAINS
from .stored import Number, StoredCase, StoredFinding, StoredReport

WORSE = ("newly failing", "new errors", "newly missing", "newly unsupported")
BETTER = "newly passing"
OTHER = "wrong in another way"
_NEWLY = {
    "failed": "newly failing",
    "error": "new errors",
    "missing": "newly missing",
    "unsupported": "newly unsupported",
    "passed": BETTER,
}


@dataclass(frozen=True)
class CaseChange:
    """A deciding case of both reports whose verdict differs; `kind` is one of WORSE, BETTER or OTHER."""

    kind: str
    before: StoredCase
    after: StoredCase


@dataclass(frozen=True)
class GradeChange:
    """What was observed of a dtype before and after: the class, "" for none, and the worst ratio. It is
    `worse` where the class is coarser, `better` where it is finer; `required` tells where another class was
    demanded."""

    dtype: str
    observed: tuple[str, str]
    ratio: tuple[Number, Number]
    worse: bool
    better: bool
    required: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether anything is not as it was."""
        return len(set(self.observed)) > 1 or len(set(self.ratio)) > 1


@dataclass(frozen=True)
class Compared:
    """What differs between the reports `before` and `after`."""

    before: StoredReport
    after: StoredReport
    changes: Mapping[str, Sequence[CaseChange]]
    grades: Sequence[GradeChange]
    new_findings: Sequence[StoredFinding]
    gone_findings: Sequence[StoredFinding]
    other_findings: Sequence[tuple[StoredFinding, StoredFinding]]
    """Findings of both that explain another number of cases."""
    new_cases: Sequence[str]
    gone_cases: Sequence[str]
    undecided: int
    """How many cases that decide nothing have another verdict."""
    accepted: Sequence[str] = field(default=())
    """Invalid questions that are accepted now, and were not."""
    refused: Sequence[str] = field(default=())
    """Those that are refused now, and were accepted."""
    asked_in_both: bool = False
    """Whether a case, or an invalid question that was asked, is in both."""

    @cached_property
    def worse(self) -> list[str]:
        """What got worse, in words."""
        found = [_count(self.changes[kind], kind) for kind in WORSE if kind in self.changes]
        found += [_class(one) for one in self.grades if one.worse]
        found += [
            f"new finding: {one.about}"
            for one in self.new_findings
            if not self._known.issuperset(one.names)
        ]
        return found + ([_questions(self.accepted, "no longer refused")] if self.accepted else [])

    @cached_property
    def better(self) -> list[str]:
        """What got better, in words."""
        found = [_count(self.changes[BETTER], BETTER)] if BETTER in self.changes else []
        found += [_class(one) for one in self.grades if one.better]
        found += [f"gone finding: {one.about}" for one in self.gone_findings]
        return found + ([_questions(self.refused, "refused now")] if self.refused else [])

    @property
    def outcome(self) -> str:
        """`worse` if anything is, otherwise `better` or `same`."""
        return "worse" if self.worse else "better" if self.better else "same"

    @cached_property
    def _known(self) -> set[str]:
        """The misreadings of findings before: what is left of two of them is not new."""
        return {
            name
            for one in self.before.diagnosis
            for names in (one.names, *one.alternatives)
            for name in names
        }


def compared(before: StoredReport, after: StoredReport) -> Compared:
    """What differs between two reports. Arithmetic and findings are compared where a case is in both."""
    old, new = before.by_id, after.by_id
    shared = old.keys() & new.keys()
    changes: dict[str, list[CaseChange]] = {}
    undecided = 0
    for case_id in shared:
        was, now = old[case_id], new[case_id]
        if was.verdict == now.verdict:
            continue
        if not (was.decides and now.decides):
            undecided += 1
            continue
        kind = _kind(was.verdict, now.verdict)
        changes.setdefault(kind, []).append(CaseChange(kind, was, now))
    order = {case_id: place for place, case_id in enumerate(new)}
    for found in changes.values():
        found.sort(key=lambda change: order[change.after.id])
    was_found, now_found = (
        {(*one.names,): one for one in report.diagnosis} if shared else {}
        for report in (before, after)
    )
    both = [(was_found[names], now_found[names]) for names in was_found if names in now_found]
    was_wrong = {one.id: one.wrong for one in before.refusals if one.outcome != "unasked"}
    now_wrong = {one.id: one.wrong for one in after.refusals if one.outcome != "unasked"}
    asked = [one for one in now_wrong if one in was_wrong]
    return Compared(
        before, after, changes, _grades(before, after) if shared else [],
        new_findings=[one for names, one in now_found.items() if names not in was_found],
        gone_findings=[one for names, one in was_found.items() if names not in now_found],
        other_findings=[(was, now) for was, now in both if was.explains != now.explains],
        new_cases=[one for one in new if one not in old],
        gone_cases=[one for one in old if one not in new],
        undecided=undecided,
        accepted=[one for one in asked if now_wrong[one] and not was_wrong[one]],
        refused=[one for one in asked if was_wrong[one] and not now_wrong[one]],
        asked_in_both=bool(shared or asked),
    )  # fmt: skip


def _kind(was: str, now: str) -> str:
    """What a change of verdict is called. What went wrong before, or was missing, and goes wrong now, is no
    worse; but what is declared unsupported had been answered, if wrongly."""
    wrong = ("failed", "error", "missing")
    if (was in wrong and now in wrong) or (was, now) in (
        ("missing", "unsupported"),
        ("unsupported", "missing"),
    ):
        return OTHER
    return _NEWLY[now]


def _grades(before: StoredReport, after: StoredReport) -> list[GradeChange]:
    found = []
    for dtype, now in after.arithmetic.items():
        was = before.arithmetic.get(dtype)
        if was is None or not (was.compared and now.compared):
            continue
        seen = (was.observed or "", now.observed or "")
        required = (_demand(was.required), _demand(now.required))
        ratio = (was.worst.ratio, now.worst.ratio)
        worse, better = _coarser(dtype, *seen), _coarser(dtype, *reversed(seen))
        found.append(GradeChange(dtype, seen, ratio, worse, better, required))
    return found


def _coarser(dtype: str, was: str, now: str) -> bool:
    """Whether the class `now` stands behind the other in a chain of the dtype; none stands behind all."""
    if not now or not was:
        return bool(was) and not now
    chains = ([one.name for one in chain] for chain in CHAINS.get(dtype, ()))
    return any(
        was in chain and now in chain and chain.index(now) > chain.index(was) for chain in chains
    )


def _demand(required: str | dict[str, float | None]) -> str:
    if isinstance(required, str):
        return required
    return " ".join(f"{name} {value:g}" for name, value in required.items() if value is not None)


def _count(changes: Sequence[CaseChange], kind: str) -> str:
    return f"{len(changes)} {'case' if len(changes) == 1 else 'cases'} {kind}"


def _class(one: GradeChange) -> str:
    was, now = (name or "no class" for name in one.observed)
    return f"{one.dtype} in {was} → {now}"


def _questions(ids: Sequence[str], what: str) -> str:
    return f"{len(ids)} invalid {'question' if len(ids) == 1 else 'questions'} {what}"

"""What fails at present, in groups of which one thing is expected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ...cases.selection import literal, matches
from ...gen.tolerances.classes import CLASSES
from ..diagnosis.finding import Diagnosis
from ..expecting.globs import covering
from ..judging.case_result import CaseResult
from ..judging.expectations import Expectation, says
from ..judging.sayable import MOST_GLOB, UNEXPLAINED, is_misreading
from ..refusals.refusal import Refusal
from ..reports.messages import masked

ONE_BY_ONE = 20
"""So many cases that nothing explains are named one by one; more are grouped."""
_NAMED_LATER = "*"
"""The cases of what a group expects, until they are named."""
_MOST_MESSAGE = 100
_LEAST_MESSAGE = 4
_MOST_REASON = 300
_BEGINNING, _END = 40, 40
"""Messages are alike whose first and last characters are, so many of them, but for numbers and dtypes."""
_MOST_TEXTS = 20
"""So many different messages of a group are looked at for what they share."""
_MOST_OTHERS = 200
"""So many other groups are looked at for what they do not share."""
_MOST_SAID = 600
"""So much of a message's end is looked at."""
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)*")


@dataclass(frozen=True)
class Group:
    """Cases that fail in one way, which `expected` says, but for its cases; they are named `one_by_one`, or
    by globs where some match them and nothing else."""

    expected: Expectation
    ids: list[str]
    one_by_one: bool = False

    def entries(self, others: Sequence[str]) -> Iterator[Expectation]:
        """The expectations that name its cases, and none of `others`."""
        globs, left = ([], self.ids) if self.one_by_one else covering(self.ids, others)
        short = [glob for glob in globs if len(glob) <= MOST_GLOB]
        left = left if len(short) == len(globs) else self.ids
        known = {*self.ids, *others}
        for cases in (*short, *(literal(one, known) for one in left)):
            yield replace(self.expected, cases=cases)


def groups(results: Sequence[CaseResult], diagnosis: Diagnosis) -> list[Group]:
    """The groups of cases that went wrong. What is special stands before what is general: errors before wrong
    numbers, misreadings before coarse arithmetic, and otherwise the small before the large."""
    kinds: dict[str, list[CaseResult]] = {"message": [], "diagnosis": [], "class": [], "": []}
    for result in results:
        if result.wrong:
            kinds[_kind(result, diagnosis)].append(result)
    return [
        *sorted(_by_message(kinds["message"]), key=_size),
        *sorted(_by_diagnosis(kinds["diagnosis"], diagnosis), key=_size),
        *sorted(_by_class(kinds["class"], diagnosis), key=_size),
        *_unexplained(kinds[""]),
    ]


def refused_not(refusals: Sequence[Refusal], elsewhere: Sequence[str]) -> Iterator[Expectation]:
    """Expectations of the invalid questions that were accepted, by defect; none names one of `elsewhere`."""
    wrong = [one for one in refusals if one.wrong and not one.expected]
    right = [*(one.id for one in refusals if not one.accepted), *elsewhere]
    for defect in dict.fromkeys(one.defect for one in wrong):
        mine = [one for one in wrong if one.defect == defect]
        for operator in dict.fromkeys(one.operator for one in mine):
            ids = [one.id for one in mine if one.operator == operator]
            glob = f"{operator}/invalid/*/{defect}"
            clean = not any(matches(one, glob) for one in right)
            reason = f"accepted although it must be refused: {mine[0].about}"
            for cases in [glob] if clean else ids:
                yield Expectation(cases, reason)


def _kind(result: CaseResult, diagnosis: Diagnosis) -> str:
    """By what a case is grouped."""
    if result.verdict != "failed":
        return "message"
    finding = diagnosis.by_case.get(result.id)
    if finding and finding.kind != "arithmetic":
        return "diagnosis"
    if result.holds:
        return "class"
    return "" if result.message.startswith("expected ") else "message"


def _size(group: Group) -> int:
    return len(group.ids)


def _by_message(results: Sequence[CaseResult]) -> Iterator[Group]:
    """Errors, and what is unsupported, by what they say but for numbers."""
    alike: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        said = masked(" ".join(result.message.split()))
        ends = f"{said[:_BEGINNING]}\n{said[-_END:]}"
        alike.setdefault((result.verdict, ends), []).append(result)
    some = [found[0] for found in alike.values()][: _MOST_OTHERS + 1]
    for (verdict, _), cases in alike.items():
        others = [one.message for one in some if one is not cases[0]][:_MOST_OTHERS]
        part = shared([r.message for r in cases], others)
        what = {"error": "an error", "failed": "wrong"}.get(verdict, verdict)
        said = " ".join(cases[0].message.split())
        reason = f'{what}: "{said[:_MOST_REASON]}"' if said else what
        made = Expectation(_NAMED_LATER, reason, message=(part,) if part else ())
        if verdict == "failed":  # the words are ours, and no runtime's
            made = Expectation(_NAMED_LATER, reason, diagnosis=(UNEXPLAINED,))
        yield Group(made, [r.id for r in cases])


def shared(messages: Sequence[str], others: Sequence[str]) -> str:
    """A part that all messages have, and of `others` as few as possible, without numbers that stand alone:
    those of lines and versions change. "" where they share too little."""
    texts = list(dict.fromkeys(" ".join(text.split())[-_MOST_SAID:] for text in messages))[
        :_MOST_TEXTS
    ]
    common = texts[0]
    for text in texts[1:]:
        common = _longest_in_both(common, text)
    parts = [_cut(part.strip()) for text in (texts[0], common) for part in _NUMBER.split(text)]
    parts = [part for part in parts if len(part) >= _LEAST_MESSAGE and part.isprintable()]
    parts = [part for part in parts if all(says(text, (part,)) for text in messages)]
    return min(
        parts, key=lambda part: (sum(says(o, (part,)) for o in others), -len(part)), default=""
    )


def _longest_in_both(one: str, other: str) -> str:
    found = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return one[found.a : found.a + found.size]


def _cut(part: str) -> str:
    """A part of a message, whole words of its beginning where it is long."""
    if len(part) <= _MOST_MESSAGE:
        return part
    return part[:_MOST_MESSAGE].rpartition(" ")[0] or part[:_MOST_MESSAGE]


def _by_diagnosis(results: Sequence[CaseResult], diagnosis: Diagnosis) -> Iterator[Group]:
    """Wrong numbers by the misreadings that explain them."""
    alike: dict[frozenset[str], list[str]] = {}
    for result in results:
        alike.setdefault(frozenset(diagnosis.by_case[result.id].names), []).append(result.id)
    for ids in alike.values():
        finding = diagnosis.by_case[ids[0]]
        where = f", {finding.where}" if finding.where else ""
        names = finding.names if all(map(is_misreading, finding.names)) else (UNEXPLAINED,)
        made = Expectation(_NAMED_LATER, f"{finding.about}{where}", diagnosis=names)
        yield Group(made, ids)


def _by_class(results: Sequence[CaseResult], diagnosis: Diagnosis) -> Iterator[Group]:
    """Coarse arithmetic, by dtype: the best class that all hold, or each its best."""
    for dtype in dict.fromkeys(r.dtype for r in results):
        mine = [r for r in results if r.dtype == dtype]
        of_all = next((c.name for c in CLASSES[dtype] if all(c.name in r.holds for r in mine)), "")
        for name in [of_all] if of_all else dict.fromkeys(r.arithmetic for r in mine):
            ids = [r.id for r in mine if of_all or r.arithmetic == name]
            said = next(
                (f.about for f in diagnosis.findings if f.names == (name,) and dtype in f.about),
                f"{dtype} as near as {name} arithmetic",
            )
            yield Group(Expectation(_NAMED_LATER, said, observed=(name,)), ids)


def _unexplained(results: Sequence[CaseResult]) -> Iterator[Group]:
    """Wrong numbers that nothing explains."""
    if results:
        reason = "TODO: why; the numbers are wrong, and nothing explains them"
        made = Expectation(_NAMED_LATER, reason, diagnosis=(UNEXPLAINED,))
        yield Group(made, [r.id for r in results], one_by_one=len(results) <= ONE_BY_ONE)

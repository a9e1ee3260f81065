"""What became of the questions that must be refused, as a person reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..refusals.refusal import Outcome, Refusal, counts
from .wrapping import head_and_tail, width, wrapped

_IN_WORDS: dict[Outcome, str] = {
    "obvious": "answered as if nothing were wrong",
    "garbage": "answered with garbage",
    "crash": "crashed",
}


def how_many_refused(refusals: Sequence[Refusal]) -> str:
    """How many were refused, of those that were asked."""
    found = counts(refusals)
    return f"{found['refused']} of {len(refusals) - found['unasked']} invalid questions refused"


def in_short(refusals: Sequence[Refusal]) -> str:
    """What of it makes the verdict, for the first line; "" where nothing does."""
    wrong = [one for one in refusals if one.wrong]
    if not wrong:
        return ""
    known = sum(one.expected is not None for one in wrong)
    expected = f", {known} of them expected" if known else ""
    return f"{len(wrong)} accepted that must be refused{expected}"


def refusal_lines(refusals: Sequence[Refusal]) -> Iterator[str]:
    """How many were refused, and each defect that was not, the same one in several dtypes together."""
    if not refusals:
        return
    found = counts(refusals)
    others = "".join(f", {found[word]} {told}" for word, told in _IN_WORDS.items() if found[word])
    yield ""
    yield from wrapped(f"{how_many_refused(refusals)}{others}{':' if others else ''}", 0, 2)
    yield from _accepted([one for one in refusals if one.accepted and not one.expected])
    yield from _unasked([one for one in refusals if one.outcome == "unasked"])


def _accepted(refusals: Sequence[Refusal]) -> Iterator[str]:
    alike: dict[tuple[str, str, Outcome], list[Refusal]] = {}
    for one in refusals:
        alike.setdefault((one.operator, one.defect, one.outcome), []).append(one)
    for (operator, defect, outcome), members in alike.items():
        first = members[0]
        dtypes = ", ".join(one.dtype for one in members)
        yield f"  {outcome:7}  {operator}/invalid/*/{defect}"
        open_ = "" if first.decides else "; the text leaves it open, so it does not decide"
        yield from wrapped(
            f"{first.about} (cases/{first.ledger}){open_}; {dtypes}",
            indent=11,
            cut=False,
        )
        if first.message:
            yield from wrapped(head_and_tail(first.message, 3 * width()), indent=11)


def _unasked(refusals: Sequence[Refusal]) -> Iterator[str]:
    if not refusals:
        return
    yield "  not asked, for the valid question is not answered either:"
    for message, count in Counter(one.message for one in refusals).most_common():
        yield from wrapped(f"{count:6}  {head_and_tail(message, 2 * width())}", indent=0, more=8)

"""What sets cases without outputs apart from those with outputs: errors, crashes, refusals, missing cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .diagnosis.asked import Asked, tell_apart
from .diagnosis.hints import MOST_CONDITIONS
from .judging.case_result import CaseResult, mask
from .observed.isolated import NOT_ASKED

MOST_GROUPS = 10
"""Maximum kinds of messages looked at: a report shows as many."""
_NOUNS = {"error": "errors", "unsupported": "refusals", "missing": "missing cases"}


def say_where_unanswered(
    results: Sequence[CaseResult], asks: Mapping[str, Asked]
) -> Mapping[str, Sequence[str]]:
    """Say, by id, what is true of all cases that went unanswered alike, and of no answered case.

    `asks` has what each deciding case asks for. Cases that are declared unsupported, or missing because the
    runtime was asked no more, are neither.
    """
    without = [one for one in results if one.id in asks and _counts(one)]
    if not without:
        return {}
    answered = [asks[r.id] for r in results if r.id in asks and r.verdict in ("passed", "failed")]
    found: dict[str, Sequence[str]] = {}
    for some in _groups(without):
        ids = [one.id for one in some if one.id not in found]
        where = tell_apart([asks[one] for one in ids], answered) if ids else []
        if where:
            what = f"these {len(ids)} {_NOUNS[some[0].verdict]} are all"
            texts = [f"{what} {one}: no such case was answered" for one in where]
            found |= dict.fromkeys(ids, texts[:MOST_CONDITIONS])
    return found


def _counts(one: CaseResult) -> bool:
    if one.verdict == "missing":
        return not one.message.startswith(NOT_ASKED)
    return one.wrong and one.verdict != "failed"


def _groups(without: Sequence[CaseResult]) -> Iterator[list[CaseResult]]:
    """Yield the cases of each verdict, kind of error, and like messages; then of each verdict again."""
    Cases = defaultdict[Any, list[CaseResult]]
    verdicts, kinds, alike = Cases(list), Cases(list), Cases(list)
    for one in without:
        verdicts[one.verdict].append(one)
        kinds[one.verdict, one.fault and one.fault.kind].append(one)
        alike[one.verdict, mask(one.message)].append(one)
    most = sorted(alike.values(), key=len, reverse=True)[:MOST_GROUPS]
    yield from (*verdicts.values(), *kinds.values(), *most, *verdicts.values())

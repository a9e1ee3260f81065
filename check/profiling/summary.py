"""A profile in short: how much of each operator is right, and all that is not, by what it looks like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ...cases.operators.known import OPERATORS
from ...gen.tolerances.classes import CLASSES
from ...vectors.case import REQUIRED
from ..reports.text import fit, mask, width, wrap
from .row import AGAIN, Profile, Row, Status

STATUSES: tuple[Status, ...] = ("right", "wrong", "refused", "crashed", "malformed", "missing")
_NAMED = 5
"""So many features are named, where more look the same."""
_UNKNOWN = "nothing known explains it"


def summary_lines(profile: Profile) -> Iterator[str]:
    """How many features of each operator have which status, and what is not right."""
    yield f"{profile.runtime} {profile.version}".rstrip()
    rows = [row for row in profile.rows if row.operator not in refused_whole(profile)]
    for operator in dict.fromkeys(row.operator for row in rows):
        counts = Counter(row.status for row in rows if row.operator == operator)
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        yield from wrap(f"{operator}: {told}", indent=2, more=6)
    if whole := refused_whole(profile):
        yield from wrap(f"refused altogether: {', '.join(whole)}", indent=2, more=6)
    yield from _section(
        "silently wrong:", _of(rows, "wrong"), lambda row: row.misreading or _UNKNOWN
    )
    coarser = [row for row in rows if coarse(row) and row.feature != AGAIN]
    yield from _section("right, in coarser arithmetic than the dtype's own:", coarser,
                        lambda row: f"{row.dtype} computed in {row.arithmetic}", dtypes=False)  # fmt: skip
    for status in ("crashed", "malformed", "refused", "missing"):
        yield from _section(f"{status}:", _of(rows, status), lambda row: row.message)


def refused_whole(profile: Profile) -> list[str]:
    """The operators of which nothing is asked that is not refused."""
    operators = dict.fromkeys(row.operator for row in profile.rows)
    return [
        operator
        for operator in operators
        if all(row.status == "refused" for row in profile.rows if row.operator == operator)
    ]


def coarse(row: Row) -> bool:
    """Whether a feature is right in no better arithmetic than one that its dtype does not require."""
    names = [one.name for one in CLASSES[row.dtype]]
    wanted = names.index(REQUIRED[row.dtype])
    return row.status == "right" and names.index(row.arithmetic) > wanted


def _of(rows: Sequence[Row], status: str) -> list[Row]:
    return [row for row in rows if row.status == status]


def _section(
    title: str, rows: Sequence[Row], said: Callable[[Row], str], *, dtypes: bool = True
) -> Iterator[str]:
    """What is said of some rows, those together of which the same is said but for numbers and dtypes."""
    if not rows:
        return
    yield title
    for operator in dict.fromkeys(row.operator for row in rows):
        yield f"  {operator}"
        alike: dict[str, list[Row]] = {}
        for row in rows:
            if row.operator == operator:
                message = said(row) if row.status in ("right", "wrong") else mask(said(row))
                alike.setdefault(message, []).append(row)
        for members in alike.values():
            told = fit(said(members[0]), 2 * width())
            where = _features(members) if dtypes else f"{len(members)} features"
            yield from wrap(f"{told}: {where}", indent=4, more=8, cut=False)


def _features(rows: Sequence[Row]) -> str:
    """The names of the features of some rows of an operator, in which dtypes where not in all, and what was
    answered where the same question was answered otherwise before."""
    names = list(dict.fromkeys(row.feature for row in rows))
    told = ", ".join(names[:_NAMED])
    if len(names) > _NAMED:
        told += f" and {len(names) - _NAMED} more"
    if names == [AGAIN]:
        return f"{told}: {rows[0].cases[0]}: {rows[0].message}"
    found = list(dict.fromkeys(row.dtype for row in rows))
    return (
        told
        if set(found) == set(OPERATORS[rows[0].operator].dtypes())
        else f"{told} ({', '.join(found)})"
    )

"""A profile as a person reads it, at 80 columns, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...cases.operators.known import OPERATORS
from ...gen.tolerances.classes import CLASSES
from ...vectors.case import REQUIRED
from ..refusals.refusal import Refusal
from ..reports.wrapping import WIDTH, clipped, head_and_tail, wrapped
from .row import AGAIN, Profile, Row, Status

STATUSES: tuple[Status, ...] = ("right", "wrong", "refused", "crashed", "malformed", "missing")
_FEATURE, _CELL = 24, 14
_MANY = 8
"""So many features of equal cells, one behind the other, are told as one line."""
_NAMED = 5
TOLD = {
    "obvious": "accepted, as if nothing were wrong",
    "garbage": "accepted, with other numbers",
    "crash": "crashed, or hung",
}
"""What is said of an invalid question that was not refused, by its outcome."""
_LEGEND = (
    "right, or the class of arithmetic it is right to; refused: declared unsupported, or an error; "
    "wrong: numbers that no arithmetic gives; crashed: a death, or no answer; malformed: outputs of "
    "other names, shapes or dtypes; missing: not asked any more"
)


def profile_lines(profile: Profile, *, full: bool = False) -> Iterator[str]:
    """The lines of a profile: what is wrong first, then a table for each operator; with `full`, a line for
    each feature."""
    yield from summary_lines(profile)
    for operator in dict.fromkeys(row.operator for row in profile.rows):
        yield ""
        yield from _table(operator, [r for r in profile.rows if r.operator == operator], full)
    yield from _refusals(profile.refusals)
    yield ""
    yield from wrapped(_LEGEND, indent=0)


def summary_lines(profile: Profile) -> Iterator[str]:
    """How many features have each status, and what is silently wrong."""
    counts = Counter(row.status for row in profile.rows)
    told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    yield f"{profile.runtime} {profile.version}".rstrip() + f": {told}"
    yield from _silent(profile.rows)


def _silent(rows: Sequence[Row]) -> Iterator[str]:
    """What is wrong without a word, by what it looks like."""
    wrong = [row for row in rows if row.status == "wrong"]
    if not wrong:
        return
    yield "silently wrong:"
    for operator in dict.fromkeys(row.operator for row in wrong):
        mine = [row for row in wrong if row.operator == operator]
        for misreading in dict.fromkeys(row.misreading for row in mine):
            features = list(dict.fromkeys(r.feature for r in mine if r.misreading == misreading))
            said = misreading or "nothing known explains it"
            told = ", ".join(features[:_NAMED])
            more = f" and {len(features) - _NAMED} more" if len(features) > _NAMED else ""
            yield from wrapped(f"{operator}: {said}: {told}{more}", indent=2, more=6, cut=False)


def _refusals(found: Sequence[Refusal]) -> Iterator[str]:
    """Of each operator how many questions that must be refused were, and which ones were accepted."""
    asked = [one for one in found if one.outcome != "unasked"]
    if not asked:
        return
    yield ""
    yield "questions that must be refused, or that a text leaves open (?):"
    for operator in dict.fromkeys(one.operator for one in asked):
        mine = [one for one in asked if one.operator == operator]
        refused = sum(one.outcome == "refused" for one in mine)
        yield f"  {operator}: {refused} of {len(mine)} refused"
        for outcome, told in TOLD.items():
            names = [f"{r.defect}{'' if r.decides else '?'}" for r in mine if r.outcome == outcome]
            if names:
                said = f"{told}: {', '.join(names)}"
                yield from wrapped(said, indent=6, more=8, cut=False)


def _table(operator: str, rows: Sequence[Row], full: bool) -> Iterator[str]:
    dtypes = [d for d in OPERATORS[operator].dtypes() if any(row.dtype == d for row in rows)]
    notes: dict[str, int] = {}
    cells: dict[str, list[str]] = {}
    for feature in dict.fromkeys(row.feature for row in rows):
        by_dtype = {row.dtype: row for row in rows if row.feature == feature}
        cells[feature] = [_cell(by_dtype.get(dtype), notes) for dtype in dtypes]
    yield f"{operator:{_FEATURE}}" + "".join(f"{dtype:{_CELL}}" for dtype in dtypes).rstrip()
    lines = (([name], texts) for name, texts in cells.items()) if full else runs(cells)
    for features, texts in lines:
        told = "".join(f"{text:{_CELL}}" for text in texts).rstrip()
        name = features[0]
        if len(features) > 1:
            name = f"{features[0]} … {features[-1]}: {len(features)}"
        if len(name) + 3 > _FEATURE:
            yield f"  {clipped(name, WIDTH - 2)}"
            name = ""
        yield f"  {name:{_FEATURE - 2}}{told}"
    for said, number in notes.items():
        yield from wrapped(f"{number:4}  {head_and_tail(said, 3 * WIDTH)}", indent=0, more=6)


def _cell(row: Row | None, notes: dict[str, int]) -> str:
    """What a cell says; `notes` number what is said below."""
    if row is None:
        return "–"
    if row.status == "right":
        return "right" if row.arithmetic == REQUIRED[row.dtype] or _finer(row) else row.arithmetic
    said = row.misreading or row.message
    if not said:
        return row.status
    return f"{row.status} {notes.setdefault(said, len(notes) + 1)}"


def _finer(row: Row) -> bool:
    """Whether the arithmetic is better than the dtype asks for."""
    names = [one.name for one in CLASSES[row.dtype]]
    return names.index(row.arithmetic) < names.index(REQUIRED[row.dtype])


def runs(cells: Mapping[str, Sequence[str]]) -> Iterator[tuple[list[str], Sequence[str]]]:
    """Features one behind the other with equal cells, as one where they are many."""
    run: list[str] = []
    for feature in [*cells, ""]:
        if run and (feature in ("", AGAIN) or cells[feature] != cells[run[0]]):
            alone = len(run) < _MANY
            yield from (([one], cells[one]) for one in run) if alone else [(run, cells[run[0]])]
            run = []
        run.append(feature)


def profiles_json(profiles: Sequence[Profile]) -> str:
    """Profiles as JSON, as check/README.md describes it."""
    value: dict[str, Any] = {
        "grucible_profile": 1,
        "profiles": [
            {
                "runtime": {"name": one.runtime, "version": one.version},
                "rows": [_row(row) for row in one.rows],
                "refusals": [_refusal(refusal) for refusal in one.refusals],
            }
            for one in profiles
        ],
    }
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _row(row: Row) -> dict[str, Any]:
    told = asdict(row) | {"cases": list(row.cases)}
    return told | {"arithmetic": row.arithmetic or None, "misreading": row.misreading or None}


def _refusal(one: Refusal) -> dict[str, Any]:
    names = (
        "id",
        "operator",
        "dtype",
        "defect",
        "about",
        "ledger",
        "outcome",
        "decides",
        "message",
    )
    return {name: getattr(one, name) for name in names}

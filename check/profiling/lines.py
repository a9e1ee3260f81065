"""A profile as a person reads it, at 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...cases.console import format_command
from ...cases.operators.known import OPERATORS
from ...cases.strict_json import format_json
from ..refusals.refusal import Refusal
from ..reports.json import refusal_value
from ..reports.text import fit, mask, width, wrap
from .row import AGAIN, Profile, Row
from .summary import coarse, refused_whole, summary_lines

_FEATURE, _CELL = 24, 14
_MANY = 8
"""So many features of equal cells, one behind the other, are told as one line."""
TOLD = {
    "obvious": "accepted, as if nothing were wrong",
    "garbage": "accepted, with other numbers",
    "crash": "crashed, or hung",
}
"""What is said of an invalid question that was not refused, by its outcome."""
_LEGEND = {
    "right": "within what the dtype's own arithmetic admits",
    "float32 …": "right, in no better arithmetic than this",
    "wrong": "numbers that no arithmetic gives",
    "refused": "declared unsupported, or an error",
    "crashed": "a death, or no answer in time",
    "malformed": "outputs of other names, shapes or dtypes",
    "missing": "not asked any more, after too many deaths",
    "–": "no such question",
}


def profile_lines(profile: Profile, *, full: bool = False) -> Iterator[str]:
    """The lines of a profile: what is wrong first, then a table for each operator; with `full`, a line for
    each feature."""
    yield from summary_lines(profile)
    whole = refused_whole(profile)
    for operator in dict.fromkeys(r.operator for r in profile.rows if r.operator not in whole):
        yield ""
        yield from _table(operator, [r for r in profile.rows if r.operator == operator], full)
    yield from _refusals(profile.refusals)
    yield ""
    yield from (f"{word:11}{told}" for word, told in _LEGEND.items())
    first = next((r for r in profile.rows if r.status == "wrong"), profile.rows[0])
    yield f"what is asked: {format_command('show', first.cases[:1])}"


def _refusals(found: Sequence[Refusal]) -> Iterator[str]:
    """Of each operator how many questions that must be refused were, and which ones were accepted."""
    asked = [one for one in found if one.outcome != "unasked"]
    if not asked:
        return
    yield ""
    yield "what must be refused, in one dtype (?: the text leaves open what happens):"
    for operator in dict.fromkeys(one.operator for one in asked):
        mine = [one for one in asked if one.operator == operator]
        must = [one for one in mine if one.decides]
        refused = sum(one.outcome == "refused" for one in must)
        yield f"  {operator}: {refused} of {len(must)} refused"
        for outcome, told in TOLD.items():
            names = [f"{r.defect}{'' if r.decides else '?'}" for r in mine if r.outcome == outcome]
            if names:
                said = f"{told}: {', '.join(names)}"
                yield from wrap(said, indent=6, more=8, cut=False)


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
            yield f"  {fit(name, width() - 2)}"
            name = ""
        yield f"  {name:{_FEATURE - 2}}{told}"
    for said, number in notes.items():
        yield from wrap(f"{number:4}  {fit(said, 3 * width())}", indent=0, more=6)


def _cell(row: Row | None, notes: dict[str, int]) -> str:
    """What a cell says; `notes` number what is said below."""
    if row is None:
        return "–"
    if row.status == "right":
        return row.arithmetic if coarse(row) else "right"
    said = row.misreading if row.status == "wrong" else row.message
    if not said:
        return row.status
    if row.status == "wrong":
        return f"{row.status} {notes.setdefault(said, len(notes) + 1)}"
    alike = {mask(note): number for note, number in notes.items()}
    return f"{row.status} {alike.get(mask(said)) or notes.setdefault(said, len(notes) + 1)}"


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
                "refusals": [refusal_value(refusal) for refusal in one.refusals],
            }
            for one in profiles
        ],
    }
    return format_json(value)


def _row(row: Row) -> dict[str, Any]:
    told = asdict(row) | {"cases": list(row.cases)}
    return told | {"arithmetic": row.arithmetic or None, "misreading": row.misreading or None}

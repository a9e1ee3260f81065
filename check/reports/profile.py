"""Profiles as a person reads them, as a page in Markdown, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ...cases.console import format_command, format_table
from ...cases.operators import OPERATORS
from ...cases.strict_json import format_json
from ...gen.tolerances.classes import CLASSES
from ...vectors.case import REQUIRED
from ..profile import AGAIN, Profile, Row, Status
from ..refusals import Refusal
from .formats import refusal_value
from .text import as_markdown, fit, group, markdown_table, mask, page_head, width, wrap

STATUSES: tuple[Status, ...] = ("right", "wrong", "refused", "crashed", "malformed", "missing")
TITLE = "# What runtimes can do"
_NAMED = 5
"""Maximum features that are named, where more look the same."""
_MANY = 8
"""Minimum features of equal cells, one behind the other, that share a line."""
_MOST_TEXT = 300
"""Maximum characters of a text in a page."""
_UNKNOWN = "nothing known explains it"
_ACCEPTED = {
    "obvious": "accepted, as if nothing were wrong",
    "garbage": "accepted, with other numbers",
    "crash": "crashed, or hung",
}
"""By outcome, what became of an invalid question that was not refused."""
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
_HEAD = """\
Each runtime was asked plain questions: a baseline, and then one feature at a time. Some features ask only
whether something is accepted and changes nothing: a default written out, something left out, another size.
The names of features are the parts of case ids ("What ids say" in grucible's cases/README.md). A runtime that
knows one operator is asked the others' questions too, wherever these can be put as its own; what cannot is
*refused*, and so is what it refuses only because a default is written out then. Of what must be refused, only
what a text forbids counts.

*right*: within the tolerances of some class of arithmetic. *refused*: declared unsupported, or an error.
*wrong*: numbers that no arithmetic gives, without a word; the number leads to what they look like.
*crashed*: a death, or no answer in time. *malformed*: outputs of other names, shapes or dtypes. *asked
again*: those that were right twice more, in this order and in the reverse of it, in one session.
"""


def summary_lines(profile: Profile) -> Iterator[str]:
    """Yield how many features of each operator have which status, and what is not right."""
    yield f"{profile.runtime} {profile.version}".rstrip()
    whole = _refused_whole(profile)
    rows = [row for row in profile.rows if row.operator not in whole]
    for operator, mine in group(rows, lambda row: row.operator).items():
        counts = Counter(row.status for row in mine)
        parts = [f"{counts[status]} {status}" for status in STATUSES if counts[status]]
        yield from wrap(f"{operator}: {', '.join(parts)}", 2, 6)
    if whole:
        yield from wrap(f"refused altogether: {', '.join(whole)}", 2, 6)
    coarser = [row for row in rows if is_coarse(row) and row.feature != AGAIN]
    by_status = group(rows, lambda row: row.status)
    yield from _section("silently wrong:", by_status.get("wrong", []))
    yield from _section("right, in coarser arithmetic than the dtype's own:", coarser)
    for status in ("crashed", "malformed", "refused", "missing"):
        yield from _section(f"{status}:", by_status.get(status, []))


def _refused_whole(profile: Profile) -> list[str]:
    """Return the operators all of whose features are refused."""
    by_operator = group(profile.rows, lambda row: row.operator)
    return [o for o, rows in by_operator.items() if {row.status for row in rows} == {"refused"}]


def is_coarse(row: Row) -> bool:
    """Whether a feature is right in coarser arithmetic alone than its dtype requires."""
    names = [one.name for one in CLASSES[row.dtype]]
    wanted = names.index(REQUIRED[row.dtype])
    return row.status == "right" and names.index(row.arithmetic) > wanted


def _about(row: Row) -> str:
    """Return what a note says of a feature that is not right, or is coarse."""
    if row.status == "right":
        return f"{row.dtype} computed in {row.arithmetic}"
    return row.misreading or _UNKNOWN if row.status == "wrong" else row.message


def _alike(row: Row) -> str:
    """Return what rows with the same note share: messages may differ in numbers and dtypes."""
    return _about(row) if row.status in ("right", "wrong") else mask(_about(row))


def _section(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows by operator, like ones together."""
    if rows:
        yield title
    for operator, mine in group(rows, lambda row: row.operator).items():
        yield f"  {operator}"
        for members in group(mine, _alike).values():
            text = f"{fit(_about(members[0]), 2 * width())}: {_features(members)}"
            yield from wrap(text, 4, 8, cut=False)


def _features(rows: Sequence[Row]) -> str:
    """Return the names of features of an operator, and in which dtypes where not in all."""
    names = list(dict.fromkeys(row.feature for row in rows))
    if rows[0].status == "right":
        return f"{len(rows)} features"
    if names == [AGAIN]:
        return f"{AGAIN}: {rows[0].cases[0]}: {rows[0].message}"
    shown = ", ".join(names[:_NAMED]) + f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
    dtypes = list(dict.fromkeys(row.dtype for row in rows))
    every = set(dtypes) == set(OPERATORS[rows[0].operator].dtypes())
    return shown if every else f"{shown} ({', '.join(dtypes)})"


def profile_lines(profile: Profile, *, full: bool = False) -> Iterator[str]:
    """Yield what is wrong first, then a table for each operator; with `full`, a line for each feature."""
    yield from summary_lines(profile)
    whole = _refused_whole(profile)
    for operator, rows in group(profile.rows, lambda row: row.operator).items():
        if operator not in whole:
            dtypes = [d for d in OPERATORS[operator].dtypes() if any(r.dtype == d for r in rows)]
            table, notes = _table([[r for r in rows if r.dtype == d] for d in dtypes], full=full)
            room = max(20, width() - 13 * len(dtypes))
            lines = [[f"  {fit(name, room)}", *cells] for name, cells in table]
            yield from ["", *format_table([operator, *dtypes], lines).splitlines()]
            for number, text in enumerate(notes, 1):
                yield from wrap(f"{number:4}  {fit(text, 3 * width())}", 0, 6)
    asked = [one for one in profile.refusals if one.outcome != "unasked"]
    if asked:
        yield from [
            "",
            "what must be refused, in one dtype (?: the text leaves open what happens):",
        ]
    for operator, mine in group(asked, lambda one: one.operator).items():
        yield f"  {operator}: {_count_refused(mine)}"
        for text in _accepted(mine):
            yield from wrap(text, 6, 8, cut=False)
    yield from ["", *(f"{word:11}{text}" for word, text in _LEGEND.items())]
    first = next((r for r in profile.rows if r.status == "wrong"), profile.rows[0])
    yield f"what is asked: {format_command('show', first.cases[:1])}"


def _table(
    columns: Sequence[Sequence[Row]], *, full: bool
) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Return the features with a cell of each column, and the notes whose numbers cells name.

    Without `full`, many features one behind the other with equal cells share a line.
    """
    notes: dict[str, tuple[int, str]] = {}

    def cell(row: Row | None) -> str:
        if row is None:
            return "–"
        if row.status == "right":
            return row.arithmetic if is_coarse(row) else "right"
        if not _about(row):
            return row.status
        return f"{row.status} {notes.setdefault(_alike(row), (len(notes) + 1, _about(row)))[0]}"

    by_feature = [{row.feature: row for row in column} for column in columns]
    features = dict.fromkeys(feature for column in by_feature for feature in column)
    cells = {feature: [cell(c.get(feature)) for c in by_feature] for feature in features}
    runs: list[list[str]] = []
    for feature in cells:
        if runs and feature != AGAIN and cells[feature] == cells[runs[-1][0]]:
            runs[-1].append(feature)
        else:
            runs.append([feature])
    table = []
    for run in runs:
        if len(run) >= _MANY and not full:
            table.append((f"{run[0]} … {run[-1]}: {len(run)}", cells[run[0]]))
        else:
            table += [(feature, cells[feature]) for feature in run]
    return table, [text for _, text in notes.values()]


def _count_refused(refusals: Sequence[Refusal]) -> str:
    must = [one for one in refusals if one.decides and one.outcome != "unasked"]
    return f"{sum(one.outcome == 'refused' for one in must)} of {len(must)} refused"


def _accepted(refusals: Sequence[Refusal]) -> Iterator[str]:
    """Yield what became of the invalid questions that were not refused, and their defects."""
    for outcome, text in _ACCEPTED.items():
        names = [f"{r.defect}{'' if r.decides else '?'}" for r in refusals if r.outcome == outcome]
        if names:
            yield f"{text}: {', '.join(names)}"


def profiles_json(profiles: Sequence[Profile]) -> str:
    """Return profiles as JSON, as check/README.md describes it."""
    return format_json(
        {
            "grucible_profile": 1,
            "profiles": [
                {
                    "runtime": {"name": one.runtime, "version": one.version},
                    "rows": [
                        asdict(row)
                        | {
                            "cases": list(row.cases),
                            "arithmetic": row.arithmetic or None,
                            "misreading": row.misreading or None,
                        }
                        for row in one.rows
                    ],
                    "refusals": [refusal_value(refusal) for refusal in one.refusals],
                }
                for one in profiles
            ],
        }
    )


def page_lines(profiles: Sequence[Profile], command: str) -> Iterator[str]:
    """Yield profiles side by side, as a page in Markdown; `command` made it."""
    yield from page_head(TITLE, _HEAD, command)
    counted = []
    for one in profiles:
        counts = Counter(row.status for row in one.rows)
        refused = _count_refused(one.refusals) if one.refusals else "–"
        counted.append(
            [_text(one.runtime), _text(one.version), *(str(counts[s]) for s in STATUSES), refused]
        )
    yield from markdown_table(["runtime", "version", *STATUSES, "of what must be refused"], counted)
    for operator in OPERATORS:
        mine = [[row for row in one.rows if row.operator == operator] for one in profiles]
        if any(mine):
            yield from ["", f"## {operator}", ""]
            yield from _side_by_side(operator, profiles, mine)


def _side_by_side(
    operator: str, profiles: Sequence[Profile], mine: Sequence[Sequence[Row]]
) -> Iterator[str]:
    """Yield the table of an operator in its first dtype, its other dtypes in a line each, and the notes."""
    asked = {row.dtype for rows in mine for row in rows}
    first, *others = [dtype for dtype in OPERATORS[operator].dtypes() if dtype in asked]
    table, notes = _table([[r for r in rows if r.dtype == first] for rows in mine], full=False)
    lines = [[_text(name), *cells] for name, cells in table]
    lines += [[f"in {dtype}", *(_counts(rows, dtype) for rows in mine)] for dtype in others]
    yield from markdown_table([first, *(_text(one.runtime) for one in profiles)], lines)
    for one in profiles:
        parts = [*_accepted([r for r in one.refusals if r.wrong and r.operator == operator])]
        if parts:
            what = "; ".join(parts)
            yield from ["", f"{_text(one.runtime)}, of what must be refused, {what}."]
    yield from [""] if notes else []
    yield from (f"{number}. {_text(text)}" for number, text in enumerate(notes, 1))


def _counts(rows: Sequence[Row], dtype: str) -> str:
    """Return how many features of a dtype have each status, and the arithmetic of those that are right."""
    mine = [row for row in rows if row.dtype == dtype]
    counts = Counter(row.status for row in mine)
    arithmetic = sorted({row.arithmetic for row in mine if row.arithmetic})
    note = {"right": f" ({', '.join(arithmetic)})"}
    return ", ".join(f"{counts[s]} {s}{note.get(s, '')}" for s in STATUSES if counts[s]) or "–"


def _text(text: str) -> str:
    return as_markdown(text[:_MOST_TEXT])

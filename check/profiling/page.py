"""Profiles side by side, as a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...cases.operators.known import OPERATORS
from ..reports.text import as_markdown, page_head
from .lines import TOLD, runs
from .row import Profile, Row
from .summary import STATUSES, coarse

_MOST_TEXT = 300
TITLE = "# What runtimes can do"
_HEAD = """\
Each runtime was asked plain questions: a baseline, and then one feature at a time. Some features ask only
whether something is accepted and changes nothing: a default written out, something left out, another size.
The names of features are the parts of case ids ("What ids say" in grucible's cases/README.md). A runtime that
knows one operator is asked the others' questions too, wherever these can be put as its own; what cannot is
*refused*, and so is what it refuses only because a default is written out then. Of what must be refused, only
that is counted which a text forbids.

*right*: within the tolerances of some class of arithmetic. *refused*: declared unsupported, or an error.
*wrong*: numbers that no arithmetic gives, without a word; the number leads to what they look like.
*crashed*: a death, or no answer in time. *malformed*: outputs of other names, shapes or dtypes. *asked
again*: those that were right twice more, in this order and in the reverse of it, in one session.
"""


def page_lines(profiles: Sequence[Profile], command: str) -> Iterator[str]:
    """The page; `command` made it."""
    yield from page_head(TITLE, _HEAD, command)
    yield "| runtime | version | " + " | ".join(STATUSES) + " | of what must be refused |"
    yield "| --- | --- |" + " ---: |" * len(STATUSES) + " --- |"
    for one in profiles:
        counts = Counter(row.status for row in one.rows)
        told = " | ".join(str(counts[status]) for status in STATUSES)
        must = [r for r in one.refusals if r.decides and r.outcome != "unasked"]
        refused = f"{sum(r.outcome == 'refused' for r in must)} of {len(must)} refused"
        name = f"{_cell_text(one.runtime)} | {_cell_text(one.version)}"
        yield f"| {name} | {told} | {refused if must else '–'} |"
    for operator in OPERATORS:
        if any(row.operator == operator for one in profiles for row in one.rows):
            yield ""
            yield f"## {operator}"
            yield ""
            yield from _operator(operator, profiles)


def _operator(operator: str, profiles: Sequence[Profile]) -> Iterator[str]:
    """The table of an operator in its first dtype, its other dtypes in a line each, and the notes."""
    mine = [[row for row in one.rows if row.operator == operator] for one in profiles]
    asked = {row.dtype for rows in mine for row in rows}
    first = next(dtype for dtype in OPERATORS[operator].dtypes() if dtype in asked)
    notes: dict[str, int] = {}
    table: dict[str, list[str]] = {}
    for feature in dict.fromkeys(r.feature for rows in mine for r in rows if r.dtype == first):
        table[feature] = [_cell(rows, feature, first, notes) for rows in mine]
    yield f"| {first} | " + " | ".join(_cell_text(one.runtime) for one in profiles) + " |"
    yield "| --- |" + " --- |" * len(profiles)
    for features, cells in runs(table):
        name = _cell_text(features[0])
        if len(features) > 1:
            name += f" … {_cell_text(features[-1])} ({len(features)})"
        yield f"| {name} | " + " | ".join(cells) + " |"
    for dtype in OPERATORS[operator].dtypes():
        if dtype != first and any(row.dtype == dtype for rows in mine for row in rows):
            yield f"| in {dtype} | " + " | ".join(_counts(rows, dtype) for rows in mine) + " |"
    accepted = [(_cell_text(one.runtime), _accepted(operator, one)) for one in profiles]
    for runtime, told in accepted:
        if told:
            yield ""
            yield f"{runtime} accepts what must be refused: {told}."
    if notes:
        yield ""
        yield from (f"{number}. {_cell_text(said)}" for said, number in notes.items())


def _accepted(operator: str, profile: Profile) -> str:
    """The defects that a runtime lets pass though the text forbids them, by what came back."""
    wrong = [one for one in profile.refusals if one.wrong and one.operator == operator]
    by_outcome = {
        told: [r.defect for r in wrong if r.outcome == outcome] for outcome, told in TOLD.items()
    }
    return "; ".join(f"{', '.join(names)} ({told})" for told, names in by_outcome.items() if names)


def _cell(rows: Sequence[Row], feature: str, dtype: str, notes: dict[str, int]) -> str:
    for row in rows:
        if (row.feature, row.dtype) == (feature, dtype):
            if row.status == "right":
                return f"right ({row.arithmetic})" if coarse(row) else "right"
            if row.status in ("refused", "missing"):
                return row.status
            said = row.misreading if row.status == "wrong" else row.message
            said = said or "nothing known explains it"
            return f"**{row.status}** {notes.setdefault(said, len(notes) + 1)}"
    return "–"


def _counts(rows: Sequence[Row], dtype: str) -> str:
    """How many features of a dtype have each status, and in what arithmetic those are that are right."""
    mine = [row for row in rows if row.dtype == dtype]
    counts = Counter(row.status for row in mine)
    arithmetic = sorted({row.arithmetic for row in mine if row.arithmetic})
    in_what = {"right": f" ({', '.join(arithmetic)})"}
    told = (f"{counts[s]} {s}{in_what.get(s, '')}" for s in STATUSES if counts[s])
    return ", ".join(told) or "–"


def _cell_text(text: str) -> str:
    """A text of somebody's as it may stand in a page."""
    return as_markdown(text[:_MOST_TEXT])

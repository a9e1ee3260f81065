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
from ..judging.case_result import mask
from ..profile import AGAIN, Profile, Row, Status
from ..refusals import Refusal
from .formats import refusal_value
from .text import as_markdown, fit, group, markdown_table, page_head, width, wrap

TITLE = "# What runtimes can do"
_STATUSES: dict[Status, str] = {
    "right": "within what the dtype's own arithmetic admits",
    "wrong": "numbers that no arithmetic gives",
    "refused": "declared unsupported, or an error",
    "crashed": "a death, or no answer in time",
    "malformed": "outputs of other names, shapes or dtypes",
    "missing": "not asked any more, after too many deaths",
}
"""The meaning of each status."""
_LEGEND = {"float32 …": "right, in no better arithmetic than this", "–": "no such question"}
"""Other texts of a cell, with their meanings."""
_TITLES: dict[Status, str] = {"wrong": "silently wrong", "right": "right, in coarser arithmetic"}
"""The beginning of a note, for statuses that do not begin it themselves."""
_NAMED = 5
"""Maximum features that a note names; the others are counted."""
_MANY = 8
"""Minimum features with equal cells, one after another, that share a line."""
_MOST_TEXT = 300
"""Maximum characters of a text in a page."""
_ACCEPTED = {
    "obvious": "accepted, as if nothing were wrong",
    "garbage": "accepted, with other numbers",
    "crash": "crashed, or hung",
}
"""The words for each outcome of an invalid question that was not refused."""
_HEAD = """\
Each runtime was asked plain questions: a baseline, and then one feature at a time. Some features change
nothing: a default written out, something left out, another size. The names of features are the parts of case
ids ("What ids say" in grucible's cases/README.md). A runtime that knows one operator is asked the others'
questions too, as far as these can be put as its own. It refuses the rest. *asked again* are those that were
right, asked twice more in one process: in this order, and in the reverse order. Of what must be refused,
only what a text forbids counts.
"""


def summary_lines(profile: Profile, *, full: bool = False) -> Iterator[str]:
    """Yield how many features of each operator have each status, and what is not right."""
    yield f"{profile.runtime} {profile.version}".rstrip()
    by_operator = group(profile.rows, lambda row: row.operator)
    for operator, rows in by_operator.items():
        yield from wrap(f"{operator}: {_count(rows)}", 2, 6)
    for operator, rows in by_operator.items():
        for note in _notes(rows, full=full) if _answers(rows) else ():
            yield from wrap(f"{operator}: {note}", 2, 6)


def _answers(rows: Sequence[Row]) -> bool:
    return any(row.status != "refused" for row in rows)


def _count(rows: Sequence[Row]) -> str:
    """Return how many features have each status, and the arithmetic of those that are right."""
    counts = Counter(row.status for row in rows)
    arithmetic = ", ".join(sorted({row.arithmetic for row in rows if row.arithmetic}))
    notes: dict[Status, str] = {"right": f" ({arithmetic})"}
    return ", ".join(f"{counts[s]} {s}{notes.get(s, '')}" for s in _STATUSES if counts[s]) or "–"


def is_coarse(row: Row) -> bool:
    """Say whether a feature is right, but only in coarser arithmetic than its dtype requires."""
    names = [one.name for one in CLASSES[row.dtype]]
    wanted = names.index(REQUIRED[row.dtype])
    return row.status == "right" and names.index(row.arithmetic) > wanted


def _notes(rows: Sequence[Row], *, full: bool = False) -> Iterator[str]:
    """Yield what is wrong with an operator's features, wrong numbers first; like features share a note."""
    noted = [r for r in rows if r.status != "right" or (is_coarse(r) and r.feature != AGAIN)]
    noted.sort(key=lambda row: (row.status != "wrong", row.status != "right"))
    for (status, _), members in group(noted, lambda row: (row.status, mask(_about(row)))).items():
        names = list(dict.fromkeys(row.feature for row in members))
        named = ", ".join(names if full else names[:_NAMED])
        if len(names) > _NAMED and not full:
            named += f" and {len(names) - _NAMED} more"
        dtypes = list(dict.fromkeys(row.dtype for row in members))
        if set(dtypes) != set(OPERATORS[members[0].operator].dtypes()):
            named += f" ({', '.join(dtypes)})"
        yield f"{_TITLES.get(status, status)}: {fit(_about(members[0]), 2 * width())}: {named}"


def _about(row: Row) -> str:
    """Return what a note says of a feature that is not right, or is coarse."""
    if row.status == "right":
        return f"{row.dtype} computed in {row.arithmetic}"
    if row.status == "wrong":
        return row.misreading or "nothing known explains it"
    return row.message


def profile_lines(profile: Profile, *, full: bool = False) -> Iterator[str]:
    """Yield what is wrong first, then a table for each operator; with `full`, every feature by its name."""
    yield from summary_lines(profile, full=full)
    for operator, rows in group(profile.rows, lambda row: row.operator).items():
        if _answers(rows):
            dtypes = [d for d in OPERATORS[operator].dtypes() if any(r.dtype == d for r in rows)]
            table = _table([[r for r in rows if r.dtype == d] for d in dtypes], full=full)
            lines = [[f"  {name}", *cells] for name, *cells in table]
            yield from ["", *format_table([operator, *dtypes], lines).splitlines()]
    asked = [one for one in profile.refusals if one.outcome != "unasked"]
    if asked:
        yield ""
        yield "what must be refused, in one dtype (?: the text leaves open what happens):"
    for operator, mine in group(asked, lambda one: one.operator).items():
        yield f"  {operator}: {_count_refused(mine)}"
        for text in _accepted(mine):
            yield from wrap(text, 6, 8)
    yield from ["", *(f"{word:11}{text}" for word, text in (_STATUSES | _LEGEND).items())]
    order = {"wrong": 0, "right": 1}  # what is not answered tells least
    first = min(profile.rows, key=lambda row: order.get(row.status, 2))
    yield f"what is asked: {format_command('show', first.cases[:1])}"


def _table(columns: Sequence[Sequence[Row]], *, full: bool) -> Iterator[list[str]]:
    """Yield a line for each feature, with a cell for each column.

    Without `full`, consecutive features with equal cells share a line if they are many.
    """
    by_feature = [{row.feature: row for row in column} for column in columns]
    features = dict.fromkeys(feature for column in by_feature for feature in column)
    runs: list[tuple[list[str], list[str]]] = []
    for feature in features:
        cells = [_cell(column.get(feature)) for column in by_feature]
        if runs and feature != AGAIN and cells == runs[-1][1]:
            runs[-1][0].append(feature)
        else:
            runs.append(([feature], cells))
    for names, cells in runs:
        if len(names) >= _MANY and not full:
            names = [f"{names[0]} and {len(names) - 1} more"]
        yield from ([name, *cells] for name in names)


def _cell(row: Row | None) -> str:
    return "–" if row is None else row.arithmetic if is_coarse(row) else row.status


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
    """Return profiles as JSON, which check/JSON.md describes."""
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
    yield from (f"- *{word}*: {text}" for word, text in (_STATUSES | _LEGEND).items())
    names = [_text(one.runtime) for one in profiles]
    counted = []
    for name, one in zip(names, profiles, strict=True):
        counts = Counter(row.status for row in one.rows)
        refused = _count_refused(one.refusals) if one.refusals else "–"
        counted.append([name, _text(one.version), *(str(counts[s]) for s in _STATUSES), refused])
    header = ["runtime", "version", *_STATUSES, "of what must be refused"]
    yield from ["", *markdown_table(header, counted)]
    for operator in OPERATORS:
        mine = [[row for row in one.rows if row.operator == operator] for one in profiles]
        asked = {row.dtype for rows in mine for row in rows}
        if not asked:
            continue
        yield from ["", f"## {operator}", ""]
        first, *others = [dtype for dtype in OPERATORS[operator].dtypes() if dtype in asked]
        table = _table([[r for r in rows if r.dtype == first] for rows in mine], full=False)
        lines = [[_text(name), *cells] for name, *cells in table]
        for dtype in others:
            lines.append(
                [f"in {dtype}", *(_count([r for r in m if r.dtype == dtype]) for m in mine)]
            )
        yield from [*markdown_table([first, *names], lines), ""]
        for name, one, rows in zip(names, profiles, mine, strict=True):
            accepted = _accepted([r for r in one.refusals if r.wrong and r.operator == operator])
            yield from (f"- {name}: {_text(note)}" for note in (*_notes(rows), *accepted))


def _text(text: str) -> str:
    return as_markdown(text[:_MOST_TEXT])

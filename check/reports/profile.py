"""Profiles as a person reads them, as a page in Markdown, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from ...cases.console import format_command, format_table
from ...cases.operators import OPERATORS
from ...cases.strict_json import format_json
from ...gen.tolerances.classes import CLASSES
from ...vectors.case import REQUIRED
from ..profile import AGAIN, Profile, Row, Status
from ..refusals import Refusal
from .json import refusal_value
from .text import as_markdown, fit, group, mask, page_head, width, wrap

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
    wrong = [row for row in rows if row.status == "wrong"]
    yield from _section("silently wrong:", wrong, lambda row: row.misreading or _UNKNOWN)
    coarser = [row for row in rows if is_coarse(row) and row.feature != AGAIN]
    title = "right, in coarser arithmetic than the dtype's own:"
    yield from _section(title, coarser, lambda row: f"{row.dtype} computed in {row.arithmetic}")
    for status in ("crashed", "malformed", "refused", "missing"):
        mine = [row for row in rows if row.status == status]
        yield from _section(f"{status}:", mine, lambda row: row.message)


def _refused_whole(profile: Profile) -> list[str]:
    """Return the operators all of whose features are refused."""
    by_operator = group(profile.rows, lambda row: row.operator)
    return [o for o, rows in by_operator.items() if {row.status for row in rows} == {"refused"}]


def is_coarse(row: Row) -> bool:
    """Whether a feature is right in coarser arithmetic alone than its dtype requires."""
    names = [one.name for one in CLASSES[row.dtype]]
    wanted = names.index(REQUIRED[row.dtype])
    return row.status == "right" and names.index(row.arithmetic) > wanted


def _section(title: str, rows: Sequence[Row], say: Callable[[Row], str]) -> Iterator[str]:
    """Yield rows by operator, like ones together but for numbers and dtypes."""

    def key(row: Row) -> str:
        return say(row) if row.status in ("right", "wrong") else mask(say(row))

    if rows:
        yield title
    for operator, mine in group(rows, lambda row: row.operator).items():
        yield f"  {operator}"
        for members in group(mine, key).values():
            where = _features(members)
            yield from wrap(f"{fit(say(members[0]), 2 * width())}: {where}", 4, 8, cut=False)


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
            yield ""
            yield from _table(operator, rows, full)
    yield from _refusal_lines(profile.refusals)
    yield ""
    yield from (f"{word:11}{text}" for word, text in _LEGEND.items())
    first = next((r for r in profile.rows if r.status == "wrong"), profile.rows[0])
    yield f"what is asked: {format_command('show', first.cases[:1])}"


def _table(operator: str, rows: Sequence[Row], full: bool) -> Iterator[str]:
    """Yield the status of each feature in each dtype, and numbered notes below."""
    dtypes = [d for d in OPERATORS[operator].dtypes() if any(row.dtype == d for row in rows)]
    notes: dict[str, int] = {}
    cells = {
        feature: [_cell(mine, dtype, notes) for dtype in dtypes]
        for feature, mine in group(rows, lambda row: row.feature).items()
    }
    runs = [[name] for name in cells] if full else find_runs(cells)
    room = width() - 13 * len(dtypes)
    lines = [[fit(_run_name(run), max(20, room)), *cells[run[0]]] for run in runs]
    table = format_table([operator, *dtypes], [[f"  {name}", *more] for name, *more in lines])
    yield from table.splitlines()
    for text, number in notes.items():
        yield from wrap(f"{number:4}  {fit(text, 3 * width())}", 0, 6)


def _run_name(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}: {len(run)}"


def _cell(rows: Sequence[Row], dtype: str, notes: dict[str, int]) -> str:
    """Return the status of a feature in a dtype; `notes` number the explanations."""
    row = next((one for one in rows if one.dtype == dtype), None)
    if row is None:
        return "–"
    if row.status == "right":
        return row.arithmetic if is_coarse(row) else "right"
    text = row.misreading or row.message if row.status != "wrong" else row.misreading
    if not text:
        return row.status
    alike = {
        note if row.status == "wrong" else mask(note): number for note, number in notes.items()
    }
    number = alike.get(text if row.status == "wrong" else mask(text))
    return f"{row.status} {number or notes.setdefault(text, len(notes) + 1)}"


def find_runs(cells: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return features one behind the other with equal cells, together where they are many."""
    runs: list[list[str]] = []
    for feature in cells:
        if runs and feature != AGAIN and cells[feature] == cells[runs[-1][0]]:
            runs[-1].append(feature)
        else:
            runs.append([feature])
    return [part for run in runs for part in ([run] if len(run) >= _MANY else [[f] for f in run])]


def _refusal_lines(found: Sequence[Refusal]) -> Iterator[str]:
    """Yield of each operator how many questions that must be refused were, and which ones were accepted."""
    asked = [one for one in found if one.outcome != "unasked"]
    if asked:
        yield ""
        yield "what must be refused, in one dtype (?: the text leaves open what happens):"
    for operator, mine in group(asked, lambda one: one.operator).items():
        must = [one for one in mine if one.decides]
        refused = sum(one.outcome == "refused" for one in must)
        yield f"  {operator}: {refused} of {len(must)} refused"
        for outcome, text in _ACCEPTED.items():
            names = [f"{r.defect}{'' if r.decides else '?'}" for r in mine if r.outcome == outcome]
            if names:
                yield from wrap(f"{text}: {', '.join(names)}", 6, 8, cut=False)


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
    yield "| runtime | version | " + " | ".join(STATUSES) + " | of what must be refused |"
    yield "| --- | --- |" + " ---: |" * len(STATUSES) + " --- |"
    for one in profiles:
        counts = Counter(row.status for row in one.rows)
        must = [r for r in one.refusals if r.decides and r.outcome != "unasked"]
        refused = f"{sum(r.outcome == 'refused' for r in must)} of {len(must)} refused"
        cells = [_text(one.runtime), _text(one.version), *(str(counts[s]) for s in STATUSES)]
        yield f"| {' | '.join([*cells, refused if must else '–'])} |"
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
    notes: dict[str, int] = {}
    features = dict.fromkeys(r.feature for rows in mine for r in rows if r.dtype == first)
    table = {f: [_page_cell(rows, f, first, notes) for rows in mine] for f in features}
    yield f"| {first} | " + " | ".join(_text(one.runtime) for one in profiles) + " |"
    yield "| --- |" + " --- |" * len(profiles)
    for run in find_runs(table):
        yield f"| {_text(_run_name(run))} | " + " | ".join(table[run[0]]) + " |"
    for dtype in others:
        yield f"| in {dtype} | " + " | ".join(_counts(rows, dtype) for rows in mine) + " |"
    for one in profiles:
        wrong = group(
            [r for r in one.refusals if r.wrong and r.operator == operator], lambda r: r.outcome
        )
        parts = [
            f"{', '.join(r.defect for r in some)} ({_ACCEPTED[o]})" for o, some in wrong.items()
        ]
        if parts:
            yield from [
                "",
                f"{_text(one.runtime)} accepts what must be refused: {'; '.join(parts)}.",
            ]
    if notes:
        yield from ["", *(f"{number}. {_text(text)}" for text, number in notes.items())]


def _page_cell(rows: Sequence[Row], feature: str, dtype: str, notes: dict[str, int]) -> str:
    row = next((one for one in rows if (one.feature, one.dtype) == (feature, dtype)), None)
    if row is None:
        return "–"
    if row.status == "right":
        return f"right ({row.arithmetic})" if is_coarse(row) else "right"
    if row.status in ("refused", "missing"):
        return row.status
    text = (row.misreading if row.status == "wrong" else row.message) or _UNKNOWN
    return f"**{row.status}** {notes.setdefault(text, len(notes) + 1)}"


def _counts(rows: Sequence[Row], dtype: str) -> str:
    """Return how many features of a dtype have each status, and the arithmetic of those that are right."""
    mine = [row for row in rows if row.dtype == dtype]
    counts = Counter(row.status for row in mine)
    arithmetic = sorted({row.arithmetic for row in mine if row.arithmetic})
    note = {"right": f" ({', '.join(arithmetic)})"}
    return ", ".join(f"{counts[s]} {s}{note.get(s, '')}" for s in STATUSES if counts[s]) or "–"


def _text(text: str) -> str:
    return as_markdown(text[:_MOST_TEXT])

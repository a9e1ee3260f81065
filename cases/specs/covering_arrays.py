"""Covering arrays: few cases, stored as rows in a spec, that hold every pair of factor values.

Of some factors they hold every triple, too. Rows are only ever added (`grucible cases --extend`), because a
new array would replace most cases. Loading checks that the rows cover everything.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from ..console import format_command, shorten
from ..errors import SpecError
from ..files import write_whole
from .factors import key
from .spec_file import Assignment, CaseSpecFile, Covering
from .yaml_source import Location, parse

Together = tuple[tuple[str, str], ...]
"""Two or three factors, each with a value as `factors.key` writes it."""
Match = dict[str, list[Any]]
"""An `exclude` entry: it matches assignments in which each named factor has one of its listed values."""
Array = Covering[dict[str, list[Any]], Match]


def covered_by(assignment: Assignment, array: Array) -> set[Together]:
    """List what one assignment covers of an array: its pairs of values, and triples of some factors."""
    items = [(name, key(value)) for name, value in assignment.items()]
    three = [item for item in items if item[0] in array.triples]
    return {*itertools.combinations(items, 2), *itertools.combinations(three, 3)}


def _shown(together: Together) -> str:
    return " with ".join(f"{name}: {value}" for name, value in together)


class Excluded:
    """The assignments that some `exclude` entry matches: `assignment in excluded`."""

    def __init__(self, entries: Sequence[Match]) -> None:
        self._entries = [
            [(name, set(map(key, values))) for name, values in entry.items()] for entry in entries
        ]

    def __contains__(self, assignment: Assignment) -> bool:
        mine = {name: key(value) for name, value in assignment.items()} if self._entries else {}
        return any(
            all(mine.get(name) in values for name, values in entry) for entry in self._entries
        )


def rows_of(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Read the rows of `array`, which is entry `index` of `spec`.

    Raises SpecError unless every row has listed values and is not excluded, and everything is
    covered.
    """
    rows = _listed_rows(spec, index, array)
    missing = _uncovered(array, rows)
    if missing:
        what = "pairs and triples" if array.triples else "pairs"
        raise spec.document.error(
            ("cases", index, "rows"),
            f"miss {len(missing)} {what}, such as {_shown(_first(missing))}; "
            f"run: {format_command('cases', (), ['--extend', spec.document.name])}",
        )
    return rows


def extend(spec: CaseSpecFile) -> int:
    """Add the missing rows to each covering array in the file of `spec`; return their number.

    Nothing else in the file changes, except the brackets of `rows: []`. Raises SpecError if no row can hold
    a pair, or if `rows` is not a list with a row per line.
    """
    document = spec.document
    lines, wanted, added = document.text.split("\n"), copy.deepcopy(document.value), 0
    for index, entry in reversed([*enumerate(spec.model.cases)]):
        if not isinstance(entry, Covering) or not (rows := _missing_rows(spec, index, entry)):
            continue
        place: Location = ("cases", index, "rows")
        if entry.rows:
            at = document.lines[*place, len(entry.rows) - 1]
            lead = lines[at - 1].partition("[")[0]
        else:
            at = document.lines[place]
            lead = " " * (lines[at - 1].find("rows") + 2) + "- "
            lines[at - 1] = lines[at - 1].replace(" []", "", 1)
        end = "\r" if lines[at - 1].endswith("\r") else ""
        lines[at:at] = [f"{lead}{_flow(row)}{end}" for row in rows]
        wanted["cases"][index]["rows"] += [list(row.values()) for row in rows]
        added += len(rows)
    text = "\n".join(lines)
    with contextlib.suppress(SpecError):
        if parse(document.name, text).value == wanted:
            if added:
                write_whole(Path(document.name), text, mark=b"")
            return added
    raise SpecError(
        f"{document.name}: rows cannot be added; expected `rows: []`, or below `rows:` a line "
        "`- [value, ...]` for each row"
    )


def _flow(row: Assignment) -> str:
    values = list(row.values())
    return str(yaml.safe_dump(values, default_flow_style=True, width=10_000)).strip()


def _listed_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Read the listed rows, whether or not they cover every pair."""
    found, excluded = [], Excluded(array.exclude)
    for number, row in enumerate(array.rows):
        place, names = ("cases", index, "rows", number), [*array.covering]
        if len(row) != len(names):
            raise spec.document.error(place, f"has {len(row)} values; expected {', '.join(names)}")
        assignment: Assignment = {}
        for (name, values), value in zip(array.covering.items(), row, strict=True):
            if value not in values:
                shown = shorten(repr(value), 60)
                raise spec.document.error(place, f"{name}: {shown} is not among the values above")
            assignment[name] = values[values.index(value)]
        if assignment in excluded:
            raise spec.document.error(place, "is excluded")
        found.append(assignment)
    return found


def _missing_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Find few rows for what the listed rows of entry `index` leave uncovered.

    Raises SpecError where the `exclude` entries leave a pair or triple that no row can hold.
    """
    missing = _uncovered(array, _listed_rows(spec, index, array))
    found = []
    while missing:
        first = _first(missing)
        row = _row_with(dict(first), array, missing)
        if row is None:
            place, what = spec.document.place(("cases", index)), ("pair", "triple")[len(first) - 2]
            raise SpecError(f"{place}: no row can hold {_shown(first)}; exclude that {what}")
        found.append(row)
        missing -= covered_by(row, array)
    return found


def _first(missing: Iterable[Together]) -> Together:
    """Choose what to cover next: triples first, because their rows cover many pairs."""
    return min(missing, key=lambda one: (-len(one), one))


def _uncovered(array: Array, rows: Iterable[Assignment]) -> set[Together]:
    """List the pairs and triples that no row holds and no `exclude` entry matches."""
    found: set[Together] = set()
    excluded = Excluded(array.exclude)
    three = [name for name in array.covering if name in array.triples]
    for names in (
        *itertools.combinations(array.covering, 2),
        *itertools.combinations(three, 3),
    ):
        for values in itertools.product(*(array.covering[name] for name in names)):
            together = dict(zip(names, values, strict=True))
            if together not in excluded:
                found.add(tuple((name, key(value)) for name, value in together.items()))
    return found.difference(*(covered_by(row, array) for row in rows))


def _row_with(together: dict[str, str], array: Array, missing: set[Together]) -> Assignment | None:
    """Make a row with the values of `together`; choose each other value to cover most of `missing`.

    If a choice leads to no row, try the next best. Return None if no row can hold `together`.
    """
    excluded = Excluded(array.exclude)
    choices_of = {
        name: [value for value in values if together.get(name, key(value)) == key(value)]
        for name, values in array.covering.items()
    }

    sure = {name: choices_of[name][0] for name in together}

    def count(row: Assignment) -> int:
        """Count what `row` will cover of `missing`, with the values of `together`."""
        ordered = {name: (row | sure)[name] for name in array.covering if name in row | sure}
        return len(covered_by(ordered, array) & missing)

    def complete(row: Assignment) -> Assignment | None:
        if len(row) == len(array.covering):
            return row
        name = [*array.covering][len(row)]
        choices = [row | {name: value} for value in choices_of[name]]
        choices = [choice for choice in choices if choice | sure not in excluded]
        choices.sort(key=count, reverse=True)
        return next((found for choice in choices if (found := complete(choice))), None)

    return complete(Assignment())

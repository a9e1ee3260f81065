"""Covering arrays: every pair of factor values in few cases, with rows that are committed.

Rows are only ever added (`grucible cases --extend`); loading verifies that they cover every pair.
Otherwise adding a value, or upgrading the library that proposes rows, would replace most cases.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from ..console import format_command
from ..errors import SpecError
from ..files import write_whole
from .factors import factors, key
from .spec_file import CaseSpecFile
from .spec_model import Assignment, Covering, shown
from .yaml_source import Document, parse

Pair = tuple[str, str, str, str]
"""Two factors with a value each: name, value, name, value; values as `factors.key`."""
Match = dict[str, list[Any]]
"""An `exclude` entry: it matches what has, of every factor named, one of the values listed."""
Array = Covering[dict[str, list[Any]], Match]


def pairs_of(assignment: Assignment) -> set[Pair]:
    """List the pairs of factor values in one assignment."""
    items = [(name, key(value)) for name, value in assignment.items()]
    return {(a, u, b, v) for (a, u), (b, v) in itertools.combinations(items, 2)}


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
    """Read the rows of entry `index` of `spec`, which is `array`.

    Raises SpecError unless every row is of the listed values and not excluded, and all pairs are
    covered.
    """
    rows = _listed_rows(spec, index, array)
    missing = _uncovered(array, rows)
    if missing:
        a, u, b, v = min(missing)
        raise spec.document.error(
            ("cases", index, "rows"),
            f"miss {len(missing)} pairs, such as {a}: {u} with {b}: {v}; "
            f"run: {format_command('cases', (), ['--extend', spec.document.name])}",
        )
    return rows


def extend(spec: CaseSpecFile) -> int:
    """Add to each covering array in the file of `spec` the rows it lacks; return how many.

    Nothing else in the file changes, but for the brackets of `rows: []`. Raises SpecError where no row can
    hold a pair, and where `rows` is not a list with a row per line; GrucibleError where the file cannot be
    written.
    """
    document = spec.document
    text, wanted = document.text, copy.deepcopy(document.value)
    added = 0
    for index, entry in enumerate(spec.model.cases):
        if isinstance(entry, Covering) and (rows := _missing_rows(spec, index, entry)):
            wanted["cases"][index]["rows"] += [list(row.values()) for row in rows]
            text = _insert_rows(text, index, rows)
            added += len(rows)
            if _value(document, text) != wanted:
                raise SpecError(
                    f"{document.place(('cases', index, 'rows'))}: rows cannot be added here; expected "
                    "`rows: []` in a line of its own, or below `rows:` a line `- [value, ...]` for each row"
                )
    if added:
        write_whole(Path(document.name), text, mark=b"")
    return added


def _value(document: Document, text: str) -> Any:
    try:
        return parse(document.name, text).value
    except SpecError:
        return None


def _insert_rows(text: str, index: int, rows: list[Assignment]) -> str:
    """Insert rows below those of entry `index`, in the same indentation."""
    start = int(text.startswith("\ufeff"))
    node: Any = yaml.compose(text[start:], Loader=yaml.SafeLoader)  # parsed before: not nested deep
    node = _field(_field(node, "cases").value[index], "rows")
    at = start + node.start_mark.index
    if node.value:
        first, last = start + node.value[0].start_mark.index, node.value[-1]
        lead = text[text.rfind("\n", 0, first) + 1 : first]
        while not last.flow_style:  # its end is that of the blanks and comments below it
            last = last.value[-1]
            if isinstance(last, yaml.ScalarNode):
                break
        end = start + last.end_mark.index
        head = text[:end]
    else:
        named = text.rfind("rows", 0, at)
        lead = " " * (named - text.rfind("\n", 0, named) + 1) + "- "
        end = start + node.end_mark.index
        head = text[:at].rstrip()
        if text[at:end].strip("[] \t\r\n"):  # a comment
            return text
    newline = "\r\n" if "\r\n" in text else "\n"
    rest, found, below = text[end:].partition(newline)  # a comment beside it stays
    lines = [head + rest, *(lead + _flow(row) for row in rows)]
    return newline.join(lines) + (found or newline) + below


def _field(mapping: Any, name: str) -> Any:
    return next(value for key, value in mapping.value if key.value == name)


def _flow(row: Assignment) -> str:
    values = list(row.values())
    return str(yaml.safe_dump(values, default_flow_style=True, width=10_000)).strip()


def _listed_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Read the rows that are there, whether or not they cover every pair."""
    types = {name: factors(spec.model.operator)[name].values for name in array.covering}
    allowed = {name: set(map(key, values)) for name, values in array.covering.items()}
    found, excluded = [], Excluded(array.exclude)
    for number, row in enumerate(array.rows):
        place = ("cases", index, "rows", number)
        if len(row) != len(types):
            raise spec.document.error(place, f"has {len(row)} values; expected {', '.join(types)}")
        assignment: Assignment = {}
        for name, value in zip(types, row, strict=True):
            if types[name].accepts(value):
                assignment[name] = types[name].typed(value)
            if name not in assignment or key(assignment[name]) not in allowed[name]:
                raise spec.document.error(
                    place, f"{name}: {shown(value)} is not among the values above"
                )
        if assignment in excluded:
            raise spec.document.error(place, "is excluded")
        found.append(assignment)
    return found


def _missing_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Find few rows that cover what those of entry `index` leave uncovered.

    Raises SpecError where the `exclude` entries leave a pair that no row can hold.
    """
    rows = _listed_rows(spec, index, array)
    missing = _uncovered(array, rows)
    proposals = itertools.chain(() if rows else _proposals(array), _completions(array, missing))
    found = []
    for proposal in proposals:
        gained = pairs_of(proposal) & missing
        if gained:
            found.append(proposal)
            missing -= gained
    if missing:
        a, u, b, v = min(missing)
        raise SpecError(
            f"{spec.document.place(('cases', index))}: no row can hold {a}: {u} with {b}: {v}; "
            "exclude that pair"
        )
    return found


def _uncovered(array: Array, rows: Iterable[Assignment]) -> set[Pair]:
    """List the pairs that are not excluded by themselves, and that no row holds."""
    found: set[Pair] = set()
    excluded = Excluded(array.exclude)
    for (a, left), (b, right) in itertools.combinations(array.covering.items(), 2):
        for u, v in itertools.product(left, right):
            if {a: u, b: v} not in excluded:
                found.add((a, key(u), b, key(v)))
    return found.difference(*map(pairs_of, rows))


def _proposals(array: Array) -> Iterator[Assignment]:
    """Propose rows from nothing, by allpairspy."""
    from allpairspy import AllPairs

    names, excluded = list(array.covering), Excluded(array.exclude)

    def allowed(partial: Sequence[Any]) -> bool:
        return dict(zip(names, partial, strict=False)) not in excluded

    for row in AllPairs(list(array.covering.values()), filter_func=allowed):
        yield dict(zip(names, row, strict=True))


def _completions(array: Array, missing: set[Pair]) -> Iterator[Assignment]:
    """For each pair that is still missing in turn, make a row that holds it.

    Each of its values in turn is the one with which it holds most of `missing`.
    """
    excluded = Excluded(array.exclude)
    for pair in sorted(missing):
        if pair not in missing:
            continue
        a, u, b, v = pair
        wanted = {a: u, b: v}
        row: Assignment = {}
        for name, values in array.covering.items():
            choices = [
                row | {name: value}
                for value in values
                if wanted.get(name, key(value)) == key(value)
                and row | {name: value} not in excluded
            ]
            if not choices:
                break
            row = max(choices, key=lambda choice: len(pairs_of(choice) & missing))
        else:
            yield row

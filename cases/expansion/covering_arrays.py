"""Covering arrays: every pair of factor values in few cases, with rows that are committed.

Rows are only ever added (`grucible cases --extend`); loading verifies that they cover every pair.
Otherwise adding a value, or upgrading the library that proposes rows, would replace most cases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..console import format_command
from ..errors import SpecError
from ..specs.factors import factors, key
from ..specs.spec_file import CaseSpecFile
from ..specs.spec_model import Assignment, Covering, shown
from .assignments import Excluded, Match, Pair, pairs_of

Array = Covering[dict[str, list[Any]], Match]


def rows_of(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """The rows of entry `index` of `spec`, which is `array`.

    Raises SpecError unless every row is of the listed values and not excluded, and all pairs are
    covered.
    """
    rows = listed_rows(spec, index, array)
    missing = _uncovered(array, rows)
    if missing:
        a, u, b, v = min(missing)
        raise spec.document.error(
            ("cases", index, "rows"),
            f"miss {len(missing)} pairs, such as {a}: {u} with {b}: {v}; "
            f"run: {format_command('cases', (), ['--extend', spec.document.name])}",
        )
    return rows


def listed_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """The rows that are there, whether or not they cover every pair."""
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


def missing_rows(spec: CaseSpecFile, index: int, array: Array) -> list[Assignment]:
    """Rows that cover what those of entry `index` leave uncovered, few of them.

    Raises SpecError where the `exclude` entries leave a pair that no row can hold.
    """
    rows = listed_rows(spec, index, array)
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
    """The pairs that are not excluded by themselves, and that no row holds."""
    found: set[Pair] = set()
    excluded = Excluded(array.exclude)
    for (a, left), (b, right) in itertools.combinations(array.covering.items(), 2):
        for u, v in itertools.product(left, right):
            if {a: u, b: v} not in excluded:
                found.add((a, key(u), b, key(v)))
    return found.difference(*map(pairs_of, rows))


def _proposals(array: Array) -> Iterator[Assignment]:
    """Rows from nothing, as allpairspy proposes them."""
    from allpairspy import AllPairs

    names, excluded = list(array.covering), Excluded(array.exclude)

    def allowed(partial: Sequence[Any]) -> bool:
        return dict(zip(names, partial, strict=False)) not in excluded

    for row in AllPairs(list(array.covering.values()), filter_func=allowed):
        yield dict(zip(names, row, strict=True))


def _completions(array: Array, missing: set[Pair]) -> Iterator[Assignment]:
    """For each pair that is still missing in turn, a row that holds it."""
    excluded = Excluded(array.exclude)
    for pair in sorted(missing):
        if pair in missing:
            row = _row_with(pair, array, missing, excluded)
            if row is not None:
                yield row


def _row_with(
    pair: Pair, array: Array, missing: set[Pair], excluded: Excluded
) -> Assignment | None:
    """A row with `pair`, each value in turn chosen so that it holds most of `missing`."""
    a, u, b, v = pair
    wanted = {a: u, b: v}
    row: Assignment = {}
    for name, values in array.covering.items():
        choices = [
            row | {name: value} for value in values if wanted.get(name, key(value)) == key(value)
        ]
        choices = [choice for choice in choices if choice not in excluded]
        if not choices:
            return None
        row = max(choices, key=lambda choice: len(pairs_of(choice) & missing))
    return row

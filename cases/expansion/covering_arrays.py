"""Covering arrays: every pair of factor values in few cases, with rows that are committed.

Rows are only ever extended (`grucible cases --extend`); loading verifies that they cover every
pair. Otherwise adding a value, or upgrading the library that proposes rows, would replace most
cases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import SpecError
from ..specs.factors import key
from ..specs.spec_file import CaseSpecFile

Assignment = dict[str, Any]
"""A value for each of some factors, by name."""
Pair = tuple[str, str, str, str]
"""Two factors with a value each: name, value, name, value; values as `factors.key`."""


def pairs_of(assignment: Assignment) -> set[Pair]:
    """The pairs of factor values in one assignment."""
    items = [(name, key(value)) for name, value in assignment.items()]
    return {(a, u, b, v) for (a, u), (b, v) in itertools.combinations(items, 2)}


def is_excluded(assignment: Assignment, excluded: Sequence[dict[str, list[Any]]]) -> bool:
    """Whether every factor of some `exclude` entry is in `assignment` with one of its values."""
    return any(
        all(
            name in assignment and key(assignment[name]) in map(key, values)
            for name, values in match.items()
        )
        for match in excluded
    )


def all_pairs(values: dict[str, list[Any]], excluded: Sequence[dict[str, list[Any]]]) -> set[Pair]:
    """Every pair of values that no `exclude` entry forbids by itself."""
    found: set[Pair] = set()
    for (a, left), (b, right) in itertools.combinations(values.items(), 2):
        for u, v in itertools.product(left, right):
            if not is_excluded({a: u, b: v}, excluded):
                found.add((a, key(u), b, key(v)))
    return found


def uncovered(values: dict[str, list[Any]], excluded: Any, rows: Iterable[list[Any]]) -> set[Pair]:
    """The pairs that no row holds."""
    missing = all_pairs(values, excluded)
    for row in rows:
        missing -= pairs_of(dict(zip(values, row, strict=True)))
    return missing


def verify_rows(spec: CaseSpecFile, index: int, entry: Any) -> None:
    """Raise SpecError unless every row is of the listed values, allowed, and all pairs are covered."""
    values, excluded = _parts(entry)
    for number, row in enumerate(entry.rows):
        place = ("cases", index, "rows", number)
        if len(row) != len(values):
            raise spec.document.error(place, f"has {len(row)} values; expected {', '.join(values)}")
        for (name, allowed), value in zip(values.items(), row, strict=True):
            if key(value) not in map(key, allowed):
                raise spec.document.error(place, f"{name}: {value!r} is not among the values above")
        if is_excluded(dict(zip(values, row, strict=True)), excluded):
            raise spec.document.error(place, "is excluded")
    missing = uncovered(values, excluded, entry.rows)
    if missing:
        a, u, b, v = min(missing)
        raise spec.document.error(
            ("cases", index, "rows"),
            f"miss {len(missing)} pairs, such as {a}: {u} with {b}: {v}; "
            f"run: grucible cases --extend {spec.document.name}",
        )


def _parts(entry: Any) -> tuple[dict[str, list[Any]], list[dict[str, list[Any]]]]:
    values: dict[str, list[Any]] = entry.covering.model_dump(exclude_unset=True)
    return values, [match.model_dump(exclude_unset=True) for match in entry.exclude]


def extend(spec: CaseSpecFile) -> int:
    """Append to each covering array of a spec file the rows it lacks; returns how many were added.

    The rows that are there stay, in place and order; comments too. Raises SpecError where the
    `exclude` entries leave a pair that no row can hold.
    """
    path = Path(spec.document.name)
    lines = spec.document.text.splitlines(keepends=True)
    added = 0
    for index in reversed(range(len(spec.model.cases))):
        entry = spec.model.cases[index]
        if not hasattr(entry, "covering"):
            continue
        values, excluded = _parts(entry)
        new = _missing_rows(spec, index, values, excluded, entry.rows)
        rows_line = spec.document.places["cases", index, "rows"].line
        header = next(
            n for n in range(rows_line, 0, -1) if lines[n - 1].lstrip().startswith("rows:")
        )
        if entry.rows:
            last = max(
                place.line
                for location, place in spec.document.places.items()
                if location[:3] == ("cases", index, "rows") and len(location) > 3
            )
        else:
            last = header
            lines[header - 1] = lines[header - 1].replace("[]", "").rstrip() + "\n"
        indent = " " * (len(lines[header - 1]) - len(lines[header - 1].lstrip()) + 2)
        lines[last:last] = [f"{indent}- {_flow(row)}\n" for row in new]
        added += len(new)
    if added:
        path.write_text("".join(lines), encoding="utf-8")
    return added


def _flow(row: list[Any]) -> str:
    import yaml

    return str(yaml.safe_dump(row, default_flow_style=True, width=10_000)).strip()


def _missing_rows(
    spec: CaseSpecFile,
    index: int,
    values: dict[str, list[Any]],
    excluded: list[dict[str, list[Any]]],
    rows: list[list[Any]],
) -> list[list[Any]]:
    """Rows that cover what `rows` leave uncovered, few of them (proposed by allpairspy)."""
    from allpairspy import AllPairs

    def allowed(partial: list[Any]) -> bool:
        return not is_excluded(dict(zip(values, partial, strict=False)), excluded)

    missing = uncovered(values, excluded, rows)
    names = list(values)
    new: list[list[Any]] = []
    proposals = AllPairs(list(values.values()), filter_func=allowed) if not rows else ()
    for proposal in itertools.chain(proposals, _completions(names, values, allowed, missing)):
        gained = pairs_of(dict(zip(names, proposal, strict=True))) & missing
        if gained:
            new.append(list(proposal))
            missing -= gained
    if missing:
        a, u, b, v = min(missing)
        raise SpecError(
            f"{spec.document.place(('cases', index))}: no row can hold {a}: {u} with {b}: {v}; "
            "exclude that pair"
        )
    return new


def _completions(
    names: list[str], values: dict[str, list[Any]], allowed: Any, missing: set[Pair]
) -> Iterable[list[Any]]:
    """For each missing pair in turn, the allowed row that also holds most other missing pairs."""
    for a, u, b, v in sorted(missing):
        if (a, u, b, v) not in missing:
            continue
        row: list[Any] = []
        for name in names:
            fixed = {a: u, b: v}.get(name)
            choices = [c for c in values[name] if fixed is None or key(c) == fixed]
            choices = [c for c in choices if allowed([*row, c])]
            if not choices:
                break
            row.append(
                max(
                    choices,
                    key=lambda c: len(
                        pairs_of(dict(zip(names, [*row, c], strict=False))) & missing
                    ),
                )
            )
        else:
            yield row

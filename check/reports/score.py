"""A score as a person reads it, at 80 columns, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from ...cases.operators.known import OPERATORS
from ...cases.strict_json import format_json
from ...gen.variants.catalogue import CATALOGUE
from ...vectors.case import REQUIRED
from ..score import ENOUGH, Score

_WIDTH = 80
_FEW = 3  # values of an attribute that a line names


def score_lines(found: Score, *, detail: bool) -> Iterator[str]:
    """The lines of the score; with `detail`, all that is known of each variant."""
    weak = found.weak()
    total = sum(len(dtypes) for rows in found.caught.values() for dtypes in rows.values())
    names = {name for rows in found.caught.values() for name in rows}
    if weak:
        yield f"weak: {len(weak)} of {total} times fewer than {ENOUGH} cases catch a misreading"
    else:
        many = f"all {len(names)} misreadings are" if len(names) > 1 else f"{names.pop()} is"
        yield f"{many} caught, by at least {ENOUGH} cases of each dtype"
    for operator, dtype, name, cases in weak:
        yield f"  {cases} cases: {name}, {operator}, {dtype}"
    for (operator, dtype), count in found.undeciding.items():
        if count:
            yield f"{count} cases decide nothing: {operator}, {dtype}; {REQUIRED[dtype]} arithmetic"
            yield "  admits more than the value for over half of their elements"
    for (operator, dtype), count in found.left_out.items():
        many = f"{count} case{'s' * (count > 1)}"
        yield f"{many} too large to be computed under misreadings: {operator}, {dtype}"
    for operator, rows in found.caught.items():
        dtypes = [d for o, d in found.cases if o == operator]
        yield ""
        yield f"{operator:36}" + "".join(f"{d:>10}" for d in dtypes)
        yield f"{'  cases':36}" + "".join(f"{found.cases[operator, d]:>10}" for d in dtypes)
        for name, caught in rows.items():
            counts = "".join(f"{caught[d].cases if d in caught else '-':>10}" for d in dtypes)
            yield f"  {name:34}{counts}"
            if detail:
                yield from _detail(found, operator, name)
    if not detail:
        yield ""
        yield "-: not worse than the required arithmetic. More of one: --misreading NAME"


def _detail(found: Score, operator: str, name: str) -> Iterator[str]:
    variant = CATALOGUE[name]
    yield from _wrapped(f"{variant.kind}: {variant.about_for(OPERATORS[operator])}")
    for link in variant.links:
        yield f"    {link}"
    where = found.visible_where(operator, name)
    for attribute, values in where.items():
        if len(values) > _FEW:
            continue
        yield from _wrapped(f"seen only where {attribute} is {' or '.join(values)}")
    examples = {e for caught in found.caught[operator][name].values() for e in caught.examples[:1]}
    for example in sorted(examples):
        yield f"    {example}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="      ")


def score_json(found: Score) -> str:
    """The score as JSON: per operator and misreading, what catches it."""
    value: dict[str, Any] = {
        "grucible_score": 1,
        "enough": ENOUGH,
        "weak": [
            {"operator": o, "dtype": d, "misreading": n, "cases": c} for o, d, n, c in found.weak()
        ],
        "operators": {
            operator: {
                "cases": {d: n for (o, d), n in found.cases.items() if o == operator},
                "undeciding": {d: n for (o, d), n in found.undeciding.items() if o == operator},
                "left_out": {d: n for (o, d), n in found.left_out.items() if o == operator},
                "misreadings": [
                    {
                        "name": name,
                        "kind": CATALOGUE[name].kind,
                        "about": CATALOGUE[name].about_for(OPERATORS[operator]),
                        "links": list(CATALOGUE[name].links),
                        "caught": {dtype: one.cases for dtype, one in caught.items()},
                        "seen_only_where": found.visible_where(operator, name),
                        "examples": {dtype: one.examples for dtype, one in caught.items()},
                    }
                    for name, caught in rows.items()
                ],
            }
            for operator, rows in found.caught.items()
        },
    }
    return format_json(value)

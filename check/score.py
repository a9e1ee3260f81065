"""How strong vectors are: which misreadings they would catch, computed, not looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.operators.values import value_text
from ..gen.tolerances.gate import vacuous_rows
from ..gen.variants.catalogue import CATALOGUE, variants_of
from ..gen.variants.evaluate import Limits, can_be_caught, catches
from ..gen.variants.variant import Variant
from ..gen.variants.work import too_large
from ..vectors.block import Block
from ..vectors.vector_set import VectorSet
from .judging.criterion import check_classes

ENOUGH = 3
"""A misreading counts as caught where this many cases of a dtype catch it."""
SHOWN_CASES = 3


@dataclass
class Caught:
    """How often the cases of one operator and dtype catch one variant.

    `examples` are the ids of some of them; `values` has, for each attribute, the values that
    catching cases have.
    """

    cases: int = 0
    examples: list[str] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)

    def see(self, block: Block, caught: Any) -> None:
        """Count the cases of a block where `caught` (n,) says so."""
        self.cases += int(caught.sum())
        operator = OPERATORS[block.operator]
        for row in np.flatnonzero(caught):
            if len(self.examples) < SHOWN_CASES:
                self.examples.append(block.ids[row])
            for name, value in operator.with_defaults(block.given[row]).items():
                self.values.setdefault(name, set()).add(value_text(value))


@dataclass
class Score:
    """What vectors catch: by operator and variant, a `Caught` per dtype.

    `values` are those that any case of the operator has. `cases` counts them by operator and dtype,
    `undeciding` those whose required tolerances say too little to decide (gen.tolerances.gate), `left_out`
    those that are too large to be computed under variants (gen.variants.work): they count as catching none.
    """

    caught: dict[str, dict[str, dict[str, Caught]]] = field(default_factory=dict)
    values: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    cases: dict[tuple[str, str], int] = field(default_factory=dict)
    undeciding: dict[tuple[str, str], int] = field(default_factory=dict)
    left_out: dict[tuple[str, str], int] = field(default_factory=dict)

    def weak(self) -> list[tuple[str, str, str, int]]:
        """List (operator, dtype, variant, cases) of what fewer than ENOUGH cases catch."""
        return [
            (operator, dtype, name, found.cases)
            for operator, variants in self.caught.items()
            for name, dtypes in variants.items()
            for dtype, found in dtypes.items()
            if found.cases < ENOUGH
        ]

    def visible_where(self, operator: str, name: str) -> dict[str, list[str]]:
        """Find the attributes of which the catching cases have at most half of the values, and those."""
        seen: dict[str, set[str]] = {}
        for found in self.caught[operator][name].values():
            for attribute, values in found.values.items():
                seen.setdefault(attribute, set()).update(values)
        return {
            attribute: sorted(values)
            for attribute, values in seen.items()
            if 2 * len(values) <= len(self.values[operator][attribute])
        }


def score(
    vectors: VectorSet,
    misreading: str = "",
    advance: Callable[[int], None] = lambda _: None,
    limits: Limits | None = None,
) -> Score:
    """Compute the score of vectors; `advance(n)` as cases are looked at.

    With `limits`, caught is what differs by more than these, in place of the derived tolerances.
    With `misreading`, of that one alone. Raises GrucibleError for one that the catalogue lacks, and
    where no case is selected.
    """
    if misreading and misreading not in CATALOGUE:
        near = [name for name in CATALOGUE if misreading in name]
        hint = f"; names like it: {', '.join(near[:8])}" if near else ""
        raise GrucibleError(f"{misreading!r} is not in the catalogue{hint}")
    found = Score()
    for block in _blocks(vectors):
        key = (block.operator, block.dtype)
        found.cases[key] = found.cases.get(key, 0) + len(block)
        too_little = len(vacuous_rows(block.answers, block.dtype))
        found.undeciding[key] = found.undeciding.get(key, 0) + too_little
        _note_values(found, block)
        rows = found.caught.setdefault(block.operator, {})
        for variant in _asked(block, misreading):
            rows.setdefault(variant.name, {}).setdefault(block.dtype, Caught())
        if too_large(block.question(0)):
            found.left_out[key] = found.left_out.get(key, 0) + len(block)
        else:
            for variant, caught in catches(block, [misreading] if misreading else (), limits):
                rows[variant.name][block.dtype].see(block, caught)
        advance(len(block))
    if misreading and not any(found.caught.values()):
        raise GrucibleError(
            f"no selected case can be asked about {misreading}; select others, or none in particular"
        )
    if not found.cases:
        raise GrucibleError(
            "no case is selected that decides a verdict; see the ids with: grucible cases --list"
        )
    return found


def _blocks(vectors: VectorSet) -> Iterator[Block]:
    """Yield the selected cases that decide."""
    for rows in vectors.slices():
        if rows.block.tier != "nonportable":
            check_classes(rows.file.path, rows.block)
            yield rows.block


def _asked(block: Block, misreading: str) -> list[Variant]:
    """List the variants that vectors of the block's operator and dtype can be asked to catch."""
    return [
        v
        for v in variants_of(OPERATORS[block.operator])
        if can_be_caught(v, block.dtype) and misreading in ("", v.name)
    ]


def _note_values(found: Score, block: Block) -> None:
    known = found.values.setdefault(block.operator, {})
    for given in block.given:
        for name, value in OPERATORS[block.operator].with_defaults(given).items():
            known.setdefault(name, set()).add(value_text(value))

"""The strength of vectors: which misreadings they would catch, computed, not looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cases.console import suggest
from ..cases.errors import GrucibleError
from ..cases.ledger import ledger_entries
from ..cases.operators import OPERATORS
from ..cases.operators.values import value_text
from ..gen.tolerances.gate import vacuous_rows
from ..gen.variants.catalogue import CATALOGUE, variants_of
from ..gen.variants.evaluate import Limits, can_be_caught, catches
from ..gen.variants.known import variant_called
from ..gen.variants.work import too_large
from ..vectors.block import Block
from ..vectors.vector_set import VectorSet
from .judging.criterion import check_classes
from .judging.expectations import is_misreading

ENOUGH = 3
"""Minimum cases of a dtype that must catch a misreading for it to count as caught."""
SHOWN_CASES = 3


def note_values(known: dict[str, set[str]], attributes: Mapping[str, Any]) -> None:
    """Add the values of attributes to the known values of each."""
    for name, value in attributes.items():
        known.setdefault(name, set()).add(value_text(value))


@dataclass
class Caught:
    """The number of `cases` of one operator and dtype that catch one variant.

    `examples` are the ids of some of them; `values` has, for each attribute, the values that
    they have.
    """

    cases: int = 0
    examples: list[str] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)

    def see(self, block: Block, caught: Any) -> None:
        """Count the cases of a block for which `caught` (n,) is true."""
        self.cases += int(caught.sum())
        operator = OPERATORS[block.operator]
        for row in np.flatnonzero(caught):
            if len(self.examples) < SHOWN_CASES:
                self.examples.append(block.ids[row])
            note_values(self.values, operator.with_defaults(block.given[row]))


@dataclass
class Score:
    """What vectors catch: by operator and variant, a `Caught` per dtype.

    `values` has each operator's attributes with the values in any case. `cases` counts cases by operator and
    dtype; `undeciding` counts those whose required tolerances say too little to decide (gen.tolerances.gate);
    `left_out` those too large to compute under variants (gen.variants.work), which count as catching none.
    """

    caught: dict[str, dict[str, dict[str, Caught]]] = field(default_factory=dict)
    values: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    cases: Counter[tuple[str, str]] = field(default_factory=Counter)
    undeciding: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)

    def weak(self) -> list[tuple[str, str, str, int]]:
        """List (operator, dtype, variant, cases) where fewer than ENOUGH cases catch the variant."""
        return [
            (operator, dtype, name, found.cases)
            for operator, variants in self.caught.items()
            for name, dtypes in variants.items()
            for dtype, found in dtypes.items()
            if found.cases < ENOUGH
        ]

    def visible_where(self, operator: str, name: str) -> dict[str, list[str]]:
        """Find attributes of which catching cases have at most half of the values, with these values."""
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
    """Compute the score of vectors; call `advance(n)` when n more cases are done.

    A case catches a variant whose outputs differ by more than `limits`, or the derived tolerances. With
    `misreading`, only that one is scored. Raises GrucibleError for a name that no misreading
    has, and where no case is selected.
    """
    if misreading and not is_misreading(misreading):
        near = suggest(misreading, [*CATALOGUE, *ledger_entries()])
        raise GrucibleError(
            f"{misreading!r} is no misreading, and no entry of a ledger{near}; "
            "`grucible score` lists misreadings"
        )
    found = Score()
    for selected in vectors.slices():
        block, operator = selected.block, OPERATORS[selected.block.operator]
        if block.tier == "nonportable":
            continue
        check_classes(selected.file.path, block)
        key = (block.operator, block.dtype)
        found.cases[key] += len(block)
        found.undeciding[key] += len(vacuous_rows(block.answers, block.dtype))
        for given in block.given:
            note_values(found.values.setdefault(block.operator, {}), operator.with_defaults(given))
        rows = found.caught.setdefault(block.operator, {})
        for variant in [variant_called(misreading)] if misreading else variants_of(operator):
            if can_be_caught(variant, block.dtype) and variant.means_something_for(operator):
                rows.setdefault(variant.name, {}).setdefault(block.dtype, Caught())
        if too_large(block.question(0)):
            found.left_out[key] += len(block)
        else:
            for variant, caught in catches(block, [misreading] if misreading else (), limits):
                rows[variant.name][block.dtype].see(block, caught)
        advance(len(block))
    if not any(found.caught.values()):
        about = f" and can be asked about {misreading}" if misreading else ""
        raise GrucibleError(f"no selected case decides{about}; see: grucible cases --list")
    return found

"""The strength of vectors: which misreadings they would catch, computed, not looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cases.console import suggest
from ..cases.errors import GrucibleError
from ..cases.ledger import ledger_entries
from ..cases.operators import OPERATORS
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


@dataclass
class Caught:
    """The number of `cases` of one operator and dtype that catch one variant.

    `examples` are the ids of some of them.
    """

    cases: int = 0
    examples: list[str] = field(default_factory=list)

    def see(self, block: Block, caught: Any) -> None:
        """Count the cases of a block for which `caught` (n,) is true."""
        self.cases += int(caught.sum())
        rows = np.flatnonzero(caught)[: SHOWN_CASES - len(self.examples)]
        self.examples += [block.ids[row] for row in rows.tolist()]


@dataclass
class Score:
    """What vectors catch: by operator and variant, a `Caught` per dtype.

    `cases` counts cases by operator and dtype; `undeciding` counts those whose required tolerances say too
    little to decide (gen.tolerances.gate); `left_out` those too large to compute under variants
    (gen.variants.work), which count as catching none.
    """

    caught: dict[str, dict[str, dict[str, Caught]]] = field(default_factory=dict)
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


def check_misreading(name: str) -> None:
    """Raise GrucibleError for a name that no misreading has."""
    if not is_misreading(name):
        near = suggest(name, [*CATALOGUE, *ledger_entries()])
        raise GrucibleError(
            f"{name!r} is no misreading, and no entry of a ledger{near}; `grucible score` lists misreadings"
        )


def score(
    vectors: VectorSet,
    misreading: str = "",
    advance: Callable[[int], None] = lambda _: None,
    limits: Limits | None = None,
) -> Score:
    """Compute the score of vectors; call `advance(n)` when n more cases are done.

    A case catches a variant whose outputs differ by more than `limits`, or the derived tolerances. With
    `misreading`, only that one is scored. Raises GrucibleError where no case is selected.
    """
    found = Score()
    for selected in vectors.slices():
        block, operator = selected.block, OPERATORS[selected.block.operator]
        if block.tier == "nonportable":
            continue
        check_classes(selected.file.path, block)
        key = (block.operator, block.dtype)
        found.cases[key] += len(block)
        found.undeciding[key] += len(vacuous_rows(block.answers, block.dtype))
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

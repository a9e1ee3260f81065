"""From case specs to blocks of cases with exact outputs; and what to change where no draw is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.operators.readings import ReadingNames
from ..cases.operators.values import value_text
from ..cases.question import case_bytes, too_large
from ..cases.specs.expand import CaseSpec
from ..cases.specs.factors import DRAWS
from ..vectors.block import Block, BlockKey
from .answering import answer_stacked, concatenate, find_nonportable
from .inputs import draw_inputs

ATTEMPTS = 24
"""Maximum draws of a case; one that cannot be kept is drawn again."""
CHUNK_BYTES, CHUNK_CASES = 8 << 20, 256
"""Maximum bytes and cases that are answered together, but for one case that is larger."""
MOST_SHOWN, MOST_LINES = 20, 8
"""Maximum cases that are named, and maximum lines of what they have in common."""
ORDINARY = (
    "tier nonportable is of cases that hang on NaN, infinity, overflow, subnormal numbers or the sign of a "
    "zero, and it does not; leave the tier out"
)
"""The reason to refuse a case that is marked nonportable without reason."""


@dataclass(frozen=True)
class Undrawn:
    """A case of which no draw could be kept; `why` names the reason of the last one, with a remedy."""

    case: CaseSpec
    why: str


@dataclass(frozen=True)
class Chunk:
    """The `block` of the cases that could be drawn, None where there is none, and the others."""

    block: Block | None
    undrawn: Sequence[Undrawn] = ()


def block_key(case: CaseSpec) -> BlockKey:
    """Derive the block that a case belongs to."""
    return key_of(
        case.operator,
        case.dtype,
        case.attributes,
        tier=case.tier,
        readings=case.readings,
        sizes=case.sizes,
        absent=case.absent,
        types=case.types,
    )


def key_of(
    operator: str,
    dtype: str,
    attributes: Mapping[str, Any],
    *,
    tier: str,
    readings: tuple[ReadingNames, ...],
    sizes: Mapping[str, int],
    absent: Collection[str],
    types: Mapping[str, str],
) -> BlockKey:
    """Derive a block from every attribute, every size symbol, what is left out, and the type variables."""
    tensors = (*OPERATORS[operator].inputs, *OPERATORS[operator].outputs)
    forms = {t.name: t.form(attributes).name for t in tensors if t.name not in absent}
    return BlockKey(
        operator=operator,
        dtype=dtype,
        tier=tier,
        readings=readings,
        sizes=tuple(sizes.items()),
        absent=tuple(sorted(absent)),
        types=tuple(types.items()),
        forms=tuple((name, form) for name, form in forms.items() if form),
    )


def check_sizes(cases: Sequence[CaseSpec]) -> None:
    """Raise GrucibleError for a case that is too large to be answered."""
    seen = set()
    for case in cases:
        sizes = (case.operator, *case.sizes.items())
        if sizes not in seen and (
            why := too_large(OPERATORS[case.operator], case.attributes, case.sizes)
        ):
            raise GrucibleError(f"{case.id}: {why}")
        seen.add(sizes)


def chunks(cases: Sequence[CaseSpec]) -> Iterator[tuple[BlockKey, list[list[CaseSpec]]]]:
    """Split `cases` into blocks in order of their paths, each in chunks of work, sorted by id."""
    blocks: dict[BlockKey, list[CaseSpec]] = {}
    for case in cases:
        blocks.setdefault(block_key(case), []).append(case)
    for key in sorted(blocks, key=lambda key: key.path):
        members = sorted(blocks[key], key=lambda case: case.id)
        size = chunk_size(bytes_of(members[0]))
        yield key, [members[i : i + size] for i in range(0, len(members), size)]


def chunk_size(each: int) -> int:
    """Count the cases that are answered together, if the tensors of each take `each` bytes."""
    return max(1, min(CHUNK_CASES, CHUNK_BYTES // each))


def bytes_of(case: CaseSpec) -> int:
    """Count the bytes of the tensors of a case, in float64."""
    return case_bytes(OPERATORS[case.operator], case.attributes, case.sizes)


def make_chunk(cases: Sequence[CaseSpec], seed: int) -> Chunk:
    """Draw and answer `cases`, which share a block; a draw that cannot be kept is drawn again."""
    key, ids = block_key(cases[0]), [case.id for case in cases]
    planted = np.array([bool(DRAWS[case.draw].plant) for case in cases])
    parts: list[Block] = []
    pending = list(range(len(cases)))
    reasons: dict[int, str] = {}
    for attempt in range(ATTEMPTS):
        block, refused = answer_stacked(
            key,
            [ids[row] for row in pending],
            [cases[row].given for row in pending],
            stacked([draw_inputs(cases[row], seed, attempt) for row in pending]),
            planted=planted[pending],
            exempt=planted[pending] | (key.tier == "nonportable"),
        )
        parts += [block] if block else []
        reasons = {pending[row]: why for row, why in refused.items()}
        pending = sorted(reasons)
        if not pending:
            break
    tried = f"{ATTEMPTS} draws with seed {seed} failed; the last: "
    undrawn = [Undrawn(cases[row], tried + reasons[row]) for row in pending]
    block = concatenate(parts, ids)
    if block and key.tier == "nonportable" and not (holds := find_nonportable(block)).all():
        others = {block.ids[row] for row in np.flatnonzero(~holds)}
        undrawn += [Undrawn(case, ORDINARY) for case in cases if case.id in others]
        block = block.rows(holds) if holds.any() else None
    return Chunk(block, undrawn)


def stacked(rows: Sequence[Mapping[str, Array]]) -> Arrays:
    """Stack the arrays of several cases, by name, along a new first axis."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def undrawn_lines(undrawn: Sequence[Undrawn], cases: Sequence[CaseSpec]) -> Iterator[str]:
    """Name the `undrawn` among the `cases` of a spec with their reasons.

    Then name what they, and no others, have in common.
    """
    yield from (f"{one.case.id}: {one.why}" for one in undrawn[:MOST_SHOWN])
    if len(undrawn) > MOST_SHOWN:
        yield f"and {len(undrawn) - MOST_SHOWN} more"
    bad = {one.case.id for one in undrawn}
    common = _in_common(
        {case.id: _values(case) for case in cases if case.id in bad},
        [_values(case) for case in cases if case.id not in bad],
    )
    for traits, count in common[:MOST_LINES]:
        named = " and ".join(f"{name} {value}" for name, value in sorted(traits))
        many = "the one case" if count == 1 else f"all {count} cases"
        yield f"{many} of this spec with {named}: leave that out"


Traits = frozenset[tuple[str, str]]
"""Values of factors that some cases have in common: one, or a pair."""


def _values(case: CaseSpec) -> Traits:
    factors = {name: value_text(value) for name, value in case.factors.items()}
    return frozenset({**factors, "dtype": case.dtype}.items())


def _in_common(bad: dict[str, Traits], drawn: Sequence[Traits]) -> list[tuple[Traits, int]]:
    """Find values, or pairs of them, that no drawn case has, each with its number of bad cases.

    They are the fewest that explain the most, found greedily. None where nothing was drawn.
    """
    found: list[tuple[Traits, int]] = []
    for size in (1, 2) if drawn else ():
        while True:
            holders: dict[Traits, list[str]] = {}
            for case_id, values in bad.items():
                for some in combinations(sorted(values), size):
                    holders.setdefault(frozenset(some), []).append(case_id)
            pure = [one for one in holders if not any(one <= values for values in drawn)]
            if not pure:
                break
            best = max(pure, key=lambda traits: (len(holders[traits]), sorted(traits)))
            found.append((best, len(holders[best])))
            for case_id in holders[best]:
                del bad[case_id]
    return found

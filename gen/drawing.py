"""From case specs to blocks of cases with exact outputs; and what to change where no draw is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import GrucibleError
from ..cases.expansion.case_spec import CaseSpec
from ..cases.operators.known import OPERATORS
from ..cases.operators.readings import ReadingNames
from ..cases.operators.values import value_text
from ..cases.question import case_bytes, too_large
from ..cases.specs.factors import DRAWS
from ..vectors.block import Block, BlockKey
from ..vectors.case import Answer
from .answering import Asked, answer_rows, find_nonportable, joined
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


@dataclass(frozen=True)
class Made:
    """Some of the cases that were asked for: `rows` of them, in this order, with their answers."""

    rows: Array
    inputs: Arrays
    answers: Mapping[ReadingNames, Answer]


def block_key(case: CaseSpec) -> BlockKey:
    """The block a case belongs to."""
    return BlockKey(
        operator=case.operator,
        dtype=case.dtype,
        tier=case.tier,
        readings=case.readings,
        sizes=tuple(case.sizes.items()),
        absent=tuple(sorted(case.absent)),
        types=tuple(case.types.items()),
        forms=forms_of(case.operator, case.attributes, case.absent),
    )


def forms_of(
    operator: str, attributes: Mapping[str, Any], absent: Sequence[str] | frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """The form of each tensor that is present and has several, by name."""
    known = OPERATORS[operator]
    return tuple(
        (tensor.name, tensor.form(attributes).name)
        for tensor in (*known.inputs, *known.outputs)
        if tensor.form(attributes).name and tensor.name not in absent
    )


def asked_of(key: BlockKey) -> Asked:
    """What the cases of a block ask for."""
    return Asked(OPERATORS[key.operator], key.dtype, key.readings, key.absent)


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
    """The blocks of `cases` in order of their paths, each in chunks of work, sorted by id."""
    blocks: dict[BlockKey, list[CaseSpec]] = {}
    for case in cases:
        blocks.setdefault(block_key(case), []).append(case)
    for key in sorted(blocks, key=lambda key: key.path):
        members = sorted(blocks[key], key=lambda case: case.id)
        size = chunk_size(bytes_of(members[0]))
        yield key, [members[i : i + size] for i in range(0, len(members), size)]


def chunk_size(each: int) -> int:
    """How many cases are answered together whose tensors take `each` bytes."""
    return max(1, min(CHUNK_CASES, CHUNK_BYTES // each))


def bytes_of(case: CaseSpec) -> int:
    """The bytes of the tensors of a case, in float64."""
    return case_bytes(OPERATORS[case.operator], case.attributes, case.sizes)


def make_chunk(cases: Sequence[CaseSpec], seed: int) -> Chunk:
    """Draw and answer `cases`, which share a block; a draw that cannot be kept is drawn again."""
    key, planted = block_key(cases[0]), np.array([bool(DRAWS[case.draw].plant) for case in cases])
    made: list[Made] = []
    pending = list(range(len(cases)))
    reasons: dict[int, str] = {}
    for attempt in range(ATTEMPTS):
        members = [cases[row] for row in pending]
        inputs = stacked([draw_inputs(case, seed, attempt) for case in members])
        found = answer_rows(
            asked_of(key),
            [case.given for case in members],
            inputs,
            planted=planted[pending],
            exempt=planted[pending] | (key.tier == "nonportable"),
        )
        if found.rows.size:
            rows = {name: array[found.rows] for name, array in inputs.items()}
            made.append(Made(np.array(pending)[found.rows], rows, found.answers))
        reasons = {pending[row]: why for row, why in found.reasons.items()}
        pending = sorted(reasons)
        if not pending:
            break
    tried = f"{ATTEMPTS} draws with seed {seed} failed; the last: "
    undrawn = [Undrawn(cases[row], tried + reasons[row]) for row in pending]
    block = block_of(key, cases, made)
    if block and key.tier == "nonportable" and not (holds := find_nonportable(block)).all():
        others = {block.ids[row] for row in np.flatnonzero(~holds)}
        undrawn += [Undrawn(case, ORDINARY) for case in cases if case.id in others]
        block = block.rows(holds) if holds.any() else None
    return Chunk(block, undrawn)


def block_of(key: BlockKey, cases: Sequence[Any], made: Sequence[Made]) -> Block | None:
    """The block of those of `cases`, which have an id and the attributes given, that were made; None where
    none was."""
    if not made:
        return None
    places = np.concatenate([part.rows for part in made])
    order = np.argsort(places)
    drawn = [cases[row] for row in places[order]]
    return Block(
        path=key.path,
        operator=key.operator,
        dtype=key.dtype,
        tier=key.tier,
        ids=[case.id for case in drawn],
        given=[dict(case.given) for case in drawn],
        inputs={
            name: np.concatenate([part.inputs[name] for part in made])[order]
            for name in made[0].inputs
        },
        answers=joined([part.answers for part in made], order),
    )


def stacked(rows: Sequence[Mapping[str, Array]]) -> Arrays:
    """The arrays of several cases, by name, stacked along a new first axis."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def undrawn_lines(undrawn: Sequence[Undrawn], cases: Sequence[CaseSpec]) -> Iterator[str]:
    """Name the `undrawn` among the `cases` of a spec with their reasons; then what they, and no others,
    have in common."""
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
    """Values, or pairs of them, that no drawn case has, each with its number of bad cases: the fewest that
    explain the most, found greedily. None where nothing was drawn."""
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

"""From case specs to blocks of cases with exact outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.expansion.case_spec import CaseSpec
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import ReadingNames
from ...cases.question import case_bytes, too_large
from ...cases.specs.draws import DRAWS
from ...vectors.block import Block, BlockKey
from ...vectors.case import Answer
from ..stacks import Stack, stacks
from .answering import Drawn, answered, joined, parts
from .inputs import draw_inputs
from .special import special
from .undrawn import Undrawn

ATTEMPTS = 24
CHUNK_BYTES = 8 << 20
CHUNK_CASES = 256
ORDINARY = (
    "tier nonportable is of cases that hang on NaN, infinity, overflow, subnormal numbers or the sign of a "
    "zero, and it does not; leave the tier out"
)
"""What is said of a case that is marked so and is none."""


@dataclass(frozen=True)
class Chunk:
    """The `block` of the cases that could be drawn, None where there is none, and the others."""

    block: Block | None
    undrawn: Sequence[Undrawn] = ()


def block_key(case: CaseSpec) -> BlockKey:
    """The block a case belongs to."""
    operator, attributes = OPERATORS[case.operator], case.attributes
    return BlockKey(
        operator=case.operator,
        dtype=case.dtype,
        tier=case.tier,
        readings=case.readings,
        sizes=tuple(case.sizes.items()),
        absent=tuple(sorted(case.absent)),
        types=tuple(case.types.items()),
        forms=tuple(
            (tensor.name, tensor.form(attributes).name)
            for tensor in (*operator.inputs, *operator.outputs)
            if tensor.form(attributes).name and tensor.name not in case.absent
        ),
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
    """The blocks of `cases` in order of their paths, each in chunks of work, sorted by id."""
    blocks: dict[BlockKey, list[CaseSpec]] = {}
    for case in cases:
        blocks.setdefault(block_key(case), []).append(case)
    for key in sorted(blocks, key=lambda key: key.path):
        members = sorted(blocks[key], key=lambda case: case.id)
        size = max(1, min(CHUNK_CASES, CHUNK_BYTES // bytes_of(members[0])))
        yield key, [members[i : i + size] for i in range(0, len(members), size)]


def bytes_of(case: CaseSpec) -> int:
    """The bytes of the tensors of a case, in float64."""
    return case_bytes(OPERATORS[case.operator], case.attributes, case.sizes)


def make_chunk(cases: Sequence[CaseSpec], seed: int) -> Chunk:
    """The block of `cases` (which share a block), drawn and answered (gen.making.answering).

    A draw that cannot be kept is drawn again, up to ATTEMPTS times.
    """
    operator = OPERATORS[cases[0].operator]
    made: list[Made] = []
    pending = list(range(len(cases)))
    reasons: dict[int, str] = {}
    for attempt in range(ATTEMPTS):
        members = [cases[row] for row in pending]
        inputs = stacked([draw_inputs(case, seed, attempt) for case in members])
        reasons = {}
        for one in stacks(operator, [case.given for case in members], inputs):
            for stack in parts(one):
                found = answered(_drawn(stack, members))
                at = stack.rows[found.kept]
                if at.size:
                    rows = {name: array[at] for name, array in inputs.items()}
                    made.append(Made(np.array(pending)[at], rows, found.answers))
                for place, why in found.reasons.items():
                    reasons[pending[stack.rows[place]]] = why
        pending = sorted(reasons)
        if not pending:
            break
    tried = f"{ATTEMPTS} draws with seed {seed} failed; the last: "
    undrawn = [Undrawn(cases[row], tried + reasons[row]) for row in pending]
    block, ordinary = _nonportable(block_of(cases, made))
    undrawn += [Undrawn(case, ORDINARY) for case in cases if case.id in ordinary]
    return Chunk(block, undrawn)


def _nonportable(block: Block | None) -> tuple[Block | None, set[str]]:
    """The block without those cases of tier nonportable that hold nothing that is, and their ids."""
    if block is None or block.tier != "nonportable" or (holds := special(block)).all():
        return block, set()
    others = {block.ids[row] for row in np.flatnonzero(~holds)}
    return (block.rows(holds) if holds.any() else None), others


@dataclass(frozen=True)
class Made:
    """Some of the cases that were asked for: `rows` of them, in this order, with their answers."""

    rows: Array
    inputs: Arrays
    answers: Mapping[ReadingNames, Answer]


def _drawn(stack: Stack, members: Sequence[CaseSpec]) -> Drawn:
    first, mine = members[0], [members[row] for row in stack.rows]
    planted = np.array([bool(DRAWS[case.draw].plant) for case in mine])
    return Drawn(
        stack=stack,
        dtype=first.dtype,
        readings=first.readings,
        absent=first.absent,
        planted=planted,
        exempt=planted | (first.tier == "nonportable"),
    )


def block_of(cases: Sequence[CaseSpec], made: Sequence[Made]) -> Block | None:
    """The block of those of `cases`, which share it, that were made; None where none was."""
    if not made:
        return None
    first = cases[0]
    places = np.concatenate([part.rows for part in made])
    order = np.argsort(places)
    drawn = [cases[row] for row in places[order]]
    names = made[0].inputs
    return Block(
        path=block_key(first).path,
        operator=first.operator,
        dtype=first.dtype,
        tier=first.tier,
        ids=[case.id for case in drawn],
        given=[case.given for case in drawn],
        inputs={
            name: np.concatenate([part.inputs[name] for part in made])[order] for name in names
        },
        answers=joined([part.answers for part in made], order),
    )


def stacked(rows: Sequence[Mapping[str, Array]]) -> Arrays:
    """The arrays of several cases, by name, stacked along a new first axis."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

"""From case specs to blocks of cases with exact outputs."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.expansion.case_spec import CaseSpec
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import gru_inputs, operator_outputs
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...cases.operators.semantics import semantics, stack
from ...cases.operators.signature import Operator
from ...cases.specs.draws import DRAWS
from ...vectors.block import Block, BlockKey
from ...vectors.case import Answer
from ..exact.enclosures import Undecided, exact_outputs
from ..float64 import Peaks
from ..gru import gru
from ..tolerances.bounds import Bounds, alike, bound_cases, stored_tolerances
from .decided import Decided, decided_by_balls
from .inputs import draw_inputs

ATTEMPTS = 16
CHUNK_BYTES = 8 << 20
CHUNK_CASES = 64


class CaseFailed(GrucibleError):
    """No attempt at drawing a case gave one that can be kept."""


@dataclass(frozen=True)
class Made:
    """One case as it was made: inputs, the outputs under each accepted reading, error bounds."""

    inputs: Arrays
    outputs: dict[ReadingNames, Arrays]
    bounds: Bounds


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


def chunks(cases: Sequence[CaseSpec]) -> Iterator[tuple[BlockKey, list[list[CaseSpec]]]]:
    """The blocks of `cases` in order of their paths, each in chunks of work, sorted by id."""
    blocks: dict[BlockKey, list[CaseSpec]] = {}
    for case in cases:
        blocks.setdefault(block_key(case), []).append(case)
    for key in sorted(blocks, key=lambda key: key.path):
        members = sorted(blocks[key], key=lambda case: case.id)
        size = max(1, min(CHUNK_CASES, CHUNK_BYTES // _case_bytes(members[0])))
        yield key, [members[i : i + size] for i in range(0, len(members), size)]


def _case_bytes(case: CaseSpec) -> int:
    operator, attributes = OPERATORS[case.operator], case.attributes
    tensors = (*operator.inputs, *operator.outputs)
    return 8 * sum(math.prod(operator.shape(t, attributes, case.sizes)) for t in tensors)


def make_chunk(cases: Sequence[CaseSpec], seed: int) -> Block:
    """The block of `cases` (which share a block), drawn and evaluated.

    An attempt at drawing a case is kept if its outputs are decided (gen.exact) and, unless its
    draw plants special values, finite, with no intermediate that reaches the dtype's overflow, and
    well-conditioned enough to judge by (gen.bounds). Raises CaseFailed for a case that ATTEMPTS
    attempts do not make.
    """
    made: dict[str, Made] = {}
    pending = list(cases)
    reasons: dict[str, str] = {}
    for attempt in range(ATTEMPTS):
        drawn = {case.id: draw_inputs(case, seed, attempt) for case in pending}
        reasons, bounds = objections(pending, drawn)
        kept = [case for case in pending if case.id not in reasons]
        decided = decided_by_balls(kept, drawn)
        for case in kept:
            try:
                made[case.id] = evaluate(case, drawn[case.id], bounds[case.id], decided)
            except Undecided:
                reasons[case.id] = "an output could not be rounded at the highest precision"
        pending = [case for case in pending if case.id in reasons]
        if not pending:
            break
    for case in pending:
        raise CaseFailed(
            f"{case.id}: {ATTEMPTS} draws with seed {seed} failed; the last: {reasons[case.id]}"
        )
    return block_of(cases, [made[case.id] for case in cases])


def objections(
    cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]
) -> tuple[dict[str, str], dict[str, Bounds]]:
    """Why draws of some cases of a block cannot be kept, and error bounds where nothing overflows."""
    reasons = overflowing(cases, drawn)
    bounds = bound_cases([case for case in cases if case.id not in reasons], drawn)
    for case in cases:
        if case.id in reasons or DRAWS[case.draw].plant or case.tier == "nonportable":
            continue
        if objection := bounds[case.id].objection():
            reasons[case.id] = objection
    return reasons, bounds


def block_of(cases: Sequence[CaseSpec], rows: Sequence[Made]) -> Block:
    """The block of `cases`, which share a block, as they were made."""
    first = cases[0]
    answers = {}
    for reading in (STORED, *first.readings):
        outputs = _stacked([row.outputs[reading] for row in rows])
        bounds = [row.bounds.under[reading] for row in rows]
        answers[reading] = Answer(outputs, stored_tolerances(first, outputs, bounds))
    return Block(
        path=block_key(first).path,
        operator=first.operator,
        dtype=first.dtype,
        tier=first.tier,
        ids=[case.id for case in cases],
        given=[case.given for case in cases],
        inputs=_stacked([row.inputs for row in rows]),
        answers=answers,
    )


def evaluate(case: CaseSpec, inputs: Arrays, bounds: Bounds, decided: Decided) -> Made:
    """The case with its exact answers: those `decided`, the others by Arb. Raises Undecided."""
    operator, attributes = OPERATORS[case.operator], case.attributes

    def answer(reading: ReadingNames) -> Arrays:
        if case.id in decided.get(reading, ()):
            return decided[reading][case.id]
        return exact_answer(operator, attributes, case.dtype, inputs, reading, case.absent)

    return Made(inputs, {names: answer(names) for names in (STORED, *case.readings)}, bounds)


def _stacked(rows: Sequence[Arrays]) -> Arrays:
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def exact_answer(
    operator: Operator,
    attributes: Mapping[str, Any],
    dtype: str,
    inputs: Mapping[str, Array],
    reading: ReadingNames = STORED,
    absent: Container[str] = (),
) -> Arrays:
    """The exact outputs, but for those `absent`, rounded once to `dtype`, named and shaped as the
    operator has them.

    `attributes` has the defaults filled in. `reading` names the readings that are followed. Raises Undecided.
    """
    meant = as_read(reading, semantics(operator, attributes))
    present = operator.present(operator.outputs, absent)
    roles = exact_outputs(
        meant,
        gru_inputs(operator, attributes, inputs),
        FLOAT_TYPES[dtype],
        {tensor.role_in(attributes) for tensor in present},
    )
    return operator_outputs(operator, attributes, roles, absent)


def overflowing(cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]) -> dict[str, str]:
    """For each case of a block in which something reaches the dtype's overflow, what.

    Cases whose draw plants special values are not looked at.
    """
    looked_at = [case for case in cases if not DRAWS[case.draw].plant]
    dtypes = {case.id: case.dtype for case in looked_at}
    return {
        case_id: f"an intermediate of {peak:.3g} is too near {dtypes[case_id]}'s overflow"
        for case_id, peak in peaks(looked_at, drawn).items()
        # a sum of up to four counted quantities stays finite in the dtype
        if not peak < FLOAT_TYPES[dtypes[case_id]].largest / 4
    }


def peaks(cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]) -> dict[str, float]:
    """How large an intermediate of each case of a block may become; evaluated in float64, stacked."""
    found: dict[str, float] = {}
    for members, meant in alike(cases):
        operator = OPERATORS[members[0].operator]
        stacked = _stacked([drawn[case.id] for case in members])
        arithmetic = Peaks(len(members))
        with np.errstate(over="ignore", invalid="ignore"):
            gru(arithmetic, stack(meant), gru_inputs(operator, members[0].attributes, stacked))
        found |= dict(zip([case.id for case in members], arithmetic.peak.tolist(), strict=True))
    return found

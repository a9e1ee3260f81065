"""From case specs to blocks of cases with exact outputs.

Each number is an integer times a power of two. The integers come from a counter-based generator
(raw words of Philox) keyed by SHA-256 of the case id, the seed, the attempt and the input's name,
so no case's numbers depend on another's. No floating-point operation here rounds.

The scales keep pre-activations of order one: |X| < 2, |B| < 1, |h0| < 1,
|W| < 2^-⌊½ log2 input_size⌋, |R| < 2^-⌊½ log2 hidden_size⌋; where f is unbounded, as relu is, W, R
and B are halved. Where every gate has two biases, both are on a grid twice as coarse, so that their
sum and difference are exact in the dtype. Inputs must reveal structural mistakes: nothing is zero,
nothing is symmetric, X past a row's length is as large as before it. h0 is zero only if a case asks
for that. A case may ask for any input to be larger or smaller by a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType, numpy_dtype
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.operators.activations import FUNCTIONS
from ..cases.operators.layout import gru_inputs, mask_of
from ..cases.operators.readings import ReadingNames
from ..cases.operators.semantics import semantics
from ..cases.operators.signature import Operator
from ..cases.question import case_bytes, too_large
from ..cases.selection import Shard
from ..cases.specs.expand import CaseSpec
from ..cases.specs.factors import DRAWS, scale_of
from ..vectors.block import Block, BlockKey
from ..vectors.drawn import ATTEMPTS, draw_numbers
from .answering import Batch, answer_batches, concatenate, find_nonportable

SMALLER = 6
"""The first attempt at which W and R are halved; at every third later attempt they are halved once more.

The rounding errors of smaller sums of products are smaller. An input of which a case asks how large it is
stays so."""


def draw_inputs(case: CaseSpec, seed: int, attempt: int) -> Arrays:
    """Draw the inputs of a case, named and shaped as its operator's specification has them."""
    return {name: array[0] for name, array in _draw([case], seed, attempt).items()}


def _draw(cases: Sequence[CaseSpec], seed: int, attempt: int) -> Arrays:
    """Draw the inputs of cases that share a block, stacked along a first axis."""
    operator, attributes = OPERATORS[cases[0].operator], cases[0].attributes
    dtype = FLOAT_TYPES[cases[0].dtype]
    smaller = max(0, (attempt - SMALLER) // 3 + 1)
    exponents = [exponents_of(case) for case in cases]
    parts = [p for t in operator.inputs if t.role == "b" for p in t.form(attributes).parts]
    coarse = len({"z", "wz", "rz"}.intersection(parts)) > 1  # every gate has two biases
    arrays: Arrays = {}
    for tensor in operator.inputs:
        if tensor.name in cases[0].absent:
            continue
        if tensor.role == "lengths":
            rows, starts = (
                np.array([getattr(c, of) for c in cases]) for of in ("lengths", "starts")
            )
            if operator.masked:
                rows = mask_of(rows, starts, _time(operator, cases[0]))
            arrays[tensor.name] = rows.astype(numpy_dtype(cases[0].types[tensor.type]))
            continue
        shape = operator.shape(tensor, attributes, cases[0].sizes)
        role, scale = tensor.role_in(attributes), scale_of(tensor.name)
        weight, halved = role in ("w", "r"), coarse and role == "b"
        recipes = np.zeros((len(cases), 4), np.int64)
        for row, case in enumerate(cases):
            if tensor.name in case.zeros:
                continue
            bits = (DRAWS[case.draw].weight_bits if weight else None) or dtype.precision
            scaled = case.factors[scale] or not weight
            exponent = exponents[row][tensor.name] - (0 if scaled else smaller)
            recipes[row] = attempt, bits, exponent, halved
        ids = [case.id for case in cases]
        values = draw_numbers(tensor.name, ids, seed, recipes, math.prod(shape))
        arrays[tensor.name] = values.reshape(len(cases), *shape).astype(dtype.numpy)
    for row, case in enumerate(cases):
        _plant(operator, case, dtype, {name: array[row] for name, array in arrays.items()})
    return arrays


def _time(operator: Operator, case: CaseSpec) -> int:
    return next(case.sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time")


def exponents_of(case: CaseSpec) -> dict[str, int]:
    """Find for each input of numbers an e such that its values are usually below 2^e in magnitude."""
    operator, attributes = OPERATORS[case.operator], case.attributes
    half_log2 = {  # ⌊½ log2 size⌋
        axis: (case.sizes[symbol].bit_length() - 1) // 2 for symbol, axis in operator.sizes.items()
    }
    less = int(any(not FUNCTIONS[f.name].bounded for f in semantics(operator, attributes).f))
    draw = DRAWS[case.draw]
    usual = {
        "x": 1 + draw.x_exponent,
        "h0": 0,
        "w": draw.weight_exponent - half_log2["input"] - less,
        "r": draw.weight_exponent - half_log2["hidden"] - less,
        "b": -less,
    }
    return {
        tensor.name: usual[role] + int(case.factors[scale_of(tensor.name)])
        for tensor in operator.inputs
        if (role := tensor.role_in(attributes)) in usual
    }


def _plant(operator: Operator, case: CaseSpec, dtype: FloatType, arrays: Arrays) -> None:
    """Put a draw's special values into the inputs, in place."""
    plant = DRAWS[case.draw].plant
    if not plant:
        return
    shared = gru_inputs(operator, case.attributes, arrays)  # views
    x, h0, *biases = shared.x, shared.h0, *shared.b.values()
    if plant == "nan":
        x[0, 0, 0], h0[-1, -1, -1] = np.nan, np.nan
    elif plant == "infinity":
        x[0, 0, 0], x[-1, 0, 0] = np.inf, -np.inf
    elif plant in ("padding-nan", "padding-infinity"):
        past = ~mask_of(shared.lengths, shared.starts, x.shape[1])
        rubbish = np.nan if plant == "padding-nan" else np.inf
        x[past] = np.copysign(np.full_like(x, rubbish), x)[past]
    elif plant == "overflow":
        x *= dtype.numpy.type(2.0 ** (math.frexp(dtype.largest)[1] - 1))  # nearly fills the range
    elif plant == "signed-zero":
        for array in (x, h0, *biases):
            array[...] = np.copysign(np.zeros_like(array), array)
    else:
        down = dtype.least_exponent + dtype.precision - 2  # subnormal numbers are below 2^(down+1)
        for array in (x, h0, *biases):
            array[...] = np.ldexp(array.astype(np.float64), down).astype(dtype.numpy)


FEW_ATTEMPTS = (0, 7)
"""The draws of a case of a random space: there are others to ask."""
CHUNK_BYTES, CHUNK_CASES = 8 << 20, 256
"""Maximum bytes and cases that are answered together; a single case may have more bytes."""
LAST = "; the last: "
"""The text before the reason for the last draw of a case."""
ORDINARY = (
    "the answer should depend on NaN, infinity, overflow, subnormal numbers or the sign of a zero, and does "
    "not; leave the tier nonportable out"
)
"""The message for an ordinary case that is marked nonportable."""


@dataclass(frozen=True)
class Undrawn:
    """A case of which no draw could be kept; `why` has the reason for the last draw, with a remedy."""

    case: CaseSpec
    why: str


Chunk = tuple[Block | None, Sequence[Undrawn]]
"""The block of the cases that could be drawn (None if none could), and the other cases."""


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
    """Derive the block from all attributes, all sizes, the absent tensors, and the type variables."""
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
    of_each_size = {(case.operator, *case.sizes.items()): case for case in cases}
    for case in of_each_size.values():
        if why := too_large(OPERATORS[case.operator], case.attributes, case.sizes):
            raise GrucibleError(f"{case.id}: {why}")


def chunks(cases: Sequence[CaseSpec]) -> Iterator[tuple[BlockKey, list[list[CaseSpec]]]]:
    """Split `cases` into blocks, alike ones one after another, each in chunks of work, sorted by id."""
    blocks: dict[BlockKey, list[CaseSpec]] = {}
    for case in cases:
        blocks.setdefault(block_key(case), []).append(case)
    for key in sorted(blocks, key=lambda key: (key.sizes, key.path)):
        members = sorted(blocks[key], key=lambda case: case.id)
        size = chunk_size(bytes_of(members[0]))
        yield key, [members[i : i + size] for i in range(0, len(members), size)]


def take_shard(cases: Sequence[CaseSpec], shard: Shard) -> list[CaseSpec]:
    """Take the cases of those blocks that are in a shard, by the id of a block's first case."""
    blocks = (parts for _, parts in chunks(cases) if shard.takes(parts[0][0].id))
    return [case for parts in blocks for part in parts for case in part]


def chunk_size(each: int) -> int:
    """Count the cases that are answered together, if the tensors of each take `each` bytes."""
    return max(1, min(CHUNK_CASES, CHUNK_BYTES // each))


def bytes_of(case: CaseSpec) -> int:
    """Count the bytes of the tensors of a case, in float64."""
    return case_bytes(OPERATORS[case.operator], case.attributes, case.sizes)


def make_chunks(
    parts: Sequence[Sequence[CaseSpec]], seed: int, attempts: Sequence[int] = ATTEMPTS
) -> list[Chunk]:
    """Draw and answer the cases of several blocks or parts of blocks, alike ones together.

    A case is drawn again if its draw cannot be kept.
    """
    blocks: list[list[Block]] = [[] for _ in parts]
    pending = [dict.fromkeys(range(len(cases)), "") for cases in parts]
    for attempt in attempts:
        left = [place for place, rows in enumerate(pending) if rows]
        batches = [_batch([parts[n][row] for row in pending[n]], seed, attempt) for n in left]
        for place, (block, refused) in zip(left, answer_batches(batches), strict=True):
            blocks[place] += [block] if block else []
            rows = [*pending[place]]
            pending[place] = {rows[row]: refused[row] for row in sorted(refused)}
    tried = f"{len(attempts)} draws failed{LAST}"
    made: list[Chunk] = []
    for cases, found, reasons in zip(parts, blocks, pending, strict=True):
        undrawn = [Undrawn(cases[row], tried + why) for row, why in reasons.items()]
        block = concatenate(found, [case.id for case in cases])
        if block and block.tier == "nonportable" and not (holds := find_nonportable(block)).all():
            others = {block.ids[row] for row in np.flatnonzero(~holds)}
            undrawn += [Undrawn(case, ORDINARY) for case in cases if case.id in others]
            block = block.rows(holds) if holds.any() else None
        made.append((block, undrawn))
    return made


def _batch(cases: Sequence[CaseSpec], seed: int, attempt: int) -> Batch:
    """Draw the inputs of cases that share a block."""
    key = block_key(cases[0])
    planted = np.array([bool(DRAWS[case.draw].plant) for case in cases])
    return Batch(
        key,
        [case.id for case in cases],
        [case.given for case in cases],
        _draw(cases, seed, attempt),
        planted,
        planted | (key.tier == "nonportable"),
    )


def stacked(rows: Sequence[Mapping[str, Array]]) -> Arrays:
    """Stack the arrays of several cases, by name, along a new first axis."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

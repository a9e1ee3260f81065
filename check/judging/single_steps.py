"""Single steps: from the observed state before a step, how far the state after it may be off.

Nothing accumulates, so this decides at any number of steps. TOLERANCES.md derives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.operators.layout import (
    GruInputs,
    mask_of,
    operator_inputs,
    operator_outputs,
    shared_outputs,
)
from ...cases.operators.readings import ReadingNames
from ...cases.operators.semantics import StackedSemantics, is_word
from ...cases.question import pose
from ...gen.gru import all_step_numbers, fill_padding, processing_order, states_before, turned
from ...gen.posed import answered_block
from ...gen.stacks import Stack, join, stacks
from ...gen.tolerances.classes import CLASSES, F64, TINY_F64, ArithmeticClass
from ...gen.tolerances.march import step_bounds, tolerances
from ...gen.tolerances.spread import Spread, step_spread
from ...vectors.block import Block
from ...vectors.case import Answer, rows_of

BOUND_BYTES = 4 << 20
"""Maximum bytes of one array of bounds of the steps that are bounded at once; there are some twenty."""
LEAST_ROWS = 256
"""Minimum rows that are bounded at once; to prepare weights takes as long as some 100 rows."""
LOOKED_AT = 512
"""Maximum steps of a large case that are asked again: bounding them takes a second."""


@dataclass(frozen=True)
class SingleSteps:
    """Every step of n stacked cases as a question of its own.

    Rows are those of the batch, each with its times, in the order of time. `inputs` are of one step from the
    observed state before it. `seen` (n, direction, rows, hidden) are the observed states after it, in
    float64; `taken` (n, rows) says which steps there are, `number` (n, direction, rows) counts them in the
    order of processing.
    """

    semantics: StackedSemantics
    inputs: GruInputs
    seen: Array
    taken: Array
    number: Array

    @staticmethod
    def of(inputs: GruInputs, semantics: StackedSemantics, y: Array) -> SingleSteps:
        """Take apart observed states `y` (n, direction, batch, time, hidden), as the operator orders them."""
        n, directions, _, time, hidden = y.shape
        seen = turned(semantics, y.astype(np.float64))
        number = all_step_numbers(semantics, inputs, time)
        before = states_before(seen, inputs.h0, processing_order(number, inputs.lengths[:, None]))
        taken = mask_of(inputs.lengths, inputs.starts, time).reshape(n, -1)
        one = GruInputs(
            x=inputs.x.reshape(n, -1, 1, inputs.x.shape[-1]),
            h0=before.reshape(n, directions, -1, hidden),
            lengths=taken.astype(np.int64),
            starts=np.zeros_like(taken, np.int64),
            w=inputs.w,
            r=inputs.r,
            b=inputs.b,
        )
        states, numbers = seen.reshape(n, directions, -1, hidden), number.reshape(n, directions, -1)
        return SingleSteps(semantics, one, states, taken, numbers)

    @property
    def first(self) -> Array:
        """(n, direction, rows) which steps start from the given state."""
        return np.asarray(self.number == 0)

    def rows(self, which: slice | Array) -> Self:
        """Take some of the rows."""
        x, h0 = self.inputs.x[:, which], self.inputs.h0[:, :, which]
        lengths, starts = self.inputs.lengths[:, which], self.inputs.starts[:, which]
        inputs = replace(self.inputs, x=x, h0=h0, lengths=lengths, starts=starts)
        seen, taken = self.seen[:, :, which], self.taken[:, which]
        number = self.number[:, :, which]
        return replace(self, inputs=inputs, seen=seen, taken=taken, number=number)

    def parts(self, classes: int) -> Iterator[tuple[slice, SingleSteps]]:
        """Split the rows into parts that are bounded at once in a number of `classes`, each with its rows."""
        n, _, rows, hidden = self.seen.shape
        size = max(LEAST_ROWS, BOUND_BYTES // (8 * n * hidden * classes))
        slices = (slice(start, start + size) for start in range(0, rows, size))
        return ((which, self.rows(which)) for which in slices)

    def expected(self, dtype: str) -> tuple[Array, Arrays]:
        """Compute the states after each step, and by class of arithmetic how far they may be off.

        Both are shaped as `seen`. The state before a step, unless it is given, may be off by half a unit in
        the last place of what was handed out: a runtime may carry it more precisely.
        """
        classes = CLASSES[dtype]
        if dtype == "float64":  # x itself is computed in float64
            classes = tuple(replace(c, unit=c.unit + F64, tiny=c.tiny + TINY_F64) for c in classes)
        kind, values = FLOAT_TYPES[dtype], np.empty(self.seen.shape)
        limits = {one.name: np.empty(self.seen.shape, np.float32) for one in classes}
        for which, some in self.parts(len(classes)):
            x, errors = step_bounds(some.semantics, some.inputs, classes, kind, some.first)
            values[:, :, which] = x
            for name, limit in tolerances(x, errors, x, dtype).items():
                limits[name][:, :, which] = limit
        return values, limits

    def spread(self, one: ArithmeticClass, dtype: str) -> Spread:
        """Compute the states after each step, and how large their errors usually are in a class."""
        return step_spread(self.semantics, self.inputs, one, FLOAT_TYPES[dtype], self.first)


def step_answer(block: Block, outputs: Arrays, reading: ReadingNames) -> Answer | None:
    """Answer each step of a block's cases from the observed state before it; None without all states.

    The answer has the outputs' shapes, and exact values in float64. Padding that holds no state of a step is
    as observed, and so are NaN and infinities, which the stored answer judges.
    """
    return step_answers([(block, outputs, reading)])[0]


def step_answers(asked: Sequence[tuple[Block, Arrays, ReadingNames]]) -> list[Answer | None]:
    """Answer each step of several blocks' cases, as `step_answer` does; alike cases together."""
    answers: list[Answer | None] = [None] * len(asked)
    alike: dict[Hashable, list[tuple[Answer, Block, Stack, Stack, Arrays]]] = {}
    bytes_of = Counter[Hashable]()
    for place, (block, outputs, reading) in enumerate(asked):
        if not holds_every_state(block):
            continue
        operator, classes = OPERATORS[block.operator], CLASSES[block.dtype]
        shared = shared_outputs(operator, operator.with_defaults(block.given[0]), outputs)
        wanted = {name: outputs[name].shape for name in block.answer.outputs}
        answers[place] = answer = Answer(
            {name: np.zeros(shape) for name, shape in wanted.items()},
            {c.name: {n: np.zeros(shape, "f4") for n, shape in wanted.items()} for c in classes},
        )
        for own in stacks(operator, block.given, block.inputs):
            mine = {role: array[own.rows].astype(np.float64) for role, array in shared.items()}
            stack = own.as_read(reading)
            key = (block.dtype, *mine, stack.alike)
            bytes_of[key] += len(classes) * mine["y"].nbytes
            full = bytes_of[key] // BOUND_BYTES
            alike.setdefault((key, full), []).append((answer, block, own, stack, mine))
    for together in alike.values():
        of_blocks, blocks, owned, members, seen = zip(*together, strict=True)
        states = {role: np.concatenate([one[role] for one in seen]) for role in seen[0]}
        expected, admitted = _answer(join(members), states, blocks[0].dtype)
        ends = np.cumsum([len(one) for one in owned])
        for end, answer, block, own in zip(ends, of_blocks, blocks, owned, strict=True):
            rows = slice(end - len(own), end)
            pairs = [(answer.outputs, expected)]
            pairs += [(answer.tolerances[name], by_role) for name, by_role in admitted.items()]
            for of, by_role in pairs:
                for name, array in own.handed_out(rows_of(by_role, rows), block.absent).items():
                    of[name][own.rows] = array
    return answers


def ask_steps(block: Block, outputs: Arrays, most: int) -> tuple[Block, Arrays]:
    """Ask some steps of a block's only case again, as a case of one step from the observed states.

    At most `most` rows are taken: the steps that are furthest off, and others. Returns the new case's block
    and what was observed of it. Raises GrucibleError where there is no step, or it cannot be answered.
    """
    operator, [given] = OPERATORS[block.operator], block.given
    attributes = operator.with_defaults(given)
    [stack] = stacks(operator, block.given, block.inputs)
    seen = shared_outputs(operator, attributes, outputs)["y"].astype(np.float64)
    steps = SingleSteps.of(stack.inputs, stack.semantics, seen)
    places = np.flatnonzero(steps.taken[0])
    if not places.size:
        raise GrucibleError(f"{block.ids[0]}: no row takes a step")
    looked_at = np.linspace(0, len(places) - 1, min(LOOKED_AT, len(places))).astype(int)
    some = steps.rows(places[looked_at])
    right, limits = some.expected(block.dtype)
    ratio = np.abs(some.seen - right) / next(iter(limits.values()))
    order = np.argsort(-ratio.max(axis=(0, 1, 3)), kind="stable")
    few = some.rows(np.unique([*order[: most // 2], *order[:: -(-2 * len(order) // most)]]))
    numbers = FLOAT_TYPES[block.dtype].numpy
    absent = {t.name for t in operator.inputs if t.name not in block.inputs and t.role != "h0"}
    inputs = operator_inputs(operator, attributes, few.inputs, absent)
    inputs = {
        name: array[0].astype(block.inputs[name].dtype if name in block.inputs else numbers)
        for name, array in inputs.items()
    }
    states = {"y": few.seen[..., None, :], "ho": few.seen}
    observed = operator_outputs(operator, attributes, states, block.absent)
    one = {symbol: 1 for symbol, axis in operator.sizes.items() if axis == "time"}
    given = {name: one.get(name, value) for name, value in given.items()}
    question = pose(
        operator, given, inputs, case_id=block.ids[0], outputs=block.answer.outputs.keys()
    )
    return answered_block(question), {name: a.astype(numbers) for name, a in observed.items()}


def holds_every_state(block: Block) -> bool:
    """Say whether the outputs of a block hold the state after every step, of several."""
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])
    shared = shared_outputs(operator, attributes, block.answer.outputs)
    return "y" in shared and shared["y"].shape[-2] > 1


def _answer(stack: Stack, seen: Arrays, dtype: str) -> tuple[Arrays, dict[str, Arrays]]:
    """Answer the steps of stacked cases, of which y and perhaps ho were observed, by role."""
    meant = stack.semantics
    steps = SingleSteps.of(stack.inputs, meant, seen["y"])
    x, limits = steps.expected(dtype)
    shape, lengths = seen["y"].shape, stack.inputs.lengths
    taken = steps.taken.reshape(len(x), 1, *shape[2:4], 1)
    at = last_times(meant, stack.inputs)[..., None, None]
    empty = (lengths == 0)[:, None, :, None]

    def by_role(states: Array, ho: Array | float) -> Arrays:
        end = np.take_along_axis(states, at, axis=-2)[..., 0, :]
        y = turned(meant, states)
        return {"y": y} | ({"ho": np.where(empty, ho, end)} if "ho" in seen else {})

    x, y = x.reshape(shape), steps.seen.reshape(shape)
    x = np.where(taken & np.isfinite(x) & np.isfinite(y), x, y)
    ends = np.take_along_axis(y, at, axis=-2)[..., 0, :]
    # a repeated state is the one observed; other padding is as observed
    repeats = ~np.broadcast_to(is_word(meant, "y_padding", "zeros", 0), len(x))
    if repeats.any():
        repeated = replace(meant, y_padding=np.where(repeats, "repeated", "zeros"))
        at_time = all_step_numbers(meant, stack.inputs, shape[-2])
        x = fill_padding(repeated, at_time, lengths[:, None], x, first=ends, last=ends)
    admitted = {
        name: by_role(np.where(taken, limit.reshape(shape), 0.0), 0.0)
        for name, limit in limits.items()
    }
    return by_role(x, seen.get("ho", 0.0)), admitted


def last_times(semantics: StackedSemantics, inputs: GruInputs) -> Array:
    """Find the time of each row's last step, (n, direction, batch); any time of a row without steps."""
    starts, lengths = inputs.starts[:, None, :], inputs.lengths[:, None, :]
    ends = np.clip(starts + lengths - 1, 0, inputs.x.shape[-2] - 1)
    return np.where(semantics.backwards[:, :, None], starts, ends)

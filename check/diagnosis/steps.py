"""One step at a time: from the observed state before a step, the state that the step should give.

Where Y gives every state, or where there is one step, each step of a failing case can be looked at by
itself: a step that is wrong by itself is distinguished from one that inherits what was wrong before it, and
what explains it needs no error to be carried along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.operators import OPERATORS
from ...cases.operators.activations import FUNCTIONS
from ...cases.operators.layout import mask_of, shared_outputs
from ...gen.gru import all_step_numbers, fill_padding, turned
from ...gen.stacks import Stack
from ...gen.variants.compute import compute
from ...gen.variants.places import Elements
from ...gen.variants.variant import IN_A_STEP, Quantities, Variant
from ..judging.criterion import Demanded
from ..judging.single_steps import SingleSteps, last_times
from .failing import FailingBlock, Room

JUMPED = 2.0**-20
"""The quantities of a step are off by less than this share in float32."""


@dataclass(frozen=True)
class Steps(SingleSteps):
    """Every step of some failing cases of a block as a case of its own, and what is admitted.

    `limits` (n, direction, rows, hidden) is that of the observed states, `row` (rows,) the row of the batch.
    `rest` (n,) says of which cases all that is no step's state is as it should be after these states: Y past
    a row's length, and the last state. `base` are variants under which all is taken to be computed.
    """

    part: FailingBlock
    stack: Stack
    limits: Array
    row: Array
    rest: Array
    base: tuple[Variant, ...] = ()

    def given(self, several: Sequence[Sequence[Variant]]) -> Array:
        """(c, n, direction, rows, hidden) Compute the states after each step under each combination."""
        found = compute(
            [(*self.base, *variants) for variants in several], self.stack.semantics, self.inputs
        )
        return np.stack([y[..., 0, :] for y, _, _ in found])

    def has_all(self, variants: Sequence[Variant]) -> bool:
        """Say whether the operator has what each of the variants is about."""
        operator = OPERATORS[self.part.block.operator]
        return all(variant.means_something_for(operator) for variant in variants)

    def tells(self, needs: Sequence[str]) -> bool:
        """Say whether some case asks for every function (`f.tanh`) among what a variant needs.

        If none does, the variant changes nothing.
        """
        return all(need[2:] in self.functions for need in needs if need[2:] in FUNCTIONS)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the functions that some gate or candidate has, under the base."""
        meant = self.stack.semantics
        for variant in self.base:
            meant = variant.semantics(meant) if variant.semantics else meant
        return frozenset(one.name for functions in (*meant.f, *meant.g) for one in functions)

    @cached_property
    def right(self) -> Array:
        """(n, direction, rows, hidden) the right states after each step."""
        return np.asarray(self.given([[]])[0])

    @cached_property
    def wrong(self) -> Array:
        """(n, direction, rows, hidden) which states are wrong by themselves."""
        return np.asarray(~self.near(self.right[None])[0] & self.taken[:, None, :, None])

    @property
    def off(self) -> Array:
        """(n, direction, rows, hidden) which states are off by more than is admitted of one step."""
        near = _within(self.seen, self.right, self.limits)
        return np.asarray(~near & self.taken[:, None, :, None])

    @property
    def elements(self) -> Elements:
        """These states as elements of outputs, without a place in Y."""
        inputs, meant = self.stack.inputs, self.stack.semantics
        return Elements(inputs, meant, self.number, self.row, np.full(len(self.row), np.nan))

    @cached_property
    def quantities(self) -> Mapping[str, Array]:
        """The quantities of the right steps, by name (gen.gru.Step), (n, direction, rows, hidden) each."""
        seen: dict[str, list[Array]] = {}

        def see(name: str, q: Quantities) -> Array:
            seen.setdefault(name, []).append(q[name])
            return seen[name][-1]

        watched = Variant("seen", "", quantities={one: partial(see, one) for one in IN_A_STEP})
        every = replace(self.inputs, lengths=np.ones_like(self.inputs.lengths))
        replace(self, base=(), inputs=every).given([(watched,)])
        return {name: np.stack(each, axis=1) for name, each in seen.items()}

    def gives(self, variants: Sequence[Variant]) -> Array:
        """(n, direction, rows, hidden) Say which observed states are what variants give together.

        Where one jumps, rounding decides on which side of a jump a quantity is. There it is enough to be
        near to what is given if all quantities are off by JUMPED.
        """
        found: Array = self.near(self.given([variants]))[0]
        if any(variant.jumps for variant in variants):
            for share in (-JUMPED, JUMPED):
                found |= self.near(self.given([(_nudged(share), *variants)]))[0]
        return found

    def near(self, given: Array) -> Array:
        """(c, …) Say which observed states are as near to what is given as the criterion admits.

        That is more, where what was observed is larger than what is right.
        """
        return _within(self.seen, given, self.room)

    def shown(self, variants: Sequence[Variant]) -> Array:
        """(n, direction, rows, hidden) Say in which states variants give something clearly not right."""
        near = _within(self.given([variants])[0], self.right, self.room + self.limits)
        return np.asarray(~near & self.taken[:, None, :, None])

    def explained(self, near: Array) -> Array:
        """(c, n) Say of which cases every state that is wrong by itself is `near` (c, …)."""
        given = (near | ~self.wrong).all(axis=(2, 3, 4))
        return np.asarray(given & self.wrong.any(axis=(1, 2, 3)))

    @cached_property
    def room(self) -> Array:
        """(n, direction, rows, hidden) what is admitted of what variants give."""
        flat = (1, len(self.seen), -1)
        kind = FLOAT_TYPES[self.part.block.dtype]
        limit, right = self.limits.reshape(flat[1:]), self.right.reshape(flat[1:])
        with np.errstate(invalid="ignore", over="ignore"):
            admitted = Room(limit, right, kind).of(np.nan_to_num(self.seen).reshape(flat))
        return admitted.reshape(self.seen.shape)

    def rows(self, which: slice | Array) -> Self:
        """Take the steps of some of the rows."""
        some = super().rows(which)
        return replace(some, limits=self.limits[:, :, which], row=self.row[which])

    def only(self, mask: Array) -> Steps:
        """Take the steps of the cases of a mask (n,)."""
        if mask.all():
            return self
        cases = np.flatnonzero(mask)
        names = ("seen", "limits", "taken", "number", "rest")
        some: dict[str, Any] = {name: getattr(self, name)[cases] for name in names}
        stack, inputs = self.stack.only(cases), self.inputs.rows(cases)
        return replace(self, stack=stack, semantics=stack.semantics, inputs=inputs, **some)


def steps_of(part: FailingBlock) -> list[Steps]:
    """List the steps of the cases of a block; none where the states between them were not handed out."""
    operator, block = OPERATORS[part.block.operator], part.block
    attributes = operator.with_defaults(block.given[0])
    shared = shared_outputs(operator, attributes, part.observed)
    admitted = shared_outputs(operator, attributes, part.admitted)
    if not {"y", "ho"} & shared.keys():
        return []
    seen, limits = (
        each["y"] if "y" in each else each["ho"][..., None, :] for each in (shared, admitted)
    )  # (n, direction, batch, time, hidden)
    return [
        _steps(part, stack, seen, limits, shared.get("ho"))
        for stack in part.stacked
        if stack.inputs.x.shape[-2] == seen.shape[-2]
    ]


def _steps(part: FailingBlock, stack: Stack, seen: Array, limits: Array, ho: Array | None) -> Steps:
    seen, limits = (array[stack.rows].astype(np.float64) for array in (seen, limits))
    time, semantics, criterion = seen.shape[-2], stack.semantics, part.criterion
    single = SingleSteps.of(stack.inputs, semantics, seen)
    rest = _rest(stack, seen, None if ho is None else ho[stack.rows].astype(np.float64), limits)
    limits = turned(semantics, limits).reshape(single.seen.shape)
    if time > 1 and isinstance(criterion, Demanded):
        _, admitted = single.expected(part.block.dtype)
        limits = admitted[criterion.arithmetic].astype(np.float64)
    return Steps(
        **vars(single),
        part=part,
        stack=stack,
        limits=limits,
        row=np.repeat(np.arange(seen.shape[2]), time),
        rest=rest,
    )


def share_left(before: Array, after: Array) -> Array:
    """Compute the share of errors that is left of their sum along the last axis, or NaN."""
    size = np.maximum(np.abs(before).sum(axis=-1), 1e-300)
    return np.asarray(np.abs(after).sum(axis=-1) / size)


def _within(one: Array, other: Array, limit: Array) -> Array:
    """Say whether elements are equal, NaN in both, or no further apart than a limit."""
    with np.errstate(invalid="ignore", over="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return np.asarray(same | (np.abs(one - other) <= limit))


def _nudged(share: float) -> Variant:
    """Make a variant that has every quantity of a step off by a share of it."""
    more = {name: lambda q, name=name: q[name] * (1.0 + share) for name in IN_A_STEP}
    return Variant("nudged", "", quantities=more)


def _rest(stack: Stack, seen: Array, ho: Array | None, limits: Array) -> Array:
    """(n,) Say whether Y is right where there is no step, and the last state is the last step's."""
    meant, inputs = stack.semantics, stack.inputs
    lengths, states = inputs.lengths[:, None], turned(meant, seen)
    at = last_times(meant, inputs)[..., None, None]
    last, limit = (
        np.take_along_axis(array, at, axis=-2)[..., 0, :]
        for array in (states, turned(meant, limits))
    )
    taken = mask_of(inputs.lengths, inputs.starts, seen.shape[-2])[:, None, ..., None]
    empty, first = np.where(taken, states, 0.0), inputs.h0.astype(np.float64)
    at_time = all_step_numbers(meant, inputs, seen.shape[-2])
    right = fill_padding(meant, at_time, lengths, empty, first=first, last=last)
    fine = (taken | (states == right)).all(axis=(1, 2, 3, 4))
    if ho is not None:
        fine &= (_within(ho, last, limit) | (lengths == 0)[..., None]).all(axis=(1, 2, 3))
    return np.asarray(fine)

"""Inputs of other times and rows, and outputs that are taken from elsewhere.

As those of `expressions`, these are in no catalogue: they are tried where nothing in it explains a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import in_order, processing_order, states_before
from .fields import Change
from .sequence import past
from .variant import Evaluated, Outputs, Variant


def _one_step_of(inputs: GruInputs) -> GruInputs:
    """Every step of every row as a row of its own that starts from h0: x (batch · time, 1, input)."""
    *stacked, batch, time, size = inputs.x.shape
    at = np.arange(time) < inputs.lengths[..., None]
    return GruInputs(
        x=inputs.x.reshape(*stacked, batch * time, 1, size),
        h0=np.repeat(inputs.h0, time, axis=-2),
        lengths=at.reshape(*stacked, batch * time).astype(np.int64),
        w=inputs.w,
        r=inputs.r,
        b=inputs.b,
    )


def _second_from_first(seen: Evaluated) -> Outputs:
    """The second direction starts from the last state of the first."""
    h0 = seen.inputs.h0.astype(np.float64)
    if h0.shape[1] > 1:
        h0[:, 1] = seen.ho[:, 0]
    return seen.again(replace(seen.inputs, h0=h0))


def _unsorted_h0(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """The longest row starts from the first row's h0, the next from the second's, and so on."""
    order = np.argsort(-inputs.lengths, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")[:, None, :, None]
    return replace(inputs, h0=np.take_along_axis(inputs.h0, place, axis=2))


def _y_left_sorted(seen: Evaluated) -> Outputs:
    order = np.argsort(-seen.inputs.lengths, axis=-1, kind="stable")[:, None, :, None, None]
    return np.take_along_axis(seen.y, order, axis=2), seen.ho


def _in_time(place: Callable[[Array], Array]) -> Change:
    """x of another step, as a function of the number of the step in processing order; those of all
    directions alike, so it is told where they agree."""

    def change(inputs: GruInputs, s: StackedSemantics) -> GruInputs:
        time = inputs.x.shape[-2]
        order = processing_order(s.directions[0], inputs.lengths, time)
        last = np.maximum(inputs.lengths[..., None] - 1, 0)
        taken = np.clip(place(np.arange(time)), 0, last)
        x = np.take_along_axis(in_order(inputs.x, order), taken[..., None], axis=-2)
        return replace(inputs, x=in_order(x, order))

    return change


def _at_other_time(by: int) -> Change:
    """x of an earlier or later time, whatever the direction; of the first or last where there is none."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        time = inputs.x.shape[-2]
        taken = np.clip(np.arange(time) + by, 0, time - 1)
        return replace(inputs, x=inputs.x[..., taken, :])

    return change


def _at_longest_end(seen: Evaluated) -> Outputs:
    """Ho taken from Y at the time where the longest row ends."""
    at = np.maximum(seen.inputs.lengths.max(axis=-1) - 1, 0)[:, None, None, None, None]
    return seen.y, np.take_along_axis(seen.y, at, axis=-2)[..., 0, :]


def _capped_lengths(most: int) -> Change:
    return lambda inputs, _: replace(inputs, lengths=np.minimum(inputs.lengths, most))


def _each_from_h0(seen: Evaluated) -> Outputs:
    """Every step starts from h0."""
    y, _ = seen.again(_one_step_of(seen.inputs))
    y = y[..., 0, :].reshape(seen.y.shape)
    at = np.maximum(seen.inputs.lengths - 1, 0)[:, None, :, None, None]
    reverse = seen.semantics.backwards[:, :, None, None, None]
    last = np.take_along_axis(y, np.where(reverse, 0, at), axis=-2)[..., 0, :]
    return y, np.where(seen.inputs.lengths[:, None, :, None] > 0, last, seen.ho)


def _before(seen: Evaluated) -> Outputs:
    """Y of each step holds the state before it."""
    y = np.zeros_like(seen.y)
    for d, direction in enumerate(seen.semantics.directions):
        order = processing_order(direction, seen.inputs.lengths, y.shape[-2])
        y[:, d] = states_before(seen.y[:, d], seen.inputs.h0[:, d], order)
    return np.where(past(seen), 0.0, y), seen.ho


def _first_of_batch(array: Array) -> Array:
    return np.asarray(np.broadcast_to(array[:, :, :1], array.shape))


ELSEWHERE = (
    Variant("x-one-late", "{x} of the step before taken", needs=("axis.time",), between_steps=True,
            inputs=_in_time(lambda n: n - 1)),
    Variant("x-one-early", "{x} of the step after taken", needs=("axis.time",), between_steps=True,
            inputs=_in_time(lambda n: n + 1)),
    Variant("x-of-time-before", "{x} of the time before taken", needs=("axis.time",), between_steps=True,
            inputs=_at_other_time(-1)),
    Variant("x-of-time-after", "{x} of the time after taken", needs=("axis.time",), between_steps=True,
            inputs=_at_other_time(1)),
    Variant("Ho-of-longest-end", "{ho} taken from {y} at the time where the longest row ends",
            needs=("lengths", "y.time"), outputs=_at_longest_end),
    Variant("x-of-first-step", "{x} of the first step taken for every step", needs=("axis.time",), between_steps=True,
            inputs=_in_time(lambda n: 0 * n)),
    *(
        Variant(f"steps-up-to-{count}", f"no more than the first {count} steps taken", needs=("axis.time",),
                between_steps=True, inputs=_capped_lengths(count))
        for count in (1, 2, 3, 4, 8)
    ),
    Variant("h0-of-first-row", "{h0} of the first row of the batch used for every row", between_steps=True,
            inputs=lambda inputs, _: replace(inputs, h0=np.broadcast_to(inputs.h0[:, :, :1], inputs.h0.shape))),
    Variant("h0-left-unsorted", "rows sorted by length, the longest first, and {h0} not sorted with them",
            needs=("lengths",), between_steps=True, inputs=_unsorted_h0),
    Variant("second-from-first", "the second direction started from the last state of the first",
            needs=("axis.direction",), outputs=_second_from_first),
    Variant("Y-left-sorted", "rows sorted by length, and not put back in {y}", needs=("lengths",), outputs=_y_left_sorted),
    Variant("each-from-h0", "every step started from {h0} instead of the state before it", needs=("axis.time",),
            outputs=_each_from_h0),
    Variant("Y-before-step", "{y} holds the state before each step instead of after it", needs=("axis.time",),
            outputs=_before),
    Variant("Y-of-first-row", "{y} of the first row of the batch written for every row", needs=("axis.time",),
            outputs=lambda seen: (_first_of_batch(seen.y), seen.ho)),
    Variant("Ho-of-first-row", "{ho} of the first row of the batch written for every row",
            outputs=lambda seen: (seen.y, _first_of_batch(seen.ho))),
    Variant("Y-zero", "{y} left zero", needs=("axis.time",), outputs=lambda seen: (0 * seen.y, seen.ho)),
    Variant("Ho-zero", "{ho} left zero", outputs=lambda seen: (seen.y, 0 * seen.ho)),
    Variant("Ho-h0", "{h0} handed out as {ho}", needs=("axis.time",),
            outputs=lambda seen: (seen.y, seen.inputs.h0.astype(np.float64))),
)  # fmt: skip
"""Inputs of other steps, first states of others, outputs of other rows, times and steps."""

"""Variants of time: lengths, directions, the first state, and what Y and Ho hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs, mask_of
from ...cases.operators.semantics import StackedSemantics, YPadding, is_word
from ..gru import (
    Advance,
    Alter,
    all_step_numbers,
    fill_padding,
    in_order,
    in_time,
    processing_order,
    states_before,
    step,
    step_numbers,
    turned,
)
from .fields import Change
from .variant import Evaluated, Outputs, Variant
from .weights import first_direction

LENGTHS = (
    "https://github.com/onnx/onnx-tensorflow/issues/342",
    "https://github.com/apache/mxnet/issues/19323",
    "https://github.com/onnx/onnx-mlir/pull/2479",
)


def _lengths(change: Callable[[Array, int], Array]) -> Change:
    """Make other lengths, as a function of the lengths and of the time axis."""
    return lambda inputs, _: replace(
        inputs, lengths=np.asarray(change(inputs.lengths, inputs.x.shape[-2]))
    )


def _rolled(by: int) -> Callable[[Array, int], Array]:
    """Take the lengths of other rows, `by` rows before."""
    return lambda n, _: np.roll(n, by, axis=-1)


def _worded(words: Mapping[str, str]) -> Callable[[StackedSemantics], StackedSemantics]:
    """Directions by other words."""

    def change(s: StackedSemantics) -> StackedSemantics:
        directions = tuple(tuple(words.get(w, w) for w in one) for one in s.directions)
        return replace(s, directions=directions)  # type: ignore[arg-type]

    return change


def _h0(change: Callable[[Array, Array], Array]) -> Change:
    """Make another first state, of it and of which directions are reverse (n, direction, 1, 1)."""
    return lambda inputs, s: replace(
        inputs, h0=np.asarray(change(inputs.h0, s.backwards[..., None, None]))
    )


def _order(seen: Evaluated) -> Array | None:
    at_time = all_step_numbers(seen.semantics, seen.inputs, seen.inputs.x.shape[-2])
    return processing_order(at_time, seen.inputs.lengths[:, None])


def _processing(seen: Evaluated) -> Outputs:
    """Y as its steps were taken: for reverse, the first step first."""
    return in_order(seen.y, _order(seen)), seen.ho


def _past(seen: Evaluated) -> Array:
    """(n, direction, batch, time, 1): where the row has no step, in the order of Y."""
    there = mask_of(seen.inputs.lengths, seen.inputs.starts, seen.y.shape[-2])
    past = np.repeat(~there[:, None, ..., None], seen.y.shape[1], axis=1)
    return turned(seen.semantics, past)


def _whole(inputs: GruInputs) -> GruInputs:
    """Every row as long as the time axis."""
    lengths = np.full_like(inputs.lengths, inputs.x.shape[-2])
    return replace(inputs, lengths=lengths, starts=np.zeros_like(lengths))


def _longest(inputs: GruInputs) -> GruInputs:
    """Every row as long as the longest."""
    n = inputs.lengths
    return replace(inputs, lengths=np.broadcast_to(n.max(axis=-1, keepdims=True), n.shape))


def _not_zeroed(seen: Evaluated) -> Outputs:
    y, _ = seen.again(_whole(seen.inputs))
    forward = ~seen.semantics.backwards[:, :, None, None, None]
    return np.where(_past(seen) & forward, y, seen.y), seen.ho


def _zeroed_only(longer: Callable[[GruInputs], GruInputs]) -> Callable[[Evaluated], Outputs]:
    """Take more steps, and zero Y past the length."""

    def change(seen: Evaluated) -> Outputs:
        y, ho = seen.again(longer(seen.inputs))
        return np.where(_past(seen), 0.0, y), ho

    return change


def _last_state_past(seen: Evaluated) -> Outputs:
    return np.where(_past(seen), seen.ho[..., None, :], seen.y), seen.ho


def _first_state_past(seen: Evaluated) -> Outputs:
    return np.where(_past(seen), seen.inputs.h0[..., None, :], seen.y), seen.ho


def _carried_past(seen: Evaluated) -> Outputs:
    backwards = seen.semantics.backwards[:, :, None, None, None]
    return np.where(backwards, _first_state_past(seen)[0], _last_state_past(seen)[0]), seen.ho


def _padded(padding: YPadding) -> Callable[[StackedSemantics], StackedSemantics]:
    """Fill Y in another way where rows have no step."""
    return lambda s: replace(s, y_padding=padding)


def _zero_at_mask_in_time(seen: Evaluated) -> Outputs:
    """Zeros at the masked times of the input, of Y that holds states and is in processing order."""
    zeros = is_word(seen.semantics, "y_padding", "zeros", 4)
    repeated = replace(seen.semantics, y_padding="repeated")
    y, lengths, last = turned(seen.semantics, seen.y), seen.inputs.lengths[:, None], seen.ho
    at_time = all_step_numbers(seen.semantics, seen.inputs, y.shape[-2])
    y = fill_padding(repeated, at_time, lengths, y, first=last, last=last)
    there = mask_of(seen.inputs.lengths, seen.inputs.starts, y.shape[-2])[:, None, ..., None]
    return np.where(zeros, np.where(there, turned(seen.semantics, y), 0.0), seen.y), seen.ho


def _last_of_mask(seen: Evaluated) -> Array:
    """Take zeros as the last Y where zeros are asked for, and the last step of the axis is masked."""
    zeros = is_word(seen.semantics, "y_padding", "zeros", 3)
    return np.where(zeros & _past(seen)[..., -1, :], 0.0, seen.ho)


def _ho_at(place: Callable[[Array, int, Array], Array]) -> Callable[[Evaluated], Outputs]:
    """Ho taken from Y at a time that is a function of the lengths, the time axis and reverse."""

    def change(seen: Evaluated) -> Outputs:
        time = seen.y.shape[-2]
        at = place(seen.inputs.lengths[:, None, :], time, seen.semantics.backwards[:, :, None])
        at = np.clip(np.broadcast_to(at, seen.y.shape[:3]), 0, time - 1)
        return seen.y, np.take_along_axis(seen.y, at[..., None, None], axis=-2)[..., 0, :]

    return change


def _forward_turned(seen: Evaluated) -> Outputs:
    """All directions are forward; Y is put in the order of processing where that is asked for."""
    forward = Variant("", "", semantics=_worded({"reverse": "forward"}))
    y, ho = seen.again(seen.inputs, forward)
    return turned(seen.semantics, y), ho


def _last_in_time(seen: Evaluated) -> Array:
    """Take the last state in the order of time: of reverse, that of the first step."""
    last = np.where(
        is_word(seen.semantics, "y_order", "processing", 3), seen.y[..., 0, :], seen.y[..., -1, :]
    )
    return np.where(seen.semantics.backwards[:, :, None, None], last, seen.ho)


def _first_row(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    x = np.broadcast_to(inputs.x[:, :1], inputs.x.shape)
    return replace(inputs, x=x, h0=_first_of_batch(inputs.h0))


def _carried_over(seen: Evaluated) -> Outputs:
    """Each row starts from the state that the row before it ended in."""
    h0 = seen.inputs.h0.astype(np.float64)
    y, ho = seen.y, seen.ho
    for row in range(1, h0.shape[2]):
        empty = seen.inputs.lengths[:, None, row - 1, None] == 0
        h0[:, :, row] = np.where(empty, h0[:, :, row - 1], ho[:, :, row - 1])
        y, ho = seen.again(replace(seen.inputs, h0=h0.copy()))
    return y, ho


def _empty_kept(seen: Evaluated) -> Outputs:
    """Let a row without steps hand out what the row before it does."""
    ho = seen.ho.copy()
    for row in range(1, ho.shape[2]):
        empty = seen.inputs.lengths[:, None, row, None] == 0
        ho[:, :, row] = np.where(empty, ho[:, :, row - 1], ho[:, :, row])
    return seen.y, ho


def _by_length(seen: Evaluated, array: Array) -> Array:
    """Sort the rows of an output by length, the longest first, as packing does."""
    order = np.argsort(-seen.inputs.lengths, axis=-1, kind="stable")
    return np.take_along_axis(array, order.reshape(len(order), 1, -1, *[1] * (array.ndim - 3)), 2)


def _unsorted_h0(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """Start the longest row from the first row's h0, the next from the second's, and so on."""
    order = np.argsort(-inputs.lengths, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")[:, None, :, None]
    return replace(inputs, h0=np.take_along_axis(inputs.h0, place, axis=2))


def _first_of_batch(array: Array) -> Array:
    return np.broadcast_to(array[:, :, :1], array.shape)


def _second_from_first(seen: Evaluated) -> Outputs:
    """Start the second direction from the last state of the first."""
    h0 = seen.inputs.h0.astype(np.float64)
    h0[:, 1:] = seen.ho[:, : h0.shape[1] - 1]
    return seen.again(replace(seen.inputs, h0=h0))


def _x_of(place: Callable[[Array], Array], *, steps: bool) -> Change:
    """Take x of another step, as a function of its number in processing order, or of another time.

    Steps are those of the first direction: what directions read is one x.
    """

    def change(inputs: GruInputs, s: StackedSemantics) -> GruInputs:
        time = inputs.x.shape[-2]
        at_time = step_numbers(s.directions[0], inputs, time)
        order = processing_order(at_time, inputs.lengths) if steps else None
        last = np.maximum(inputs.lengths[..., None] - 1, 0) if steps else time - 1
        taken = np.clip(place(np.arange(time)), 0, last)
        taken = np.broadcast_to(taken, inputs.x.shape[:-1])[..., None]
        x = np.take_along_axis(in_order(inputs.x, order), taken, axis=-2)
        return replace(inputs, x=in_time(x, order))

    return change


def _each_from_h0(arithmetic: Any, semantics: StackedSemantics, alter: Alter) -> Advance:
    """Start every step from h0."""

    def advance(d: Any, _: int, rows: Array, wx: Mapping[str, Any], __: Array) -> Array:
        h0 = d.h0[..., rows, :]
        return np.asarray(step(arithmetic, semantics, d, wx, h0, alter).state)

    return advance


def _before(seen: Evaluated) -> Outputs:
    """Let Y of each step hold the state before it."""
    y = states_before(turned(seen.semantics, seen.y), seen.inputs.h0, _order(seen))
    return np.where(_past(seen), seen.y, turned(seen.semantics, y)), seen.ho


def _state_before_last(seen: Evaluated) -> Array:
    """Take the state before each row's last step: h0 of a row with one step, or with none."""
    y = turned(seen.semantics, _before(seen)[0])
    length, start = seen.inputs.lengths[:, None, :], seen.inputs.starts[:, None, :]
    at = start + np.where(seen.semantics.backwards[:, :, None], 0, np.maximum(length - 1, 0))
    last = np.take_along_axis(y, at[..., None, None], axis=-2)[..., 0, :]
    return np.where(length[..., None] > 0, last, seen.ho)


SEQUENCE_VARIANTS = (
    Variant("h0-ignored", "{h0} ignored, zeros used", inputs=_h0(lambda h, _: np.zeros_like(h))),
    Variant("h0-ignored-in-reverse", "{h0} ignored in reverse, zeros used", needs=("direction",),
            inputs=_h0(lambda h, reverse: np.where(reverse, 0, h))),
    Variant("h0-directions-exchanged", "the {h0} of the two directions exchanged",
            ledger="bidi-layout", needs=("axis.direction",), inputs=_h0(lambda h, _: np.flip(h, 1))),
    Variant("row-reused", "the first row of the batch computed for every row", inputs=_first_row),
    Variant("state-carried-over", "the state not reset between the rows of the batch", outputs=_carried_over),
    Variant("reverse-ignored", "reverse computed as forward", needs=("direction",), links=LENGTHS,
            semantics=_worded({"reverse": "forward"})),
    Variant("reverse-ignored-and-turned", "reverse computed as forward, and {y} put in the order of reverse",
            needs=("direction", "y.processing"), links=LENGTHS, outputs=_forward_turned),
    Variant("reverse-assumed", "forward computed as reverse", needs=("direction",),
            semantics=_worded({"forward": "reverse"})),
    Variant("reverse-from-padding", "reverse started at the end of the time axis instead of the row's own end",
            ledger="reverse-ragged", needs=("direction", "lengths"), links=LENGTHS, semantics=_worded({"reverse": "reverse-padded"})),
    Variant("Y-in-processing-order", "{y} of reverse left in the order of processing", ledger="reverse-ragged", needs=("direction", "y.time"),
            links=("https://github.com/webmachinelearning/webnn-baseline/pull/124",), outputs=_processing),
    Variant("Y-directions-exchanged", "the two directions exchanged in {y}", ledger="bidi-layout", needs=("axis.direction",),
            outputs=lambda seen: (np.flip(seen.y, 1), seen.ho)),
    Variant("Ho-directions-exchanged", "the two directions exchanged in {ho}", ledger="bidi-layout", needs=("axis.direction",),
            outputs=lambda seen: (seen.y, np.flip(seen.ho, 1))),
    Variant("lengths-ignored", "{lengths} ignored, every row as long as the time axis", needs=("lengths",),
            links=LENGTHS, replaces="lengths", inputs=lambda inputs, _: _whole(inputs)),
    Variant("lengths-of-first-row", "the first row's {lengths} used for every row", needs=("lengths",),
            links=LENGTHS, replaces="lengths", inputs=_lengths(lambda n, _: np.broadcast_to(n[..., :1], n.shape))),
    Variant("lengths-of-longest-row", "the longest row's length used for every row", needs=("lengths",),
            replaces="lengths", inputs=lambda inputs, _: _longest(inputs)),
    Variant("lengths-one-short", "every row one step too short", needs=("lengths",),
            replaces="lengths", inputs=_lengths(lambda n, _: np.maximum(n - 1, 0))),
    Variant("lengths-one-long", "every row one step too long, up to the time axis", needs=("lengths",),
            replaces="lengths", inputs=_lengths(lambda n, time: np.minimum(n + 1, time))),
    Variant("length-0-as-1", "a row of length 0 computed as one of length 1", needs=("lengths.0",),
            replaces="lengths", inputs=_lengths(lambda n, _: np.maximum(n, 1))),
    Variant("length-0-as-whole", "a row of length 0 computed over the whole time axis", needs=("lengths.0",),
            replaces="lengths", inputs=_lengths(lambda n, time: np.where(n == 0, time, n))),
    Variant("Y-not-zeroed", "{y} not zeroed past a row's length: forward steps go on there", ledger="y-padding", needs=("lengths",),
            outputs=_not_zeroed),
    Variant("Y-zeroed-only", "every step computed, padding included, and {y} zeroed past a row's length afterwards",
            needs=("lengths",), links=LENGTHS, outputs=_zeroed_only(_whole)),
    Variant("Y-holds-last-state", "{y} past a row's length holds its last state instead of zeros",
            ledger="y-padding", needs=("lengths",), outputs=_last_state_past),
    Variant("masked-output-repeated", "{y} at masked steps holds the state before, although {y_padding} is set",
            needs=("mask", "y_padding"), semantics=_padded("repeated")),
    Variant("masked-output-zero", "{y} zero at masked steps, although {y_padding} is not set",
            ledger="masked-output", needs=("mask", "y_padding"), semantics=_padded("zeros")),
    Variant("masked-row-zero", "{ho} of a row that is masked throughout zero instead of its {h0}",
            ledger="zero-row", needs=("mask",), semantics=lambda s: replace(s, empty_row="zeros")),
    Variant("masked-last-zero", "the last {y} zero where the last step is masked and {y_padding} is set",
            needs=("mask", "y_padding", "sequence"), last=_last_of_mask),
    Variant("mask-not-turned", "{y} of reverse zero where {lengths} masks the time of the same number",
            needs=("mask", "y_padding", "direction"), outputs=_zero_at_mask_in_time),
    Variant("padding-behind-assumed", "the steps of every row taken from the start of the time axis",
            needs=("mask",), inputs=lambda inputs, _: replace(inputs, starts=np.zeros_like(inputs.starts))),
    Variant("Ho-of-last-step", "{ho} taken from the last step of the time axis in {y}", needs=("axis.time", "y.time"),
            links=LENGTHS, outputs=_ho_at(lambda _, time, __: np.array(time - 1))),
    Variant("Ho-of-last-valid-step", "{ho} taken from {y} at the row's last valid time, in reverse too",
            ledger="reverse-ragged", needs=("direction", "y.time"), outputs=_ho_at(lambda n, _, __: n - 1)),
    Variant("Ho-of-first-step", "{ho} taken from {y} at time 0", needs=("axis.time",),
            outputs=_ho_at(lambda _, __, ___: np.array(0))),
    Variant("Ho-one-step-early", "{ho} holds the state before the last step instead of after it", needs=("axis.time",),
            outputs=lambda seen: (seen.y, _state_before_last(seen))),
    Variant("last-output-in-time-order", "the last {y} of reverse taken from the end of the sequence in the order of time",
            needs=("direction", "sequence"), last=_last_in_time),
    Variant("rows-left-sorted", "rows sorted by length for packing, and not put back", needs=("lengths",),
            outputs=lambda seen: (_by_length(seen, seen.y), _by_length(seen, seen.ho))),
)  # fmt: skip
"""The first state, directions, lengths, padding, and where Y and Ho are taken from."""
ELSEWHERE = (
    Variant("x-one-late", "{x} of the step before taken", needs=("axis.time",), between_steps=True,
            replaces="x", inputs=_x_of(lambda n: n - 1, steps=True)),
    Variant("x-one-early", "{x} of the step after taken", needs=("axis.time",), between_steps=True,
            replaces="x", inputs=_x_of(lambda n: n + 1, steps=True)),
    Variant("x-of-time-before", "{x} of the time before taken", needs=("axis.time",), between_steps=True,
            replaces="x", inputs=_x_of(lambda n: n - 1, steps=False)),
    Variant("x-of-time-after", "{x} of the time after taken", needs=("axis.time",), between_steps=True,
            replaces="x", inputs=_x_of(lambda n: n + 1, steps=False)),
    Variant("x-of-first-step", "{x} of the first step taken for every step", needs=("axis.time",), between_steps=True,
            replaces="x", inputs=_x_of(lambda n: 0 * n, steps=True)),
    Variant("steps-up-to-1", "no more than the first step taken", needs=("axis.time",), between_steps=True,
            replaces="lengths", inputs=_lengths(lambda n, _: np.minimum(n, 1))),
    Variant("lengths-past-1-one-short", "every row of two or more steps one step too short", needs=("axis.time",),
            between_steps=True, replaces="lengths", inputs=_lengths(lambda n, _: np.where(n > 1, n - 1, n))),
    *(
        Variant(f"lengths-of-{row}", f"{{lengths}} of {whose} used for each row", needs=("lengths",), between_steps=True,
                replaces="lengths", inputs=_lengths(_rolled(by)))
        for row, whose, by in (("next-row", "the next row", -1), ("row-before", "the row before", 1))
    ),
    Variant("Y-zeroed-to-longest", "every row computed as long as the longest, and {y} zeroed past its length afterwards",
            needs=("lengths",), outputs=_zeroed_only(_longest)),
    Variant("Y-holds-h0", "{y} past a row's length holds {h0} instead of zeros", ledger="y-padding", needs=("lengths",),
            outputs=_first_state_past),
    Variant("Y-holds-carried-state", "{y} past a row's length holds the state that a masked loop carries there: the last one, "
            "and {h0} in reverse", ledger="y-padding", needs=("lengths", "direction"), outputs=_carried_past),
    Variant("h0-past-first-row-ignored", "{h0} ignored in the rows past the first, zeros used", between_steps=True,
            inputs=_h0(lambda h, _: np.where(np.arange(h.shape[2])[:, None] > 0, 0, h))),
    Variant("h0-of-first-row", "{h0} of the first row of the batch used for every row", between_steps=True,
            inputs=_h0(lambda h, _: _first_of_batch(h))),
    Variant("h0-left-unsorted", "rows sorted by length, the longest first, and {h0} not sorted with them",
            needs=("lengths",), between_steps=True, inputs=_unsorted_h0),
    Variant("reverse-from-longest", "reverse started at the end of the longest row instead of the row's own end",
            needs=("direction", "lengths"), between_steps=True, semantics=_worded({"reverse": "reverse-longest"})),
    Variant("second-from-first", "the second direction started from the last state of the first",
            needs=("axis.direction",), outputs=_second_from_first),
    Variant("each-from-h0", "every step started from {h0} instead of the state before it", needs=("axis.time",),
            between_steps=True, advance=_each_from_h0),
    Variant("Ho-of-longest-end", "{ho} taken from {y} at the time where the longest row ends",
            needs=("lengths", "y.time"), outputs=_ho_at(lambda n, _, __: n.max(axis=-1, keepdims=True) - 1)),
    Variant("Y-left-sorted", "rows sorted by length, and not put back in {y}", needs=("lengths",),
            outputs=lambda seen: (_by_length(seen, seen.y), seen.ho)),
    Variant("Ho-left-sorted", "rows sorted by length, and not put back in {ho}", needs=("lengths",),
            outputs=lambda seen: (seen.y, _by_length(seen, seen.ho))),
    Variant("Y-before-step", "{y} holds the state before each step instead of after it", needs=("axis.time",),
            outputs=_before),
    Variant("Y-one-late", "{y} written one time late, after zeros", needs=("axis.time",),
            outputs=lambda seen: (np.concatenate([0 * seen.y[..., :1, :], seen.y[..., :-1, :]], axis=-2), seen.ho)),
    Variant("Y-of-first-row", "{y} of the first row of the batch written for every row", needs=("axis.time",),
            outputs=lambda seen: (_first_of_batch(seen.y), seen.ho)),
    Variant("Ho-of-first-row", "{ho} of the first row of the batch written for every row",
            outputs=lambda seen: (seen.y, _first_of_batch(seen.ho))),
    Variant("Y-of-first-direction", "the first direction's {y} handed out for both", needs=("axis.direction", "axis.time"),
            outputs=lambda seen: (first_direction(seen.y), seen.ho)),
    Variant("Ho-of-row-before-empty", "{ho} of a row of length 0 left as that of the row before it", needs=("lengths.0",),
            outputs=_empty_kept),
    Variant("Ho-of-first-direction", "the first direction's {ho} handed out for both", needs=("axis.direction",),
            outputs=lambda seen: (seen.y, first_direction(seen.ho))),
    Variant("Y-zero", "{y} left zero", needs=("axis.time",), outputs=lambda seen: (0 * seen.y, seen.ho)),
    Variant("Ho-zero", "{ho} left zero", outputs=lambda seen: (seen.y, 0 * seen.ho)),
    Variant("Ho-h0", "{h0} handed out as {ho}", needs=("axis.time",),
            outputs=lambda seen: (seen.y, seen.inputs.h0.astype(np.float64))),
)  # fmt: skip
"""Inputs of other steps, first states of others, outputs of other rows, times and steps."""

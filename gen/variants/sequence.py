"""Variants of time: lengths, directions, the first state, and what Y and Ho hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import in_order, processing_order
from .variant import Evaluated, Outputs, Variant

LENGTHS = (
    "https://github.com/onnx/onnx-tensorflow/issues/342",
    "https://github.com/apache/mxnet/issues/19323",
    "https://github.com/onnx/onnx-mlir/pull/2479",
)


def _lengths(
    change: Callable[[Array, int], Array],
) -> Callable[[GruInputs, StackedSemantics], GruInputs]:
    """Other lengths, as a function of the lengths and of the time axis."""
    return lambda inputs, _: replace(
        inputs, lengths=np.asarray(change(inputs.lengths, inputs.x.shape[-2]))
    )


def _worded(words: Mapping[str, str]) -> Callable[[StackedSemantics], StackedSemantics]:
    """Directions by other words."""

    def change(s: StackedSemantics) -> StackedSemantics:
        directions = tuple(tuple(words.get(w, w) for w in one) for one in s.directions)
        return replace(s, directions=directions)  # type: ignore[arg-type]

    return change


def _h0(
    change: Callable[[Array, Array], Array],
) -> Callable[[GruInputs, StackedSemantics], GruInputs]:
    """Another first state, as a function of it and of which directions are reverse (n, direction, 1, 1)."""

    def changed(inputs: GruInputs, s: StackedSemantics) -> GruInputs:
        reverse = s.backwards[..., None, None]
        return replace(inputs, h0=np.asarray(change(inputs.h0, reverse)))

    return changed


def _flipped(array: Array, axis: int) -> Array:
    return np.asarray(np.flip(array, axis))


def _processing(seen: Evaluated) -> Outputs:
    """Y as its steps were taken: for reverse, the first step first."""
    y = np.empty_like(seen.y)
    for d, direction in enumerate(seen.semantics.directions):
        order = processing_order(direction, seen.inputs.lengths, y.shape[-2])
        y[:, d] = in_order(seen.y[:, d], order)
    return y, seen.ho


def past(seen: Evaluated) -> Array:
    """(n, 1, batch, time, 1): past the row's length."""
    at = np.arange(seen.y.shape[-2])
    return np.asarray((at >= seen.inputs.lengths[..., None])[:, None, :, :, None])


def _whole(inputs: GruInputs) -> GruInputs:
    """Every row as long as the time axis."""
    return replace(inputs, lengths=np.full_like(inputs.lengths, inputs.x.shape[-2]))


def _not_zeroed(seen: Evaluated) -> Outputs:
    y, _ = seen.again(_whole(seen.inputs))
    forward = ~seen.semantics.backwards[:, :, None, None, None]
    return np.where(past(seen) & forward, y, seen.y), seen.ho


def _zeroed_only(seen: Evaluated) -> Outputs:
    """All steps are taken, and Y is zeroed past the length."""
    y, ho = seen.again(_whole(seen.inputs))
    return np.where(past(seen), 0.0, y), ho


def _last_state_past(seen: Evaluated) -> Outputs:
    return np.where(past(seen), seen.ho[..., None, :], seen.y), seen.ho


def _ho_at(place: Callable[[Array, int, Array], Array]) -> Callable[[Evaluated], Outputs]:
    """Ho taken from Y at a time that is a function of the lengths, the time axis and reverse."""

    def change(seen: Evaluated) -> Outputs:
        time = seen.y.shape[-2]
        at = place(seen.inputs.lengths[:, None, :], time, seen.semantics.backwards[:, :, None])
        at = np.clip(np.broadcast_to(at, seen.y.shape[:3]), 0, time - 1)
        return seen.y, np.take_along_axis(seen.y, at[..., None, None], axis=-2)[..., 0, :]

    return change


def _last_in_time(seen: Evaluated) -> Array:
    """The last state in the order of time: of reverse, that of the first step taken."""
    at = 0 if seen.semantics.y_order == "processing" else -1
    return np.where(seen.semantics.backwards[:, :, None, None], seen.y[..., at, :], seen.ho)


def _first_row(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    x, h0 = inputs.x.copy(), inputs.h0.copy()
    x[:], h0[:] = x[:, :1], h0[:, :, :1]
    return replace(inputs, x=x, h0=h0)


def _carried_over(seen: Evaluated) -> Outputs:
    """Each row starts from the state that the row before it ended in."""
    h0 = seen.inputs.h0.astype(np.float64)
    y, ho = seen.y, seen.ho
    for row in range(1, h0.shape[2]):
        empty = seen.inputs.lengths[:, None, row - 1, None] == 0
        h0[:, :, row] = np.where(empty, h0[:, :, row - 1], ho[:, :, row - 1])
        y, ho = seen.again(replace(seen.inputs, h0=h0.copy()))
    return y, ho


def _sorted_rows(seen: Evaluated) -> Outputs:
    """Rows sorted by length, the longest first, for packing, and not sorted back."""
    order = np.argsort(-seen.inputs.lengths, axis=-1, kind="stable")[:, None, :]
    return (
        np.take_along_axis(seen.y, order[..., None, None], axis=2),
        np.take_along_axis(seen.ho, order[..., None], axis=2),
    )


SEQUENCE_VARIANTS = (
    Variant("h0-ignored", "{h0} ignored, zeros used", inputs=_h0(lambda h, _: np.zeros_like(h))),
    Variant("h0-ignored-in-reverse", "{h0} ignored in reverse, zeros used", needs=("direction",),
            inputs=_h0(lambda h, reverse: np.where(reverse, 0, h))),
    Variant("h0-directions-exchanged", "the {h0} of the two directions exchanged",
            ledger="bidi-layout", needs=("axis.direction",), inputs=_h0(lambda h, _: _flipped(h, 1))),
    Variant("row-reused", "the first row of the batch computed for every row", inputs=_first_row),
    Variant("state-carried-over", "the state not reset between the rows of the batch", outputs=_carried_over),
    Variant("reverse-ignored", "reverse computed as forward", needs=("direction",), links=LENGTHS,
            semantics=_worded({"reverse": "forward"})),
    Variant("reverse-assumed", "forward computed as reverse", needs=("direction",),
            semantics=_worded({"forward": "reverse"})),
    Variant("reverse-from-padding", "reverse started at the end of the time axis instead of the row's own end",
            ledger="reverse-ragged", needs=("direction", "lengths"), links=LENGTHS, semantics=_worded({"reverse": "reverse-padded"})),
    Variant("Y-in-processing-order", "{y} of reverse left in the order of processing", ledger="reverse-ragged", needs=("direction", "y.time"),
            links=("https://github.com/webmachinelearning/webnn-baseline/pull/124",), outputs=_processing),
    Variant("Y-directions-exchanged", "the two directions exchanged in {y}", ledger="bidi-layout", needs=("axis.direction",),
            outputs=lambda seen: (_flipped(seen.y, 1), seen.ho)),
    Variant("Ho-directions-exchanged", "the two directions exchanged in {ho}", ledger="bidi-layout", needs=("axis.direction",),
            outputs=lambda seen: (seen.y, _flipped(seen.ho, 1))),
    Variant("lengths-ignored", "{lengths} ignored, every row as long as the time axis", needs=("lengths",),
            links=LENGTHS, inputs=lambda inputs, _: _whole(inputs)),
    Variant("lengths-of-first-row", "the first row's {lengths} used for every row", needs=("lengths",),
            links=LENGTHS, inputs=_lengths(lambda n, _: np.broadcast_to(n[..., :1], n.shape))),
    Variant("lengths-of-longest-row", "the longest row's length used for every row", needs=("lengths",),
            inputs=_lengths(lambda n, _: np.broadcast_to(n.max(-1, keepdims=True), n.shape))),
    Variant("lengths-one-short", "every row one step too short", needs=("lengths",),
            inputs=_lengths(lambda n, _: np.maximum(n - 1, 0))),
    Variant("lengths-one-long", "every row one step too long, up to the time axis", needs=("lengths",),
            inputs=_lengths(lambda n, time: np.minimum(n + 1, time))),
    Variant("length-0-as-1", "a row of length 0 computed as one of length 1", needs=("lengths",),
            inputs=_lengths(lambda n, _: np.maximum(n, 1))),
    Variant("length-0-as-whole", "a row of length 0 computed over the whole time axis", needs=("lengths",),
            inputs=_lengths(lambda n, time: np.where(n == 0, time, n))),
    Variant("Y-not-zeroed", "{y} not zeroed past a row's length: forward steps go on there", ledger="y-padding", needs=("lengths",),
            outputs=_not_zeroed),
    Variant("Y-zeroed-only", "every step computed, padding included, and {y} zeroed past a row's length afterwards",
            needs=("lengths",), links=LENGTHS, outputs=_zeroed_only),
    Variant("Y-holds-last-state", "{y} past a row's length holds its last state instead of zeros",
            ledger="y-padding", needs=("lengths",), outputs=_last_state_past),
    Variant("Ho-of-last-step", "{ho} taken from the last step of the time axis in {y}", needs=("axis.time", "y.time"),
            links=LENGTHS, outputs=_ho_at(lambda _, time, __: np.array(time - 1))),
    Variant("Ho-of-last-valid-step", "{ho} taken from {y} at the row's last valid time, in reverse too",
            ledger="reverse-ragged", needs=("direction", "y.time"), outputs=_ho_at(lambda n, _, __: n - 1)),
    Variant("Ho-of-first-step", "{ho} taken from {y} at time 0", needs=("axis.time",),
            outputs=_ho_at(lambda _, __, ___: np.array(0))),
    Variant("Ho-one-step-early", "{ho} taken one step before the last", needs=("axis.time",),
            outputs=_ho_at(lambda n, _, reverse: np.where(reverse, 1, n - 2))),
    Variant("last-output-in-time-order", "the last {y} of reverse taken from the end of the sequence in the order of time",
            needs=("direction", "sequence"), last=_last_in_time),
    Variant("rows-left-sorted", "rows sorted by length for packing, and not put back", needs=("lengths",),
            outputs=_sorted_rows),
)  # fmt: skip
"""The first state, directions, lengths, padding, and where Y and Ho are taken from."""

"""Masks: rows of steps anywhere on the time axis, and what Y holds where a row has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grucible.cases.dtypes import Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.layout import GruInputs, gru_inputs, mask_of, mask_rows
from grucible.cases.question import QuestionError, pose
from grucible.gen.gru import in_order, in_time, processing_order, step_numbers
from grucible.gen.posed import answered_case

KERAS = OPERATORS["keras.GRU"]
KERNEL, RECURRENT = np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, Any, Any]:
    """The length of a time axis, and rows on it: lengths and starts."""
    time = draw(st.integers(1, 6))
    lengths = np.array(draw(st.lists(st.integers(0, time), min_size=1, max_size=4)))
    starts = np.array([draw(st.integers(0, time - length)) for length in lengths])
    return time, lengths, np.where(lengths > 0, starts, 0)


@given(rows())
def test_a_mask_says_the_lengths_and_starts_that_it_is_made_of(given: Any) -> None:
    time, lengths, starts = given
    mask = mask_of(lengths, starts, time)
    found = mask_rows(mask)
    assert [array.tolist() for array in found] == [lengths.tolist(), starts.tolist()]
    for row, length, start in zip(mask, lengths, starts, strict=True):
        assert np.flatnonzero(row).tolist() == [*range(start, start + length)]


@given(rows(), st.sampled_from(["forward", "reverse"]))
def test_steps_are_put_in_order_and_back(given: Any, direction: str) -> None:
    time, lengths, starts = given
    x = np.arange(len(lengths) * time, dtype=float).reshape(len(lengths), time, 1)
    inputs = GruInputs(x, x, lengths, starts, {}, {}, {})
    order = processing_order(step_numbers(direction, inputs, time), lengths)
    steps = in_order(x, order)
    assert in_time(steps, order).tolist() == x.tolist()
    for row, (length, start) in enumerate(zip(lengths, starts, strict=True)):
        mine = x[row, start : start + length]
        taken = mine if direction == "forward" else mine[::-1]
        assert steps[row, :length].tolist() == taken.tolist()


def outputs(mask: list[int], reading: tuple[str, ...] = (), **given: Any) -> tuple[Any, Any]:
    """Output and state of a GRU that halves the sum of its state and of x = 2, 4, 8, …, from state 64."""
    attributes = {"units": 1, "activation": "linear", "return_sequences": True, **given}
    inputs = {
        "inputs": np.array([[[2.0 ** (time + 1)] for time in range(len(mask))]], np.float32),
        "initial_state": np.array([[64.0]], np.float32),
        "mask": np.array([mask], bool),
        "kernel": KERNEL,
        "recurrent_kernel": RECURRENT,
    }
    case = answered_case(pose(KERAS, attributes, inputs))
    found = case.answers[reading]
    for (
        name,
        array,
    ) in found.outputs.items():  # a repeated element has the tolerance of what it repeats
        limits = found.tolerances["float32"][name].ravel()
        for one in set(array.ravel().tolist()) - {0.0}:
            assert len({*limits[array.ravel() == one].tolist()}) == 1
    return found.outputs["output"].ravel().tolist(), found.outputs["state"].ravel().tolist()


FIRST = ("leading-mask.initial-state",)
# forward, 0110: x 4, 8: (64 + 4)/2 = 34, (34 + 8)/2 = 21; backwards: (64 + 8)/2 = 36, (36 + 4)/2 = 20
BOTH = [
    ([0, 1, 1, 0], {}, (), [0, 34, 21, 21], 21),
    ([0, 1, 1, 0], {}, FIRST, [64, 34, 21, 21], 21),
    ([0, 1, 1, 0], {"zero_output_for_mask": True}, (), [0, 34, 21, 0], 21),
    ([0, 1, 1, 0], {"go_backwards": True}, (), [0, 36, 20, 20], 20),
    ([0, 1, 1, 0], {"go_backwards": True}, FIRST, [64, 36, 20, 20], 20),
    ([1, 1, 0, 0], {"go_backwards": True}, (), [0, 0, 34, 18], 18),
    ([0, 0, 1, 1], {"go_backwards": True}, (), [40, 24, 24, 24], 24),
    ([0, 0, 0, 0], {}, (), [0, 0, 0, 0], 64),
    ([0, 0, 0, 0], {}, FIRST, [64, 64, 64, 64], 64),
    ([1, 1, 0, 0], {"return_sequences": False}, (), [18.5], 18.5),
]


@pytest.mark.parametrize(("mask", "given", "reading", "output", "state"), BOTH)
def test_what_the_output_holds(
    mask: Any, given: Any, reading: Any, output: Any, state: Any
) -> None:
    assert outputs(mask, reading, **given) == (output, [state])


def test_other_masks_are_refused() -> None:
    with pytest.raises(QuestionError, match="steps apart"):
        outputs([1, 0, 1])
    with pytest.raises(QuestionError, match="no last output"):
        outputs([0, 0], return_sequences=False)


def test_without_a_mask_every_row_is_whole() -> None:
    weights = {"kernel": np.array(KERNEL), "recurrent_kernel": np.array(RECURRENT)}
    inputs: Arrays = {"inputs": np.ones((2, 3, 1)), **weights}
    shared = gru_inputs(KERAS, KERAS.with_defaults({"units": 1}), inputs)
    assert (shared.lengths.tolist(), shared.starts.tolist()) == ([3, 3], [0, 0])

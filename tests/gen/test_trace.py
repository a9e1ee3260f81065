"""The exact quantities of every step, against scalars of 300 bits; and the states, against the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from posing import questions
from shipped import core_cases

from grucible import GrucibleError, Question, trace
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.layout import GruInputs, gru_inputs, shared_outputs
from grucible.gen.exact import enclosures
from grucible.gen.exact.answers import DirectionTrace, exact_trace
from grucible.gen.posed import answered_case
from oracle import MPMATH, Vector, quantities, round_once

QUANTITIES = ("a_z", "a_r", "a_h", "z", "r", "t", "u", "state")
KNOWN = ("relu", "sigmoid", "tanh")
"""The functions that the scalar oracle has."""


def vector(row: Any) -> Vector:
    return [MPMATH.exact(float(entry)) for entry in row]


def scalar_steps(
    question: Question, given: GruInputs, index: int, row: int
) -> Iterator[tuple[int, dict[str, Vector]]]:
    """The time and the quantities of each step of a row, in the order of processing."""
    meant = question.semantics
    hidden = given.h0.shape[-1]
    W, R = ([vector(m) for g in "zrh" for m in of[g][index]] for of in (given.w, given.r))

    def bias(*parts: str) -> Vector:
        present = [vector(given.b[part][index]) for part in parts if part in given.b]
        return [sum((one[j] for one in present), MPMATH.exact(0.0)) for j in range(hidden)]

    B = bias("z", "wz", "rz") + bias("r", "wr", "rr")
    B += bias("h", "wh") + bias("rh") if meant.reset_after else bias("h", "wh", "rh")
    asked = {
        "activations": (meant.f[index].name, meant.g[index].name),
        "clip": meant.clip,
        "linear_before_reset": meant.reset_after,
    }
    first = int(given.starts[row])
    times = range(first, first + int(given.lengths[row]))
    h = vector(given.h0[index, row])
    for at in reversed(times) if meant.directions[index] == "reverse" else times:
        found = quantities(vector(given.x[row, at]), h, W, R, B, asked, MPMATH)
        h = found["state"]
        yield at, found


@settings(max_examples=60)
@given(questions(functions=KNOWN))
def test_every_quantity_is_that_of_scalars_rounded_once(question: Question) -> None:
    """A row that is over has no time and no numbers; the states are those of the answer, bit by bit."""
    operator = OPERATORS[question.operator]
    inputs = gru_inputs(operator, question.attributes, question.inputs)
    stored = shared_outputs(operator, question.attributes, answered_case(question).answer.outputs)
    traced = exact_trace(operator, question.attributes, question.dtype, question.inputs)
    for index, one in enumerate(traced):
        assert one.lengths.tolist() == inputs.lengths.tolist()
        over = np.arange(one.time.shape[1]) >= inputs.lengths[:, None]
        assert ((one.time == -1) == over).all()
        for name in QUANTITIES:
            np.testing.assert_array_equal(np.isnan(getattr(one, name)).any(axis=-1), over)
        for row, length in enumerate(one.lengths.tolist()):
            expected = [*scalar_steps(question, inputs, index, row)]
            assert one.time[row, :length].tolist() == [at for at, _ in expected]
            for number, (_, scalars) in enumerate(expected):
                for name, values in scalars.items():
                    rounded = [round_once(value, question.dtype) for value in values]
                    seen = getattr(one, name)
                    assert seen.dtype == rounded[0].dtype
                    assert seen[row, number].tolist() == rounded, (number, name)
            for ours, theirs in states_of_answers(question, stored, one, index, row):
                assert ours.tobytes() == theirs.tobytes()


def states_of_answers(
    question: Question, stored: Any, one: DirectionTrace, index: int, row: int
) -> Iterator[tuple[Any, Any]]:
    """Pairs of states of a row of the trace and the same of the answer."""
    length = int(one.lengths[row])
    if length and "ho" in stored:
        yield one.state[row, length - 1], stored["ho"][index, row]
    if "y" in stored:
        at = one.time[row, :length]
        if question.semantics.y_order == "processing" and one.direction != "forward":
            at = stored["y"].shape[-2] - 1 - at
        yield one.state[row, :length], stored["y"][index, row, at]


def test_a_reading_is_followed() -> None:
    names = ("reset-false.before",)
    case = next(case for case in core_cases() if names in case.answers)
    [one] = trace(case, names).directions
    assert one.u[:, 0].tolist() == one.h0.tolist()
    stored = shared_outputs(OPERATORS[case.operator], case.attributes, case.answers[names].outputs)
    last = one.state[np.arange(len(one.lengths)), one.lengths - 1]
    assert last.tobytes() == stored["ho"][0].tobytes()
    assert trace(case).directions[0].u[:, 0].tolist() != one.h0.tolist()


def test_a_tie_between_two_numbers_goes_to_even() -> None:
    """Balls of float64 numbers leave it open whether a pre-activation is above or below the middle."""
    half = np.float16(2.0**-11)  # of the distance from 1 to the next number
    W = np.array([[1, half], [1, 3 * half], [0, 0]], np.float16)
    zeros = np.zeros((1, 1), np.float16)
    inputs = {"X": np.ones((1, 2), np.float16), "initial_hidden_state": zeros, "W": W,
              "R": np.zeros((3, 1), np.float16), "B": np.zeros(3, np.float16)}  # fmt: skip
    operator = OPERATORS["openvino.GRUCell-3"]
    [one] = exact_trace(operator, operator.with_defaults({"hidden_size": 1}), "float16", inputs)
    assert one.a_z.ravel().tolist() == [1.0]
    assert one.a_r.ravel().tolist() == [1.0 + 2.0**-9]
    assert one.z.ravel().tolist() == [round_once(sigmoid(1 + 2.0**-11), "float16")]


def sigmoid(value: float) -> Any:
    return MPMATH.activation("sigmoid", MPMATH.exact(value))


def test_what_no_precision_decides_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(
        case for case in core_cases() if case.id.startswith("openvino.GRUCell-3/core/float32")
    )
    [exact] = trace(case).directions
    monkeypatch.setattr(enclosures, "FIRST_BITS", 4)
    [from_few_bits] = trace(case).directions
    for name in QUANTITIES:
        assert from_few_bits.arrays[name].tobytes() == exact.arrays[name].tobytes()
    monkeypatch.setattr(enclosures, "MOST_BITS", 4)
    with pytest.raises(GrucibleError, match="too close to the middle between two numbers of"):
        trace(case)

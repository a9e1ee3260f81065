"""The exact quantities of every step, against scalars of 300 bits; and the states, against the answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import Case, GrucibleError, trace
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.layout import GruInputs, gru_inputs, shared_outputs
from grucible.gen.exact import enclosures
from grucible.gen.exact.answers import DirectionTrace, exact_trace
from oracle import MPMATH, Vector, quantities, round_once

KINDS = [(name, dtype) for name, operator in OPERATORS.items() for dtype in operator.dtypes()]
QUANTITIES = ("a_z", "a_r", "a_h", "z", "r", "t", "u", "state")
EACH = 12
"""Cases taken of an operator and dtype, spread by a hash of their ids."""


@cache
def cases(operator: str, dtype: str) -> list[Case]:
    """Some core cases whose functions the scalar oracle has."""
    known = {"relu", "sigmoid", "tanh"}
    found = [
        case
        for case in core_cases()
        if (case.operator, case.dtype) == (operator, dtype)
        and {one.name for one in (*case.semantics.f, *case.semantics.g)} <= known
    ]
    found.sort(key=lambda case: hashlib.sha256(case.id.encode()).digest())
    assert len(found) > EACH
    return found[:EACH]


def shared(case: Case) -> GruInputs:
    return gru_inputs(OPERATORS[case.operator], case.attributes, case.inputs)


def vector(row: Any) -> Vector:
    return [MPMATH.exact(float(entry)) for entry in row]


def scalar_steps(case: Case, index: int, row: int) -> Iterator[tuple[int, dict[str, Vector]]]:
    """The time and the quantities of each step of a row, in the order of processing."""
    given, meant = shared(case), case.semantics
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
    times = range(int(given.lengths[row]))
    h = vector(given.h0[index, row])
    for at in reversed(times) if meant.directions[index] == "reverse" else times:
        found = quantities(vector(given.x[row, at]), h, W, R, B, asked, MPMATH)
        h = found["state"]
        yield at, found


@pytest.mark.parametrize(("operator", "dtype"), KINDS)
def test_every_quantity_is_that_of_scalars_rounded_once(operator: str, dtype: str) -> None:
    for case in cases(operator, dtype)[:3]:
        for index, one in enumerate(trace(case).directions):
            for row, length in enumerate(one.lengths.tolist()):
                expected = list(scalar_steps(case, index, row))
                assert one.time[row, :length].tolist() == [at for at, _ in expected]
                for number, (_, scalars) in enumerate(expected):
                    for name, values in scalars.items():
                        rounded = [round_once(value, dtype) for value in values]
                        seen = getattr(one, name)
                        assert seen.dtype == rounded[0].dtype
                        assert seen[row, number].tolist() == rounded, (case.id, number, name)


def states_of_answers(case: Case, one: DirectionTrace, index: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of states of the trace and the same of the stored answer."""
    stored = shared_outputs(OPERATORS[case.operator], case.attributes, case.answer.outputs)
    for row, length in enumerate(one.lengths.tolist()):
        if length and "ho" in stored:
            yield one.state[row, length - 1], stored["ho"][index, row]
        if "y" in stored:
            processed = case.semantics.y_order == "processing"
            at = np.arange(length) if processed else one.time[row, :length]
            yield one.state[row, :length], stored["y"][index, row, at]


@pytest.mark.parametrize(("operator", "dtype"), KINDS)
def test_the_states_are_the_answers_bit_by_bit(operator: str, dtype: str) -> None:
    for case in cases(operator, dtype):
        for index, one in enumerate(trace(case).directions):
            for ours, stored in states_of_answers(case, one, index):
                assert ours.tobytes() == stored.tobytes(), case.id


def test_a_row_that_is_over_has_no_time_and_no_numbers() -> None:
    case = next(case for case in core_cases() if 0 in shared(case).lengths and "reverse" in case.id)
    lengths = shared(case).lengths
    for one in trace(case).directions:
        assert one.lengths.tolist() == lengths.tolist()
        over = np.arange(one.time.shape[1]) >= lengths[:, None]
        assert over.any()
        assert ((one.time == -1) == over).all()
        for name in QUANTITIES:
            np.testing.assert_array_equal(np.isnan(getattr(one, name)).all(axis=-1), over)
        assert not any(np.isnan(getattr(one, name)[~over]).any() for name in QUANTITIES)


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
    case = cases("openvino.GRUCell-3", "float32")[0]
    [exact] = trace(case).directions
    monkeypatch.setattr(enclosures, "FIRST_BITS", 4)
    [from_few_bits] = trace(case).directions
    for name in QUANTITIES:
        assert from_few_bits.arrays[name].tobytes() == exact.arrays[name].tobytes()
    monkeypatch.setattr(enclosures, "MOST_BITS", 4)
    with pytest.raises(GrucibleError, match="too close to the middle between two numbers of"):
        trace(case)

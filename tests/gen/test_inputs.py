"""Inputs: the same on every machine, dyadic, full-mantissa, asymmetric, and able to show mistakes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from drawn import drawn_block
from shipped import specs

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.cases.specs.expand import CaseSpec, expand
from grucible.gen.answering import overflows
from grucible.gen.drawing import draw_inputs
from grucible.gen.posed import answer
from grucible.gen.stacks import stacks

SPECS = specs()
CORE = expand(SPECS["openvino/gru_sequence/core"])


def bits(value: Any, dtype: str) -> int:
    """How many bits the odd part of a number has."""
    n = abs(Fraction(float(value))).numerator
    while n and n % 2 == 0:
        n //= 2
    assert n.bit_length() <= FLOAT_TYPES[dtype].precision
    return n.bit_length()


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_full_mantissa_nonzero_and_in_range(dtype: str) -> None:
    case = next(c for c in CORE if c.dtype == dtype and "relu_" not in c.id)
    arrays = draw_inputs(case, seed=0, attempt=0)
    bounds = {
        "X": 2,
        "initial_hidden_state": 1,
        "B": 1,
        "W": 0.5,
        "R": 0.5,
    }  # ½ log2 5, ½ log2 6: 1
    for name, bound in bounds.items():
        values = arrays[name].astype(np.float64)
        assert (values != 0).all()
        assert (np.abs(values) < bound).all()
        assert np.abs(values).max() > bound / 2
        precision = FLOAT_TYPES[dtype].precision
        assert max(bits(v, dtype) for v in arrays[name].ravel()) == precision
        assert (values < 0).any()
        assert (values > 0).any()


def test_nothing_repeats_between_rows_gates_directions_and_tensors() -> None:
    case = next(c for c in CORE if c.dtype == "float64" and "bidirectional" in c.id)
    arrays = draw_inputs(case, seed=0, attempt=0)
    numbers = np.concatenate(
        [np.abs(a).ravel() for n, a in arrays.items() if a.dtype == np.float64]
    )
    assert len(np.unique(numbers)) == len(numbers)


def test_seed_attempt_and_id_each_change_every_number() -> None:
    case = next(c for c in CORE if c.dtype == "float64")
    other = next(
        c for c in CORE if c.dtype == "float64" and c.id != case.id and c.sizes == case.sizes
    )
    draws = [draw_inputs(case, 0, 0), draw_inputs(case, 1, 0), draw_inputs(case, 0, 1)]
    draws.append(draw_inputs(other, 0, 0))
    for one, two in itertools.combinations(draws, 2):
        assert not np.isin(one["X"], two["X"]).any()


@pytest.mark.parametrize("operator", ["openvino/gru_sequence", "onnx/gru"])
@pytest.mark.parametrize(
    ("draw", "rubbish"), [("padding-nan", np.isnan), ("padding-infinity", np.isinf)]
)
def test_rubbish_is_past_every_row_s_length_and_nowhere_else(
    operator: str, draw: str, rubbish: Any
) -> None:
    case = expand(SPECS[f"{operator}/special"], ["float32"], [f"*/reverse-*{draw}"])[0]
    drawn = draw_inputs(case, 0, 0)
    x = drawn.pop("X") if "openvino" in operator else drawn.pop("X").swapaxes(0, 1)
    past = np.arange(x.shape[1]) >= np.array(case.lengths)[:, None]
    assert case.lengths is not None
    assert 0 in case.lengths
    assert 0 < past.mean() < 1
    assert rubbish(x[past]).all()
    assert np.isfinite(x[~past]).all()
    assert all(np.isfinite(array).all() for array in drawn.values())


@pytest.mark.parametrize("operator", ["openvino/gru_sequence", "onnx/gru"])
def test_the_answer_knows_nothing_of_rubbish_past_a_row_s_length(operator: str) -> None:
    """It is that of finite numbers there, tolerances too."""
    cases = expand(SPECS[f"{operator}/special"], ["float32"], ["*padding-*"])
    for case in cases[::5]:
        [planted] = drawn_block([case], 0).cases()
        inputs = dict(planted.inputs)
        inputs["X"] = np.where(np.isfinite(inputs["X"]), inputs["X"], np.float32(0.5))
        question = replace(planted.question, inputs=inputs)
        right = answer(question, nonportable=True).answer
        for name, array in right.outputs.items():
            assert np.isfinite(array).all()
            np.testing.assert_array_equal(planted.answer.outputs[name], array)
            for one, limits in right.tolerances.items():
                np.testing.assert_array_equal(planted.answer.tolerances[one][name], limits[name])


def test_a_state_of_zeros_is_zeros_and_nothing_else_is() -> None:
    for path, name in (
        ("openvino/gru_cell/zero_state", "initial_hidden_state"),
        ("onnx/gru/zero_state", "initial_h"),
        ("bnnsgraph/gru/zero_state", "initialHiddenStates"),
    ):
        drawn = draw_inputs(expand(SPECS[path], ["float32"])[0], 0, 0)
        still = {n for n, array in drawn.items() if not array.any()}
        assert still == {name, "inputBias"} & set(drawn)


def test_a_draw_that_overflows_is_seen() -> None:
    # relu as f squares the state at every step: at X × 64 over 4 steps float16 overflows
    name = "openvino.GRUSequence-5/attributes/float16/forward-lbr-relu_relu"
    [case] = expand(SPECS["openvino/gru_sequence/attributes"], ["float16"], [name])
    drawn = draw_inputs(case, 0, 0)
    assert not _overflows(case, drawn)
    drawn["X"] = drawn["X"] * np.float16(64)
    assert "too near float16's overflow" in _overflows(case, drawn)[0]


def _overflows(case: CaseSpec, drawn: dict[str, Any]) -> dict[int, str]:
    inputs = {name: array[None] for name, array in drawn.items()}
    [stack] = stacks(OPERATORS[case.operator], [case.given], inputs)
    return overflows(stack, case.dtype)

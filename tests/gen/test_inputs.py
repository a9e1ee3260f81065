"""Inputs: the same on every machine, dyadic, full-mantissa, asymmetric, and able to show mistakes."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from drawn import drawn_block
from shipped import core_blocks, specs

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.cases.specs.expand import expand
from grucible.gen.answering import overflows, peaks
from grucible.gen.drawing import SMALLER, draw_inputs
from grucible.gen.posed import answered_case
from grucible.gen.stacks import stacks

SPECS = specs()
CORE = expand(SPECS["openvino/gru_sequence/core"])
BOUNDS = {"X": 2, "initial_hidden_state": 1, "B": 1, "W": 0.5, "R": 0.5}
"""Of five inputs and six units, the halves of whose logarithms are 1."""


def bits(value: Any, dtype: str) -> int:
    """How many bits the odd part of a number has."""
    n = abs(Fraction(float(value))).numerator
    while n and n % 2 == 0:
        n //= 2
    assert n.bit_length() <= FLOAT_TYPES[dtype].precision
    return n.bit_length()


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_full_mantissa_nonzero_and_in_range(dtype: str) -> None:
    """And nothing repeats between rows, gates, directions and tensors, where a dtype has numbers enough."""
    case = next(c for c in CORE if c.dtype == dtype and "bidi" in c.id and "relu_" not in c.id)
    arrays = draw_inputs(case, seed=0, attempt=0)
    for name, bound in BOUNDS.items():
        values = arrays[name].astype(np.float64)
        assert (values != 0).all()
        assert bound / 2 < np.abs(values).max() < bound
        assert max(bits(v, dtype) for v in arrays[name].ravel()) == FLOAT_TYPES[dtype].precision
        assert values.min() < 0 < values.max()
    numbers = np.concatenate([np.abs(arrays[name]).ravel() for name in BOUNDS])
    assert dtype != "float64" or len(np.unique(numbers)) == len(numbers)


def test_seed_attempt_and_id_each_change_every_number() -> None:
    case, *others = (c for c in CORE if c.dtype == "float64")
    other = next(one for one in others if one.sizes == case.sizes)
    asked = [(case, 0, 0), (case, 1, 0), (case, 0, 1), (other, 0, 0)]
    for one, two in itertools.combinations([draw_inputs(*of)["X"] for of in asked], 2):
        assert not np.isin(one, two).any()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_and_differences_of_two_biases_are_exact(dtype: str) -> None:
    cases = expand(SPECS["bnnsgraph/gru/core"], [dtype], ["*inputBias*"])
    drawn = draw_inputs(next(case for case in cases if "inputBias" not in case.zeros), 0, 0)
    a, b = (drawn[name].astype(np.float64) for name in ("bias", "inputBias"))
    for exact in (a + b, a - b):
        assert (exact.astype(dtype).astype(np.float64) == exact).all()
    assert a.all()
    assert b.all()


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
        right = answered_case(question, nonportable=True).answer
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


def test_a_scale_is_of_one_input_and_no_attempt_makes_it_smaller() -> None:
    """Each number is exactly so much larger, as far as its id draws others."""
    usual = next(case for case in CORE if case.dtype == "float32")
    for name, attempt in itertools.product(BOUNDS, (0, SMALLER)):
        larger = replace(usual, factors=usual.factors | {f"{name}_scale": 5})
        before, after = draw_inputs(usual, 0, attempt), draw_inputs(larger, 0, attempt)
        halved = 2 if attempt and name in ("W", "R") else 1
        for one in BOUNDS:
            factor = np.float32(32 * halved if one == name else 1)
            np.testing.assert_array_equal(after[one], factor * before[one])


@pytest.mark.parametrize("scale", [1.0, 64.0, 4096.0, np.nan])
def test_what_comes_near_overflow_is_what_a_run_shows(scale: float) -> None:
    """Most cases need no run, because their largest numbers bound all else."""
    near, unseen = Counter[bool](), 0
    for block in core_blocks():
        if block.ids[0].startswith(("onnx.GRU-14/core_magnitudes/", "webnn.gruCell/core/")):
            for stack in stacks(OPERATORS[block.operator], block.given, block.inputs):
                scaled = replace(
                    stack, inputs=replace(stack.inputs, x=scale * stack.inputs.x.astype(float))
                )
                shown = ~(peaks(scaled).peak < FLOAT_TYPES["float16"].largest / 4)
                assert sorted(overflows(scaled, "float16")) == np.flatnonzero(shown).tolist()
                near.update(shown.tolist())
                unseen += not overflows(scaled, "bfloat16")
    assert near[scale > 1.0 or np.isnan(scale)]
    assert bool(unseen) == np.isfinite(scale)


def test_what_comes_near_overflow_is_the_same_alone_and_in_a_stack() -> None:
    """A row that is over takes no more steps, however long others in the stack are."""
    uneven = 0
    for block in core_blocks()[::7]:
        for stack in stacks(OPERATORS[block.operator], block.given, block.inputs):
            together = peaks(stack)
            for place in range(len(stack)):
                alone = peaks(stack.only(np.array([place])))
                np.testing.assert_allclose(alone.peak, together.peak[[place]], 1e-12)
                np.testing.assert_allclose(alone.largest, together.largest[[place]], 1e-12)
            uneven += len({*map(bytes, stack.inputs.lengths)}) > 1
    assert uneven


def test_a_draw_that_overflows_is_seen() -> None:
    # relu as f squares the state at every step: at X × 64 over 4 steps float16 overflows
    name = "openvino.GRUSequence-5/attributes/float16/forward-lbr-relu_relu"
    [case] = expand(SPECS["openvino/gru_sequence/attributes"], ["float16"], [name])
    for factor, says in ((1, []), (64, ["too near float16's overflow"])):
        inputs = {name: array[None] for name, array in draw_inputs(case, 0, 0).items()}
        inputs["X"] = inputs["X"] * np.float16(factor)
        [stack] = stacks(OPERATORS[case.operator], [case.given], inputs)
        found = overflows(stack, case.dtype)
        assert [words in found[0] for words in says] == [True] * len(found)

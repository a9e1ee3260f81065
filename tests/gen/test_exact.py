"""Exact answers and their bounds against independent evaluations, over random and over shipped questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest
from drawn import drawn_block
from hypothesis import given, settings
from oracles import assert_rounds_to, exact_outputs, products
from posing import questions
from shipped import core_cases, specs
from written import Written, emulate

from grucible import Case, Question
from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.layout import gru_inputs, operator_outputs, shared_outputs
from grucible.cases.operators.readings import READINGS
from grucible.cases.operators.semantics import one_of
from grucible.cases.specs.expand import CaseSpec, expand
from grucible.cases.specs.factors import DRAWS
from grucible.gen.drawing import stacked
from grucible.gen.exact.answers import decided_by_balls, enclose, likely_bits
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.gru import gru
from grucible.gen.posed import answered_block
from grucible.gen.stacks import Float64, stacks
from grucible.vectors.case import difference
from oracle import FRACTIONS, MPMATH, round_once

SPECS = specs()
MOST_PRODUCTS = 20_000
"""Maximum multiplications of a case that the scalar oracle is asked for."""


@settings(max_examples=80)
@given(questions())
def test_every_accepted_answer_is_the_oracle_s(question: Question) -> None:
    for names, answer in answered_block(question).answers.items():
        for name, values in exact_outputs(question, MPMATH, names).items():
            assert_rounds_to(values, answer.outputs[name][0], question)


@settings(max_examples=40)
@given(questions(functions=["relu"]))
def test_relu_alone_is_exact(question: Question) -> None:
    """Rational arithmetic decides ties, which are not merely close."""
    found = answered_block(question).answer.outputs
    for name, values in exact_outputs(question, FRACTIONS).items():
        for value, number in zip(
            np.array(values, object).ravel(), found[name].ravel(), strict=True
        ):
            assert round_once(value, question.dtype) == number


@settings(max_examples=40)
@given(questions())
def test_what_balls_decide_is_arb_s(question: Question) -> None:
    operator, roles = OPERATORS[question.operator], ("y", "ho")
    kind = FLOAT_TYPES[question.dtype]
    [stack] = stacks(operator, [question.given], stacked([question.inputs]))
    balls = enclose(stack.semantics, stack.inputs)
    found, decided, _ = decided_by_balls(balls, kind, roles)
    assert not (decided.any() and kind.name == "float64")
    exact = outputs_by_arb(one_of(stack.semantics, 0), stack.inputs.rows(0), kind, roles)
    for role, expected in exact.items():
        if decided[0]:
            assert found[role][0].tobytes() == expected.tobytes()


@settings(max_examples=60)
@given(questions())
def test_float32_arithmetic_is_within_its_bound(question: Question) -> None:
    block = answered_block(question)
    if block.tier == "nonportable":
        return
    limits = block.answer.tolerances["float32"]
    for name, computed in emulate(Written(), block).items():
        off = difference(computed.astype(np.float64), block.answer.outputs[name].astype(np.float64))
        assert (off <= limits[name]).all()


@given(questions())
def test_the_operator_s_layout_of_outputs_is_undone(question: Question) -> None:
    operator, rng = OPERATORS[question.operator], np.random.default_rng(0)
    outputs = {name: rng.normal(size=t.shape) for name, t in question.outputs.items()}
    shared = shared_outputs(operator, question.attributes, outputs)
    laid_out = operator_outputs(operator, question.attributes, shared)
    assert {name: array.shape for name, array in laid_out.items()} == {
        name: array.shape for name, array in outputs.items()
    }
    for role, array in shared_outputs(operator, question.attributes, laid_out).items():
        np.testing.assert_array_equal(array, shared[role])


def _smallest(path: str) -> CaseSpec:
    """A small case of a spec, chosen by a hash, real numbers."""
    cases = [case for case in expand(SPECS[path]) if DRAWS[case.draw].plant not in REAL]
    cases.sort(key=lambda case: hashlib.sha256(case.id.encode()).digest())
    small = [case for case in cases if products(case.operator, case.sizes) <= MOST_PRODUCTS]
    return small[0] if small else min(cases, key=lambda case: products(case.operator, case.sizes))


REAL = ("nan", "infinity")
MOST_OF_A_SPEC = 200_000


@pytest.mark.parametrize("path", SPECS)
def test_a_case_of_every_spec_is_the_oracle_s(path: str) -> None:
    spec = _smallest(path)
    if products(spec.operator, spec.sizes) > MOST_OF_A_SPEC:
        return  # as the next larger ones of other specs
    case = drawn_block([spec], seed=0).case(0)
    for names, answer in case.answers.items():
        for name, values in exact_outputs(case.question, MPMATH, names).items():
            assert_rounds_to(values, answer.outputs[name], case.question)


def _shows(reading: str, case: Case) -> bool:
    """Say whether a case that touches a reading can show it: in one hidden unit, products commute.

    A state of zeros shows neither where the reset gate is applied nor that it is kept.
    """
    y_h, x = case.answer.outputs.get("Y_h"), next(iter(case.answer.outputs.values()))
    given = gru_inputs(OPERATORS[case.operator], case.attributes, case.inputs)
    if reading == "reset-false.before":
        return x.shape[-1] > 1 and bool(given.h0.any() or given.lengths.max() > 1)
    y_h_shows = bool(given.h0.any()) and (case.operator != "onnx.GRU-14" or y_h is not None)
    return reading != "len-zero.initial-state" or y_h_shows


def test_accepted_answers_differ() -> None:
    several = [case for case in core_cases() if len(case.answers) > 1]
    assert {name for case in several for names in case.answers for name in names} == set(READINGS)
    for case in several:
        found = [answer.outputs.values() for answer in case.answers.values()]
        shown = {tuple(one for one in names if _shows(one, case)) for names in case.answers}
        number = len({tuple(array.tobytes() for array in one) for one in found})
        assert number == len(shown) or "-h1-coarse-" in case.id, case  # these may saturate


def _special(draw: str) -> Iterator[tuple[CaseSpec, Case]]:
    for path in SPECS:
        for spec in expand(SPECS[path], ["float32"]) if path.endswith("/special") else ():
            if spec.draw == draw:
                yield spec, drawn_block([spec], seed=0).case(0)


@pytest.mark.parametrize("draw", ["nan", "infinity"])
def test_special_values_are_where_float64_has_them(draw: str) -> None:
    """IEEE 754 arithmetic on the same inputs is an independent guide to NaN and infinity."""
    for spec, case in _special(draw):
        operator = OPERATORS[case.operator]
        inputs = gru_inputs(operator, case.attributes, case.inputs)
        with np.errstate(all="ignore"):
            y, ho = gru(Float64(), case.semantics, inputs)
        guide = operator_outputs(operator, case.attributes, {"y": y, "ho": ho}, spec.absent)
        for name, stored in case.answer.outputs.items():
            for where in (np.isnan, np.isposinf, np.isneginf):
                np.testing.assert_array_equal(where(stored), where(guide[name]), case.id)


def test_overflow_signed_zeros_and_subnormal_numbers() -> None:
    found = {
        draw: [array for _, case in _special(draw) for array in case.answer.outputs.values()]
        for draw in ("overflow", "signed-zero", "subnormal")
    }
    assert any(np.isinf(array).any() for array in found["overflow"])
    for array in found["signed-zero"]:
        assert not np.signbit(array[array == 0]).any()  # +0 is the one rule
    tiny = float(np.finfo(np.float32).tiny)
    assert any((np.abs(array) < tiny).any() for array in found["subnormal"])


@pytest.mark.parametrize("growth", [0.5, 1.0, 2.0, 5.0])
def test_the_bits_that_are_tried_first_suffice_for_balls_that_grow_as_before(growth: float) -> None:
    """In float64 only the first balls are small; the last must be smaller than half a float32's spacing."""
    radii = 2.0 ** (-50 + growth * np.arange(200))
    with np.errstate(over="ignore"):
        bits = likely_bits(np.minimum(radii, np.inf), FLOAT_TYPES["float32"])
    last = -50 + growth * 199 + (53 - bits)
    assert last < -30
    assert bits <= 128 + 1.3 * growth * 200

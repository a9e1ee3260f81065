"""Exact answers against independent evaluations: mpmath at 300 bits, and exact fractions."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from drawn import drawn_block
from oracles import assert_rounds_to, exact_outputs, products
from shipped import specs

from grucible import Case
from grucible.cases.expansion.case_spec import CaseSpec
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.layout import gru_inputs, operator_outputs
from grucible.cases.operators.readings import STORED
from grucible.cases.question import TensorType
from grucible.cases.selection import selected
from grucible.cases.specs.factors import DRAWS
from grucible.gen.gru import gru
from grucible.gen.stacks import Float64
from grucible.vectors.case import Answer
from oracle import FRACTIONS, MPMATH, round_once

SPECS = specs()
MOST_PRODUCTS = 200_000  # multiplications of a case that the scalar oracle is asked for


@cache
def _cases(path: str) -> tuple[CaseSpec, ...]:
    """The cases of a spec, of every dtype."""
    return tuple(expand(SPECS[path]))


def _products(case: CaseSpec) -> int:
    return products(case.operator, case.sizes)


def _sample(path: str, dtype: str, count: int) -> list[CaseSpec]:
    """Cases of a spec and dtype, spread by a hash of their ids, small ones; one where there are none."""
    cases = sorted((case for case in _cases(path) if case.dtype == dtype), key=_spread)
    small = [case for case in cases if _products(case) <= MOST_PRODUCTS]
    return small[:count] or [min(cases, key=_products)]


def _spread(case: CaseSpec) -> bytes:
    return hashlib.sha256(case.id.encode()).digest()


THEMES = [(path, dtype) for path, spec in SPECS.items() for dtype in spec.model.dtypes]


def _first_steps(case: Case, steps: int) -> Case:
    """The case of the first `steps` steps that are processed, and what is stored of these."""
    late = case.attributes["direction"] == "reverse"
    inputs, taken = dict(case.inputs), slice(-steps, None) if late else slice(steps)
    inputs["X"] = inputs["X"][:, taken]
    inputs["sequence_lengths"] = np.full_like(inputs["sequence_lengths"], steps)
    y = case.answer.outputs["Y"][:, :, taken]
    asked = {"Y": TensorType(y.shape, y.dtype)}
    return replace(
        case,
        question=replace(case.question, inputs=inputs, outputs=asked),
        answers={STORED: Answer({"Y": y})},
    )


@pytest.mark.rows(6)
@pytest.mark.parametrize(("path", "dtype"), THEMES)
def test_stored_answers_are_the_oracle_s(path: str, dtype: str) -> None:
    for spec in _sample(path, dtype, count=2):
        if DRAWS[spec.draw].plant in ("nan", "infinity"):
            continue  # not real numbers; see test_special_values
        case = drawn_block([spec], seed=0).case(0)
        whole = steps = spec.sizes.get("seq_length", 1)
        while _products(spec) * steps / whole > MOST_PRODUCTS and steps > 1:
            steps //= 2
        if steps < whole:
            case = _first_steps(case, steps)
        for names, answer in case.answers.items():
            for name, values in exact_outputs(case.question, MPMATH, names).items():
                assert_rounds_to(values, answer.outputs[name], case.question)


RELU_RELU = ["*[-/]relu_relu*", "*[-/]Relu_Relu*", "*-relu-relu-*"]


@pytest.mark.rows(4)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_relu_relu_is_exact(dtype: str) -> None:
    # rational arithmetic alone, so that ties are decided and not merely close
    count = 0
    for path, spec in SPECS.items():
        if dtype not in spec.model.dtypes or "special" in path:
            continue
        chosen = [
            case
            for case in _cases(path)
            if case.dtype == dtype
            and selected(case.id, RELU_RELU)
            and _products(case) <= MOST_PRODUCTS
        ]
        for one in sorted(chosen, key=_spread)[:4]:
            case = drawn_block([one], seed=0).case(0)
            exact = exact_outputs(case.question, FRACTIONS)
            for name, values in exact.items():
                for value, number in zip(
                    np.array(values, object).ravel(),
                    case.answer.outputs[name].ravel(),
                    strict=True,
                ):
                    assert round_once(value, dtype) == number, (case.id, value)
            count += 1
    assert count >= 4


@pytest.mark.parametrize("draw", ["nan", "infinity"])
def test_special_values_are_where_float64_has_them(draw: str) -> None:
    # IEEE 754 arithmetic on the same inputs is an independent guide to NaN and infinity
    for path in SPECS:
        for spec in _cases(path) if path.endswith("/special") else ():
            if spec.dtype != "float32" or spec.draw != draw:
                continue
            case = drawn_block([spec], seed=0).case(0)
            operator = OPERATORS[case.operator]
            inputs = gru_inputs(operator, case.attributes, case.inputs)
            with np.errstate(all="ignore"):
                y, ho = gru(Float64(), case.semantics, inputs)
            guide = operator_outputs(operator, case.attributes, {"y": y, "ho": ho}, spec.absent)
            for name, stored in case.answer.outputs.items():
                np.testing.assert_array_equal(np.isnan(stored), np.isnan(guide[name]), case.id)
                np.testing.assert_array_equal(
                    np.isposinf(stored), np.isposinf(guide[name]), case.id
                )


def test_special_values_follow_the_extended_reals() -> None:
    paths = [path for path in SPECS if path.startswith("openvino/") and "special" in path]
    special = [case for path in paths for case in _cases(path)]
    by_draw: dict[str, list[Case]] = {}
    for spec in special:
        if spec.dtype == "float32" and spec.absent == frozenset():
            by_draw.setdefault(spec.draw, []).append(drawn_block([spec], seed=0).case(0))
    for case in by_draw["nan"]:
        Ho = case.answer.outputs["Ho"]
        assert np.isnan(Ho[0]).any()
        assert np.isnan(Ho[-1]).any()
        assert np.isfinite(Ho[1]).all()
    assert any(np.isinf(case.answer.outputs["Ho"]).any() for case in by_draw["overflow"])
    for case in by_draw["signed-zero"]:
        for output in case.answer.outputs.values():
            assert not np.signbit(output[output == 0]).any()  # +0 is the one rule
    tiny = float(np.finfo(np.float32).tiny)
    assert any((np.abs(case.answer.outputs["Ho"]) < tiny).any() for case in by_draw["subnormal"])


def test_every_reading_of_an_ambiguous_case_differs() -> None:
    for spec in expand(SPECS["openvino/gru_sequence/with_zero"], ["float32"]):
        case = drawn_block([spec], seed=0).case(0)
        stored, *others = (answer.outputs for answer in case.answers.values())
        assert others
        for outputs in others:
            assert any((outputs[name] != stored[name]).any() for name in outputs)

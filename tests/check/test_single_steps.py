"""Judged one step at a time: from the observed state before a step, the state after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from diagnosis import kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from posing import questions
from shipped import core_cases
from sums import one_by_one
from written import Written, emulate

from grucible import GrucibleError, Question, verify
from grucible.cases.dtypes import Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.question import pose
from grucible.check.diagnosis import large
from grucible.check.diagnosis.contradictions import Passing
from grucible.check.diagnosis.failing import Failing
from grucible.check.diagnosis.finding import Diagnosis, Finding
from grucible.check.diagnosis.large import with_large
from grucible.check.judging.case_result import CaseResult
from grucible.check.judging.criterion import Demanded, Differences
from grucible.check.judging.grade import find_undeciding
from grucible.check.judging.judge import judge_one
from grucible.check.judging.single_steps import step_answer
from grucible.check.observed.source import Observed
from grucible.gen import answering
from grucible.gen.posed import answered_block
from grucible.gen.variants import work
from grucible.vectors.block import Block

from .made import SEQUENCE

FLOAT32 = Demanded("float32")


def judged(block: Block, outputs: Arrays, demanded: Demanded = FLOAT32) -> CaseResult:
    return judge_one(block, Observed(["ok"], [""], dict(outputs)), demanded)


@settings(max_examples=60)
@given(question=questions())
def test_right_arithmetic_passes_every_step(question: Question) -> None:
    """Summed one by one in float32, with sizes, lengths, directions and functions of any operator."""
    try:
        block = answered_block(question)
    except GrucibleError:  # too near overflow, or not to be rounded
        return
    with np.errstate(all="ignore"):
        outputs = emulate(Written(multiply=one_by_one), block)
    for reading in block.answers:
        steps = step_answer(block, dict(block.answers[reading].outputs), reading)
        if steps is not None:
            off = Differences(
                steps.outputs, block.answers[reading].outputs, block.dtype, signed_zero=False
            )
            assert off.within(steps.tolerances["float32"]).all()
    steps = step_answer(block, dict(outputs), ())
    if steps is not None and block.tier != "nonportable":
        off = Differences(steps.outputs, outputs, block.dtype, signed_zero=False)
        assert off.within(steps.tolerances["float32"]).all()


@pytest.fixture(scope="module", params=["proven", "large"])
def layer(request: pytest.FixtureRequest) -> Iterator[Block]:
    """The block of a real layer, whose accumulated tolerances say nothing; as it is, and taken for large."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "large":
            patch.setattr(answering, "LARGE", 0)
        yield made_layer()


def made_layer() -> Block:
    rng, sizes = np.random.default_rng(5), {"batch": 2, "time": 30, "input": 32, "hidden": 48}

    def drawn(*shape: int, scale: float = 1.0) -> Array:
        return (scale * rng.normal(size=shape)).astype(np.float32)

    b, t, i, h = sizes.values()
    inputs = {
        "X": drawn(b, t, i), "initial_hidden_state": drawn(b, 2, h),
        "sequence_lengths": np.array([t, t - 7], np.int32), "W": drawn(2, 3 * h, i, scale=0.7),
        "R": drawn(2, 3 * h, h, scale=0.7), "B": drawn(2, 3 * h),
    }  # fmt: skip
    given = {"hidden_size": h, "direction": "bidirectional"}
    return answered_block(pose(OPERATORS[SEQUENCE], given, inputs, case_id="made/layer"))


def test_the_first_step_starts_from_an_exact_state(layer: Block) -> None:
    """So it admits what the whole admits there; in reverse, the last valid time is the first step."""
    steps = step_answer(layer, dict(layer.answer.outputs), ())
    assert steps
    for row, direction, time in ((0, 0, 0), (1, 0, 0), (0, 1, 29), (1, 1, 22)):
        at = (0, row, direction, time)
        admitted = steps.tolerances["float32"]["Y"][at]
        assert (admitted <= 1.01 * layer.answer.tolerances["float32"]["Y"][at]).all()


def cut(block: Block, **changed: Any) -> Arrays:
    return dict(emulate(Written(**changed), block))


def test_a_layer_whose_accumulated_tolerances_say_nothing_decides(layer: Block) -> None:
    assert np.isinf(layer.answer.tolerances["float32"]["Y"]).mean() > 0.4
    assert not find_undeciding(layer, FLOAT32).any()
    right = judged(layer, cut(layer, multiply=one_by_one))
    assert (right.verdict, right.arithmetic, right.judged_by) == ("passed", "float32", "steps")
    assert 0.001 < right.worst_ratio < 0.5


def test_a_large_layer_admits_everything_but_wrong_padding() -> None:
    """Its outputs are those of a run in float64: they are near the exact ones."""
    exact = made_layer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answering, "LARGE", 0)
        large = made_layer()
    for name, limits in large.answer.tolerances["float32"].items():
        assert np.allclose(large.answer.outputs[name], exact.answer.outputs[name], rtol=1e-6)
        assert np.isin(limits, [0, np.inf]).all()
        assert ((limits == 0) == (exact.answer.tolerances["float32"][name] == 0)).all()
    assert (large.answer.tolerances["tf32"]["Y"][0, 1, :, 23:] == 0).all()
    outputs = cut(large)
    outputs["Y"] = outputs["Y"].copy()
    outputs["Y"][0, 1, 0, 25, 4] = 1e-6
    assert judged(large, outputs).verdict == "failed"


def test_a_layer_of_hidden_size_256_is_large() -> None:
    rng = np.random.default_rng(6)
    inputs = {
        name: rng.uniform(-0.1, 0.1, shape).astype(np.float32)
        for name, shape in {"X": (80, 1, 8), "W": (1, 768, 8), "R": (1, 768, 256)}.items()
    }
    block = answered_block(pose(OPERATORS["onnx.GRU-14"], {"hidden_size": 256}, inputs))
    assert np.isinf(block.answer.tolerances["float32"]["Y"]).all()
    assert judged(block, cut(block)).judged_by == "steps"


def test_a_report_says_what_decided_of_each_case() -> None:
    asked = ("openvino.GRUCell-3/plain/float32/*", "openvino.GRUSequence-5/plain/float32/*")
    report = verify(runtime=kernel.right, select=asked)
    ways = {(one.traits.get("steps", "1") == "1", one.judged_by) for one in report.results}
    assert ways == {(True, "whole"), (False, "whole and steps")}


@pytest.mark.parametrize("name", ["W", "R"])
def test_weights_of_few_bits_fail_it(layer: Block, name: str) -> None:
    inputs = dict(layer.inputs)
    inputs[name] = inputs[name].astype(np.float16).astype(np.float32)
    other = Block(**{**vars(layer), "inputs": inputs})
    result = judged(layer, cut(other))
    assert result.verdict == "failed"
    assert result.worst_ratio > 3


@pytest.mark.parametrize("place", [(4, 0, 0, 4), (25, 1, 0, 4), (3, 1, 1, 0)])
def test_one_state_that_is_off_fails_in_its_step_or_the_next(
    layer: Block, place: tuple[int, ...]
) -> None:
    """In both directions, and in a row that is shorter."""
    outputs, (time, direction, row, unit) = cut(layer), place
    outputs["Y"] = outputs["Y"].copy()
    outputs["Y"][0, row, direction, time, unit] += np.float32(1e-3)
    result = judged(layer, outputs)
    assert (result.verdict, "from the state before it, got" in result.message) == ("failed", True)
    after = time + (-1 if direction else 1)
    near = tuple(f"Y[{row}, {direction}, {at}, " for at in (time, after))
    assert result.where.startswith(near)


def test_the_last_state_is_that_of_the_last_step(layer: Block) -> None:
    outputs = cut(layer)
    outputs["Ho"] = outputs["Ho"].copy()
    outputs["Ho"][0, 1, 0, 3] += np.float32(1e-4)
    result = judged(layer, outputs)
    assert (result.verdict, result.where) == ("failed", "Ho[1, 0, 3]")


def test_other_demands_judge_whole_outputs(layer: Block) -> None:
    """A user's rtol and atol say how far outputs may be off, whatever was before."""
    from grucible.check.judging.criterion import Tolerance

    outputs = cut(layer)
    outputs["Y"] = layer.answer.outputs["Y"].copy()
    outputs["Ho"] = layer.answer.outputs["Ho"].copy()
    outputs["Y"][0, 0, 0, 3, 0] += np.float32(1e-4)
    loose = judge_one(layer, Observed(["ok"], [""], outputs), Tolerance(absolute=1e-3))
    assert (judged(layer, outputs).verdict, loose.verdict) == ("failed", "passed")
    assert loose.judged_by == "whole"


def test_a_step_of_a_class_without_a_bound_is_judged_by_the_finer_classes() -> None:
    """In float16 throughout, 1,022 terms have no bound; stored in float16 alone, they have one."""
    rng, h = np.random.default_rng(1), 512
    inputs = {
        "X": rng.normal(size=(1, 2, h)), "initial_hidden_state": rng.normal(size=(1, 1, h)),
        "sequence_lengths": np.array([2]), "W": 0.04 * rng.normal(size=(1, 3 * h, h)),
        "R": 0.04 * rng.normal(size=(1, 3 * h, h)), "B": rng.normal(size=(1, 3 * h)),
    }  # fmt: skip
    narrow = {
        k: a.astype(np.int32 if a.dtype.kind == "i" else np.float16) for k, a in inputs.items()
    }
    given = {"hidden_size": h, "direction": "forward"}
    block = answered_block(pose(OPERATORS[SEQUENCE], given, narrow, case_id="made/wide"))
    outputs = cut(block)
    assert judged(block, outputs).verdict == "passed"
    outputs["Y"] = outputs["Y"].copy()
    outputs["Y"][0, 0, 0, 0, 3] += np.float16(0.1)
    steps = step_answer(block, outputs, ())
    assert steps is not None
    assert np.isinf(steps.tolerances["float16"]["Y"]).all()
    off = Differences(steps.outputs, outputs, block.dtype, signed_zero=False)
    assert not off.within(steps.tolerances["float16-gemm"]).any()


@settings(max_examples=60)
@given(question=questions(), place=st.integers(0, 2**31))
def test_a_case_taken_for_large_is_judged_by_its_steps(question: Question, place: int) -> None:
    check_taken_for_large(question, place)


@pytest.mark.parametrize("operator", ["keras.GRU", "bnnsgraph.gru", "torch.GRU", "onnx.GRU-14"])
def test_padding_and_turned_outputs_of_large_cases_are_judged(operator: str) -> None:
    asked = [case for case in core_cases() if case.id.startswith(f"{operator}/core/float32/")]
    assert asked
    for place, case in enumerate(asked):
        check_taken_for_large(case.question, 7 * place)


def check_taken_for_large(question: Question, place: int) -> None:
    """Judge it as large: right arithmetic passes, and an element that is off fails, also in padding."""
    try:
        block = answered_block(question)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answering, "LARGE", 0)
            large = answered_block(question)
    except GrucibleError:
        return
    for reading, answer in block.answers.items():
        for name, right in answer.outputs.items():
            of = large.answers[reading]
            free = {one: np.isinf(limits[name]) for one, limits in of.tolerances.items()}
            for one, limits in answer.tolerances.items():
                assert (free[one] | (of.tolerances[one][name] == limits[name])).all()
            assert (free["float32"] | (of.outputs[name] == right)).all()
    if large.tier == "nonportable" or step_answer(large, dict(large.answer.outputs), ()) is None:
        return
    with np.errstate(all="ignore"):
        outputs = emulate(Written(multiply=one_by_one), block)
    assert judged(large, outputs).verdict == "passed"
    name, steps = [*outputs][place % len(outputs)], step_answer(large, outputs, ())
    assert steps is not None
    at = place % outputs[name].size
    admitted = steps.tolerances["float32"][name].flat[
        at
    ]  # a state that explodes may be off by much
    outputs[name] = outputs[name].copy()
    outputs[name].flat[at] += outputs[name].dtype.type(7.5 + 2.0 * admitted)
    assert judged(large, outputs).verdict == "failed"


def explained_large(block: Block, outputs: Arrays, known: Sequence[Finding] = ()) -> Diagnosis:
    """Explain a case that is too large for variants; findings are `known` of others."""
    failing = Failing()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "MOST_WORK", 2_000_000)
        failing.add(block, outputs, FLOAT32)
        assert (failing.parts, failing.left_out) == ([], [("float32", "made/layer")])
        before = Diagnosis(known, failed=1, unexplained_ids=frozenset(["made/layer"]), not_tried=1)
        return with_large(before, failing.large, Passing(()))


def changed(block: Block, **change: Callable[[Array], Array]) -> Arrays:
    """Compute what a right kernel gives for changed inputs."""
    inputs = block.inputs | {name: of(block.inputs[name]) for name, of in change.items()}
    return cut(Block(**{**vars(block), "inputs": inputs}))


def test_a_large_case_is_explained_by_some_of_its_steps(layer: Block) -> None:
    """Weights with z and r the other way round, in a layer whose steps are too many for variants."""
    h = layer.inputs["R"].shape[-1]

    def swapped(array: Array) -> Array:
        return np.concatenate([array[:, :, h : 2 * h], array[:, :, :h], array[:, :, 2 * h :]], 2)

    found = explained_large(layer, changed(layer, W=swapped, R=swapped, B=swapped))
    assert [one.names for one in found.findings] == [("gate-order-rzh",)]
    assert (found.unexplained, found.not_tried) == (0, 0)
    assert found.by_case["made/layer"].certain


def test_a_large_case_is_held_against_what_is_known_of_others_first(layer: Block) -> None:
    """Looking for a mistake among its steps takes long, and is not done where a known one is theirs."""
    dropped = changed(layer, B=np.zeros_like)
    known = explained_large(layer, dropped).findings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "diagnose", lambda *_: pytest.fail("looked for a mistake"))
        found = explained_large(layer, dropped, known)
        placed = explained_large(layer, dropped, [replace(known[0], where="in reverse")])
    assert [(one.names, one.explains) for one in found.findings] == [(known[0].names, 2)]
    assert {(one.where, one.explains) for one in placed.findings} == {("", 1), ("in reverse", 1)}


def test_few_large_cases_are_searched_in_vain(layer: Block) -> None:
    """A search takes seconds, and large cases mostly fail for the same reason."""
    halved = changed(layer, initial_hidden_state=lambda h: np.float32(0.5) * h)
    searched = list[object]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "MOST_WORK", 2_000_000)
        patch.setattr(large, "diagnose", lambda *_: searched.append(_) or Diagnosis())
        failing = Failing()
        failing.add(layer, halved, FLOAT32)
        ids = frozenset(layer.ids)
        with_large(Diagnosis(failed=1, unexplained_ids=ids), 4 * failing.large, Passing(()))
    assert len(searched) == large.FRUITLESS


def test_what_only_some_steps_show_does_not_explain_a_large_case(layer: Block) -> None:
    """A wrong initial state is no mistake of every step; nor are biases that are zeros in the first steps."""
    halved = changed(layer, initial_hidden_state=lambda h: np.float32(0.5) * h)
    assert explained_large(layer, halved).unexplained == 1
    dropped = changed(layer, B=np.zeros_like)
    mixed = {name: array.copy() for name, array in cut(layer).items()}
    mixed["Y"][:, :, 0, :4] = dropped["Y"][:, :, 0, :4]
    assert explained_large(layer, mixed).unexplained == 1

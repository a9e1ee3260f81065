"""Noise: right forms make no more than is derived, and small mistakes that tolerances admit are remarked upon."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from shipped import core_blocks
from sums import in_halves, one_by_one, wide
from written import Written, emulate

from grucible import Question, Report, verify
from grucible.cases.dtypes import FLOAT_TYPES, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.readings import ReadingNames
from grucible.cases.question import pose
from grucible.check.judging import noise
from grucible.check.judging.case_result import DECIDING
from grucible.check.judging.criterion import Demanded
from grucible.check.judging.grade import Grade
from grucible.check.judging.judge import judge_block
from grucible.check.judging.noise import LOSSES, Noise, remark
from grucible.check.observed.source import Observed
from grucible.check.reports.formats import report_json
from grucible.check.reports.terminal import headline
from grucible.gen.gru import gru
from grucible.gen.posed import answered_block
from grucible.gen.stacks import stacks
from grucible.gen.variants.emulated import BFLOAT16, to_bfloat16
from grucible.gen.variants.evaluate import catches
from grucible.vectors.block import Block
from grucible.vectors.case import REQUIRED

from .numpy_gru import run as right_gru

Run = Callable[[Block], Arrays]


def through(changed: str, arithmetic: Any = None, factor: float = 1.0) -> Run:
    """A float32 kernel whose inputs go through a small mistake, and whose outputs are a factor too large."""
    variant = next((one for one in LOSSES if one.name == changed), None)

    def run(block: Block) -> Arrays:
        inputs = {}
        for name, array in block.inputs.items():
            inputs[name] = array if array.dtype.kind == "i" else array.astype(np.float32)
        outputs: Arrays = {}
        for stack in stacks(OPERATORS[block.operator], block.given, inputs):
            if variant and variant.inputs:
                stack = replace(stack, inputs=variant.inputs(stack.inputs, stack.semantics))
            y, ho = gru(arithmetic or Written(), stack.semantics, stack.inputs)
            shared = {"y": y * np.float32(factor), "ho": ho * np.float32(factor)}
            for name, array in stack.handed_out(shared, block.absent).items():
                whole = outputs.setdefault(name, np.zeros_like(block.answer.outputs[name]))
                whole[stack.rows] = array.astype(np.float32).astype(whole.dtype)
        return outputs

    return run


@cache
def narrow_blocks(dtype: str) -> list[Block]:
    """Every fifth block of the core, with cells, and with cases that hold the last state alone."""
    return [b for b in core_blocks() if b.dtype == dtype and b.tier in DECIDING][::5]


def judged(dtype: str, run: Run) -> tuple[int, dict[str, Noise]]:
    """How many cases pass, and their noise."""
    grade, noises, passed = Grade(dtype, Demanded(REQUIRED[dtype])), {}, 0
    for block in narrow_blocks(dtype):
        with np.errstate(all="ignore"):
            outputs = run(block)
        observed = Observed(["ok"] * len(block), [""] * len(block), outputs)
        for result in judge_block("", block, observed, grade):
            passed += result.verdict == "passed"
            if result.noise:
                noises[result.id] = result.noise
    return passed, noises


def remarked(dtype: str, run: Run) -> tuple[int, int, str]:
    """How many cases pass, how many of them are remarked upon, and what is said."""
    passed, noises = judged(dtype, run)
    one = remark(dtype, noises, 2 * len(noises))
    return passed, len(one.cases) if one else 0, str(one or "")


def unchanged(dtype: str, run: Run) -> int:
    """How many cases a mistake leaves as they are, to the bit: in most of them every gate is saturated."""
    right, same = through(""), 0
    for block in narrow_blocks(dtype):
        with np.errstate(all="ignore"):
            mistaken, outputs = run(block), right(block)
        equal = [(mistaken[n] == a).reshape(len(block), -1).all(axis=1) for n, a in outputs.items()]
        same += int(np.all(equal, axis=0).sum())
    return same


def within_tolerance(dtype: str, mistake: str) -> int:
    """How many exact answers with a mistake are within the whole's tolerance, and what rounding them may hide."""

    def limits(block: Block, reading: ReadingNames) -> Arrays:
        answer = block.answers[reading]
        unit = 2.0 ** -FLOAT_TYPES[dtype].precision
        return {
            name: tolerance * (1.0 + 2.0 * unit) + unit * np.abs(answer.outputs[name].astype(float))
            for name, tolerance in answer.tolerances[REQUIRED[dtype]].items()
        }

    caught = 0
    for block in narrow_blocks(dtype):
        caught += sum(int(found.sum()) for _, found in catches(block, [mistake], limits))
    return sum(len(block) for block in narrow_blocks(dtype)) - caught


STORED = {"float16": np.float16, "bfloat16": BFLOAT16}


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("blended", ["(1-z)t+zh", "t+z(h-t)", "h+(1-z)(t-h)"])
def test_right_forms_are_not_remarked_upon(dtype: str, blended: str) -> None:
    forms = [
        Written(blended=blended),
        Written(STORED[dtype], wide, functions=np.float32, blended=blended),
    ]
    if dtype == "float16":
        forms += [Written(np.float16, order, blended=blended) for order in (one_by_one, in_halves)]
    for form in forms:
        passed, noises = judged(dtype, lambda block, form=form: emulate(form, block))
        assert passed == sum(len(block) for block in narrow_blocks(dtype))
        assert remark(dtype, noises, 2 * len(noises)) is None
        assert sum(noises.values(), Noise()).ratio < 0.8
        assert len(noises) >= passed - 2


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("scale", ["gate", "row"])
def test_weights_in_8_bits_are_named(dtype: str, scale: str) -> None:
    rounded = through(f"wr-zrh-in-8-bits-by-{scale}")
    (passed, found, about), same = remarked(dtype, rounded), unchanged(dtype, rounded)
    assert passed - same > 50
    assert found >= 0.95 * (passed - same)
    words = {"gate": "each gate", "row": "each row"}[scale]
    assert f"W and R rounded to 8 bits, with a scale for {words}" in about


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_outputs_that_are_one_percent_off_are_loud(dtype: str, factor: float) -> None:
    passed, found, _ = remarked(dtype, through("", factor=factor))
    assert passed > 15
    assert found >= 0.98 * passed


def test_bfloat16_storage_is_loud_in_float16() -> None:
    kept = Written(kept=to_bfloat16, operand=to_bfloat16)
    passed, found, _ = remarked("float16", through("", kept))
    assert passed > 50
    assert found >= 0.95 * passed


@pytest.mark.parametrize("dtype", STORED)
def test_a_dropped_bias_of_r_fails_or_is_told_where_it_shows(dtype: str) -> None:
    """It does not where there is no bias, or the gate is saturated: outputs are then the right ones."""
    mistaken = through("bias-r-ignored")
    (passed, found, _), same = remarked(dtype, mistaken), unchanged(dtype, mistaken)
    assert same < passed <= within_tolerance(dtype, "bias-r-ignored")
    assert passed - found <= same + 2
    assert found > 3


def test_one_loud_case_among_right_ones_is_named() -> None:
    _, noises = judged("float16", through(""))
    name = max(noises, key=lambda one: noises[one].elements)
    old = noises[name]
    noises[name] = replace(old, squares=100.0 * old.elements)
    one = remark("float16", noises, 2 * len(noises))
    assert one
    assert (list(one.cases), one.about) == ([name], "")
    assert name in str(one)
    assert "10 times" in str(one)


@pytest.mark.parametrize("together", [0.0, 0.3, 4.0])
def test_limits_are_rarely_exceeded(together: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By normal errors that share as much in a step of a row as is told, and in the next step, too."""
    monkeypatch.setattr(noise, "FALSE_ALARM", 0.01)
    rng, units, steps = np.random.default_rng(1), 8, 6
    share = together / units
    own = rng.normal(size=(20_000, steps, units))
    common = rng.normal(size=(20_000, steps + 1, 1))
    later = np.sqrt(share / 2) * (common[:, 1:] + common[:, :-1])
    errors = np.sqrt(1 - share) * own + later
    squares = (errors**2).sum(axis=(1, 2))
    limit = Noise(1.0, steps * units, together).limit(1)
    exceeded = np.sqrt(squares / (steps * units)) > limit
    assert exceeded.mean() < 0.01
    assert (squares / (steps * units) > 0.3 * limit**2).mean() > 0.01


def test_directions_are_rarely_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "FALSE_ALARM", 0.01)
    rng, own = np.random.default_rng(1), 30.0
    along = np.sqrt(own) * rng.normal(size=(5_000, len(LOSSES)))
    owns = (own,) * len(LOSSES)
    found = [Noise(1.0, 40, 0.1, tuple(row), owns).loss(1) for row in along]
    assert sum(one is not None for one in found) < 0.01 * len(found)
    assert Noise(1.0, 400, 0.1, (300.0, *along[0][1:]), (300.0, *owns[1:])).loss(1) == 0


def loud(question: Question) -> Arrays:
    return {
        name: (array.astype(np.float64) * 1.01).astype(array.dtype)
        for name, array in right_gru(question).items()
    }


@pytest.fixture(scope="module")
def report() -> Report:
    return verify(runtime=loud, select="openvino.GRU*/plain/bfloat16/*")


def test_a_report_says_it_and_the_verdict_stands(report: Report) -> None:
    assert report.verdict == "conforms"
    assert "bfloat16: errors up to" in headline(report)
    assert "times as large as bfloat16-gemm makes" in headline(report)
    value = json.loads(report_json(report))
    told = value["arithmetic"]["bfloat16"]["remark"]
    assert told["cases"] > 0.9 * told["of"]
    assert told["ratio"] > 1.2
    assert told["about"] == str(report.remarks["bfloat16"])
    assert [one["noise"] for one in value["cases"]] == [
        r.noise.ratio for r in report.results if r.noise
    ]


def test_a_users_tolerance_says_nothing_of_noise() -> None:
    report = verify(runtime=loud, select="openvino.GRUCell-3/plain/bfloat16/*", rtol=0.1)
    assert not report.remarks
    assert {one.noise for one in report.results} == {None}


def test_one_step_of_every_state_alone_is_measured() -> None:
    """ONNX's Y without Y_h, and one step: there is no last state."""
    rng = np.random.default_rng(3)
    shapes = {"X": (1, 2, 3), "W": (1, 12, 3), "R": (1, 12, 4), "B": (1, 24)}
    inputs = {name: rng.uniform(-1, 1, shape).astype(np.float16) for name, shape in shapes.items()}
    asked = pose(OPERATORS["onnx.GRU-14"], {}, inputs, case_id="made/one", outputs=["Y"])
    block = answered_block(asked)
    [found] = noise.measure(block, dict(block.answer.outputs), (), "float16")
    assert found is not None
    assert (found.elements, found.ratio < 1) == (8, True)

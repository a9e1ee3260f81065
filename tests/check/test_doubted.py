"""What fits, and is not so: small errors that are no roundings, places of few cases, what other failures refute."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from diagnosis.kernel import Array, Direction, Kernel

from grucible import Question, verify
from grucible.cases.dtypes import Arrays
from grucible.check.diagnosis.contradictions import Passing
from grucible.check.diagnosis.curves import in_words
from grucible.check.diagnosis.explanations import Explanation
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.local import Local
from grucible.check.diagnosis.places import where
from grucible.check.diagnosis.proof import Proof
from grucible.check.diagnosis.steps import Steps, steps_of
from grucible.check.judging.criterion import chosen_criteria
from grucible.gen.variants.curves import KNOTS, with_curve
from grucible.vectors.block import Block

from .diagnosing import BlockRuntime, core_blocks, report_on, variants_run

CELL = "openvino.GRUCell-3"
SEQUENCE = "openvino.GRUSequence-5"
REQUIRED = chosen_criteria()["float32"]


class Leaking(Kernel):
    """A fraction of the next row's state is in that which the candidate reads."""

    share = 0.002

    def candidate(self, x: Array, h: Array, r: Array, p: Direction) -> Array:
        return super().candidate(x, h + self.share * np.roll(h, 1, axis=0), r, p)


class LeakingAndFlipped(Leaking):
    """And zt and 1 - zt are exchanged."""

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        return super().blend(1.0 - z, t, h)


class Scaled(Kernel):
    """Each state is off by the same share of itself: most, where values are large, as those of softplus are."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        return super().step(x, h, p) * x.dtype.type(1 + 1e-5)


class OneOrTheOther(Kernel):
    """The reset gate is ignored; in a quarter of the cases tanh is another function instead."""

    def __call__(self, question: Question) -> dict[str, Array]:
        self.other = zlib.crc32(question.id.encode()) % 4 == 0
        return super().__call__(question)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        right = super().reset_gate(x, h, p)
        return right if self.other else np.ones_like(right)

    def tanh(self, v: Array) -> Array:
        right = super().tanh(v)
        return np.asarray(right - 0.1 * right**2) if self.other else right


def spread(block: Block) -> Arrays:
    """Right but for a share of each number, as large as bfloat16's roundings and with both signs."""
    rng = np.random.default_rng(3)
    return {
        name: (right * (1 + 1e-3 * rng.normal(size=right.shape))).astype(right.dtype)
        for name, right in block.answer.outputs.items()
    }


def test_small_errors_of_both_signs_are_no_roundings_where_they_go_with_no_emulation() -> None:
    found = report_on(core_blocks(CELL, "float32"), spread).diagnosis
    assert (found.findings, found.unexplained) == ([], found.failed)
    assert any("that they are its roundings is not seen" in hint for hint in found.hints)


@pytest.mark.parametrize("name", ["bfloat16-products", "tf32-products"])
def test_those_of_an_arithmetic_that_is_emulated_are(name: str) -> None:
    """Though nothing gives them exactly: there is a tenth of them besides."""
    run = variants_run(name)

    def nearly(block: Block) -> Arrays:
        rng, right = np.random.default_rng(5), block.answer.outputs
        found: Arrays = {}
        for output, given in run(block).items():
            off = 0.1 * (given - right[output]) * rng.normal(size=given.shape)
            found[output] = (given + off).astype(given.dtype)
        return found

    found = report_on(core_blocks(CELL, "float32"), nearly).diagnosis
    assert any(one.certain and one.kind == "arithmetic" for one in found.findings)


def test_numbers_on_a_grid_are_no_float32() -> None:
    def fixed_point(block: Block) -> Arrays:
        outputs = block.answer.outputs.items()
        return {name: np.rint(right * 2.0**23) * 2.0**-23 for name, right in outputs}

    found = report_on(core_blocks(CELL, "float64"), fixed_point).diagnosis
    assert found.failed > 50
    assert not any("float32" in one.about for one in found.findings)


def except_for(name: str, share: int) -> BlockRuntime:
    """A variant, with something else besides in one of so many cases."""
    run = variants_run(name)

    def whole(block: Block) -> Arrays:
        rows = np.arange(len(block)) % share == share - 1
        outputs = {name: array.copy() for name, array in run(block).items()}
        for array in outputs.values():
            array[rows] += np.float32(0.01) * np.sin(np.arange(array[rows].size)).reshape(
                array[rows].shape
            )
        return outputs

    return whole


@pytest.mark.parametrize(("share", "certain"), [(6, False), (10**6, True)])
def test_what_other_failures_refute_is_no_more_certain(share: int, certain: bool) -> None:
    name = "z-scaled=0.5"
    found = report_on(core_blocks(CELL, "float32"), except_for(name, share)).diagnosis
    [finding] = [one for one in found.findings if one.names == (name,)]
    assert finding.certain is certain
    assert finding.explains > 0.5 * found.failed


@pytest.mark.parametrize(("count", "certain"), [(2, False), (3, True)])
def test_two_cases_make_no_loss_of_precision_certain(count: int, certain: bool) -> None:
    name = "wr-in-bfloat16"
    block = core_blocks(CELL, "float32")[0].rows(np.arange(count))
    every = np.ones(count, bool)
    parts = [FailingBlock(block, dict(variants_run(name)(block)), REQUIRED)]
    passing = Passing(())
    proof = Proof(parts, passing, Local(parts, passing, count, 1 << 40), every)
    [proven] = proof.chosen([Explanation((name,), every, near=0.1)])
    assert proven.certain is certain


def steps() -> Steps:
    """Those of the cases of one block, all right."""
    block = core_blocks(CELL, "float32")[0]
    return steps_of(FailingBlock(block, dict(block.answer.outputs), REQUIRED))[0]


def test_two_cases_have_no_place_that_is_one_of_cases() -> None:
    """However many states they have: those of a case are no witnesses of each other."""
    each: dict[tuple[object, ...], Steps] = {}
    for block in (*core_blocks(CELL, "float32"), *core_blocks(SEQUENCE, "float32")):
        for one in steps_of(FailingBlock(block, dict(block.answer.outputs), REQUIRED)):
            each.setdefault((block.operator, one.seen.shape[2:]), one)
    small, large = sorted(each.values(), key=lambda one: -len(one.seen))[:2]
    some = small.only(np.arange(2))
    states = [np.ones(one.seen.shape, bool) for one in (some, large)]
    assert min(int(mask.sum()) for mask in states) > 12
    assert where([some, large], [states[0], ~states[1]], [~states[0], states[1]]) == ""
    group = np.zeros(large.seen.shape, bool)
    group[..., -1] = True
    assert where([large], [group], [~group]).startswith("in hidden unit ")


def test_a_curve_is_told_as_far_as_two_halves_agree_on_it() -> None:
    one = steps()
    bump = 0.02 * np.exp(-((KNOTS - 0.5) ** 2))
    edge = np.where(KNOTS[np.argmin(np.abs(KNOTS + 2))] == KNOTS, 0.5, 0.0)
    first, second = with_curve("tanh", bump.tolist()), with_curve("tanh", (bump + edge).tolist())
    assert "by about 0.02 too large where its argument is near 0.5" in in_words(
        "tanh", first, first, [one]
    )
    assert in_words("tanh", first, second, [one]) == "tanh computed as another function"


def test_a_curve_is_held_against_the_cases_that_fail_otherwise() -> None:
    found = verify(runtime=OneOrTheOther(), select=[f"{CELL}/core/float32/*"]).diagnosis
    curves = [one for one in found.findings if "computed as another function" in one.about]
    assert [one.certain for one in curves] in ([], [False])
    assert found.failed > 50


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("kernel", "operator"), [(Leaking(), CELL), (LeakingAndFlipped(), SEQUENCE)]
)
def test_what_leaks_is_neither_arithmetic_nor_told_of_a_size(kernel: Kernel, operator: str) -> None:
    found = verify(runtime=kernel, select=[f"{operator}/core/float32/*"]).diagnosis
    assert found.failed > 20
    assert not any(one.certain and one.kind == "arithmetic" for one in found.findings)
    assert not any(one.certain and "coarse arithmetic" in one.about for one in found.findings)


def test_a_constant_error_of_large_states_is_no_curve() -> None:
    select = ["onnx.GRU-14/core/float32/*_Softplus-n8-*"]
    found = verify(runtime=Scaled(), select=select).diagnosis
    assert found.failed > 5
    assert found.findings == []

"""What is said with certainty: no case that passed speaks against it, and chance alone finds no place."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from diagnosis.kernel import Array, Direction, Kernel
from diagnosis.run import report_of
from diagnosis.wrong import WRONG

from grucible import Question, verify
from grucible.cases.dtypes import Arrays
from grucible.check.diagnosis import contradictions, places
from grucible.check.diagnosis.apart import Feature, conditions
from grucible.check.diagnosis.contradictions import Passed, Passing, excluded
from grucible.check.diagnosis.explanations import Explanation
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.local import Local
from grucible.check.diagnosis.places import where
from grucible.check.diagnosis.proof import Proof
from grucible.check.diagnosis.steps import Steps, steps_of
from grucible.check.judging.criterion import chosen_criteria
from grucible.gen.variants.known import variant_called
from grucible.vectors.block import Block
from grucible.vectors.find import CORE, case_ids

from .diagnosing import core_blocks, report_on, selected, variants_run

CELL = "openvino.GRUCell-3"
REQUIRED = chosen_criteria()["float32"]
HALVED = variant_called("z-scaled=0.5")


class AtTimes(Kernel):
    """Wrong in half of the cases, for no reason that a case shows: tanh has waves."""

    def __call__(self, question: Question) -> dict[str, Array]:
        self.wrong = zlib.crc32(question.id.encode()) % 2
        return super().__call__(question)

    def tanh(self, v: Array) -> Array:
        right = super().tanh(v)
        return np.asarray(right + 0.1 * np.sin(2 * v) * np.exp(-np.abs(v))) if self.wrong else right


def test_a_curve_that_passing_cases_speak_against_is_said_to_be_perhaps() -> None:
    found = verify(runtime=AtTimes(), select=[f"{CELL}/core/float32/*"]).diagnosis
    [finding] = [one for one in found.findings if "computed as another function" in one.about]
    assert not finding.certain


def test_of_many_cases_that_passed_all_are_asked_before_anything_is_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the cases that passed one is looked at while explanations are sought."""
    monkeypatch.setattr(contradictions, "MOST_LOOKED_AT", 1)
    block, rows = core_blocks(CELL, "float32")[0], np.arange(len(core_blocks(CELL, "float32")[0]))
    failing = block.rows(rows[::2])
    wrong = {"Ho": variants_run(HALVED.name)(failing)["Ho"]}
    parts = [FailingBlock(failing, wrong, REQUIRED)]
    one = Explanation((HALVED.name,), np.ones(len(failing), bool), near=0.1)
    for others, certain in ((rows[:0], True), (rows[1::2], False)):
        passing = Passing([Passed(CORE / "openvino/gru_cell/core.h5", block.path, others)])
        local = Local(parts, passing, len(failing), 1 << 40)
        [proven] = Proof(parts, passing, local, np.ones(len(failing), bool)).chosen([one])
        assert proven.certain is certain
        assert sum(map(len, passing.every_block())) == len(others)
        assert sum(map(len, passing.blocks)) == min(1, len(others))


def test_a_case_that_passed_excludes_what_gives_clearly_something_else() -> None:
    block = core_blocks(CELL, "float32")[0]
    assert excluded(block, [HALVED], REQUIRED).all()
    assert not excluded(block, [variant_called("z-scaled=1.0000001")], REQUIRED).any()
    assert not excluded(block, [HALVED], REQUIRED, share=1e-6).any()
    twice = variant_called("z-scaled=2")
    assert excluded(block, [twice], REQUIRED).all()
    assert not excluded(block, [HALVED, twice], REQUIRED).any()  # what one does the other undoes


def one_case(dtype: str, name: str) -> Block:
    """A core case of a cell, alone in its block."""
    [found] = selected(core_blocks(CELL, dtype), f"{CELL}/core/{dtype}/{name}")
    return found


def test_what_explains_no_step_is_held_against_others_without_leaving_a_case() -> None:
    """One case fails as a misreading has it, but no step of it does; the other has an infinite answer."""
    told = one_case("float16", "sigmoid_tanh-alpha0.25_0.75-beta0.5_2-clip1")
    other = one_case("bfloat16", "lbr-relu_sigmoid-clip0.5")
    outputs = {
        one.path: {n: (a + 0.01).astype(a.dtype) for n, a in one.answer.outputs.items()}
        for one in (told, other)
    }
    infinite = other.answer.outputs["Ho"].copy()
    infinite[0, 0, 4] = np.inf
    answers = {
        reading: replace(answer, outputs={"Ho": infinite})
        for reading, answer in other.answers.items()
    }
    found = report_on([told, replace(other, answers=answers)], lambda block: outputs[block.path])
    assert found.diagnosis.failed == 2
    assert all(one.explains for one in found.diagnosis.findings)


def test_where_no_step_of_a_failing_case_is_explained_nothing_is() -> None:
    block = core_blocks(CELL, "float32")[0].rows(np.arange(2))
    wrong = variants_run(HALVED.name)(block)["Ho"].copy()
    wrong[0] += 0.1
    parts = [FailingBlock(block, {"Ho": wrong}, REQUIRED)]
    local = Local(parts, Passing([]), 2, 1 << 40)
    found = local.explained((HALVED,), [])
    assert found is not None
    assert found.cases.tolist() == [False, True]
    assert local.explained((HALVED,), [], otherwise=np.array([False, True])) is None


def steps() -> Steps:
    """Those of a few cases of one block, all right."""
    block = core_blocks(CELL, "float32")[0]
    return steps_of(FailingBlock(block, dict(block.answer.outputs), REQUIRED))[0]


def test_a_place_that_was_found_of_some_states_is_held_against_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "MOST_ELEMENTS", 16)
    one = steps()
    group = np.zeros(one.seen.shape, bool)
    group[..., -1] = True
    others = ~group
    assert where([one], [group], [others]) == "in hidden unit 5"
    assert group.sum() > 16
    last = np.argwhere(group)[-1]
    group[tuple(last)], others[tuple(last)] = False, True
    assert where([one], [group], [others]) == ""


def test_what_chance_could_find_tells_nothing_apart() -> None:
    """Of forty coins one falls as three members and three others would have it."""
    rng = np.random.default_rng(5)
    words = {">=": "heads", "<": "tails"}
    coins = [Feature(rng.integers(0, 2, 6).astype(float), words) for _ in range(200)]
    members = np.arange(6) < 3
    assert any(set(one.values[members]) != set(one.values[~members]) for one in coins)
    assert conditions(coins, members) == []
    assert conditions([Feature(members.astype(float), words)], members) == ["heads"]


@pytest.mark.parametrize(
    ("rounded", "said"),
    [(True, "float64 computed in float32 arithmetic, at least in part"), (False, "as coarse as")],
)
def test_float64_is_computed_in_float32_where_the_outputs_are_float32_numbers(
    rounded: bool, said: str
) -> None:
    def run(block: Block) -> Arrays:
        rng = np.random.default_rng(1)
        found: Arrays = {}
        for name, right in block.answer.outputs.items():
            off = right * (1 + 1e-7 * rng.normal(size=right.shape))
            found[name] = off.astype(np.float32).astype(np.float64) if rounded else off
        return found

    found = report_on(core_blocks(CELL, "float64"), run).diagnosis
    assert found.failed > 50
    assert all(said in finding.about for finding in found.findings)
    assert bool(found.findings) or not rounded


def test_a_gate_on_a_grid_is_certain_though_rounding_decides_on_which_side_of_a_line_it_is() -> (
    None
):
    [finding] = report_of(WRONG["last-gates-of-eight-bits"]).diagnosis.findings
    assert (finding.certain, finding.about) == (
        True,
        "both gates zt and rt rounded down to multiples of 1/256",
    )


class Elsewhere(Kernel):
    """The reset gate is 1 in reverse with linear_before_reset, and forward with it something that nothing is."""

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        right = super().reset_gate(x, h, p)
        return np.ones_like(right) if p.reset_after and p.backwards else right

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        right = super().update_gate(x, h, p)
        if p.reset_after and not p.backwards:
            return np.asarray(right * (1 + 0.3 * np.sin(31 * h)))
        return right


def test_a_place_tells_what_it_is_from_cases_that_passed_and_from_others_that_failed() -> None:
    select = ["onnx.GRU-14/*/float32/*"]
    [finding] = verify(runtime=Elsewhere(), select=select).diagnosis.findings
    assert (finding.names, finding.certain) == (("reset-gate-ignored",), True)
    assert finding.where == "where direction is reverse and linear_before_reset is 1"


class OneOrTheOther(Kernel):
    """With linear_before_reset the reset gate is the update gate where B is given, and 1 where it is not."""

    def __call__(self, question: Question) -> dict[str, Array]:
        self.biased = "B" in question.inputs
        return super().__call__(question)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        right = super().reset_gate(x, h, p)
        if not p.reset_after:
            return right
        return self.update_gate(x, h, p) if self.biased else np.ones_like(right)


def test_two_findings_are_not_said_of_one_place() -> None:
    """Whichever gate is computed last hides the other: that is not to say that both are wrong."""
    few = [one for one in case_ids(None, [f"{CELL}/*/float32/*"]) if "i17" not in one]
    found = verify(runtime=OneOrTheOther(), select=few).diagnosis  # a quarter leaves B out
    certain = {one.names: one.where for one in found.findings if one.certain}
    assert certain == {
        ("reset-gate-ignored",): "where linear_before_reset is true and B is left out"
    }
    assert {one.names for one in found.findings} > set(certain)


class LastCalls(Kernel):
    """Where the reset gate is applied is taken the other way round in the last questions that are asked."""

    asked = 0

    def __call__(self, question: Question) -> dict[str, Array]:
        self.asked += 1
        return super().__call__(question)

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        late = 150 < self.asked <= 158
        return super().recurrent(h, reset, p._replace(reset_after=p.reset_after != late))


def test_what_changes_when_it_is_asked_again_has_no_place() -> None:
    """The last questions have rows of length 0; asked again, they are answered rightly."""
    found = verify(runtime=LastCalls(), select=["openvino.GRUSequence-5/*/float32/*"]).diagnosis
    assert found.failed > 3
    assert not any(one.certain for one in found.findings)
    assert any(hint.startswith("asked again") for hint in found.hints)


def test_float64_that_is_rounded_at_the_end_is_not_said_to_be_computed_in_float32() -> None:
    def rounded(block: Block) -> Arrays:
        return {
            name: right.astype(np.float32).astype(np.float64)
            for name, right in block.answer.outputs.items()
        }

    [finding] = report_on(core_blocks(CELL, "float64"), rounded).diagnosis.findings
    assert finding.about == "float64 outputs rounded to float32, or computed in it near the end"

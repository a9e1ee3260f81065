"""Mistakes that are in no catalogue are found: a number, a place, two at once, a function; nothing is made up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grucible import Report
from grucible.cases.dtypes import Arrays
from grucible.check.diagnosis import units
from grucible.check.diagnosis.beyond import candidates
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.repeated import answered_otherwise
from grucible.check.diagnosis.steps import steps_of
from grucible.check.diagnosis.trying import told_by
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.observed.source import Reply
from grucible.gen.variants.curves import KNOTS
from grucible.gen.variants.restricted import can_be_restricted, restricted
from grucible.vectors.block import Block

from .diagnosing import core_blocks, report_on, variants_run

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"


def report_of(operator: str, *names: str) -> Report:
    return report_on(core_blocks(operator, "float32"), variants_run(*names))


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("operator", "name"),
    [
        (CELL, "z-scaled=0.9"),
        (CELL, "t-limited=0.5"),
        (CELL, "r-h-scaled=0.25"),
        (SEQUENCE, "sigmoid-argument-scaled=0.5"),
        (SEQUENCE, "a_h-shifted=0.01"),
        (SEQUENCE, "in-place"),
        (SEQUENCE, "z-rounded=256"),
        (ONNX, "softplus-result-shifted=-0.7"),
        (ONNX, "rb-twice-zr"),
        (CELL, "bias-ignored@tail-of-4"),
        (CELL, "r-squared@tail-of-4"),  # which makes other units wrong, too
        (CELL, "u-over-root@tail-of-4"),  # and so does this
    ],
)
def test_one_mistake_is_named_with_its_number(operator: str, name: str) -> None:
    found = report_of(operator, name).diagnosis
    assert found.failed >= 3
    assert found.unexplained == 0
    [finding] = found.findings
    assert finding.certain
    assert (name,) in (finding.names, *finding.alternatives)


def test_what_makes_other_units_wrong_is_tried_where_they_are() -> None:
    """Of each variant of the last unit alone that changes the states of others."""
    looked_at = 0
    for block in core_blocks(CELL, "float32"):
        part = FailingBlock(block, dict(block.answer.outputs), chosen_criteria()["float32"])
        for one in steps_of(part):
            pool = [v for v in told_by(one) if can_be_restricted(v)]
            tried = {v.name for v in units._spreading(one, pool)}
            given = one.given([[restricted(v, "last-unit")] for v in pool])
            others = (given != one.right)[..., :-1].any(axis=(1, 2, 3, 4))
            changing = {v.name for v, other in zip(pool, others, strict=True) if other}
            assert changing <= tried
            looked_at += len(changing)
    assert looked_at > 100


def test_two_mistakes_that_no_case_has_alone_are_both_named() -> None:
    two = {"state-limited=0.5", "b-r-of-z"}
    found = report_of(CELL, *sorted(two)).diagnosis
    [finding] = found.findings
    assert (finding.certain, set(finding.names)) == (True, two)
    assert all(set(names) != two for names in finding.alternatives)
    assert finding.explains == found.failed


def test_what_one_operator_has_alone_is_not_tried_on_another_s_steps() -> None:
    """Wrong is the second bias that only ONNX has, and what GRUCell is given for X."""
    wrong = {ONNX: variants_run("rb-twice-zr"), CELL: variants_run("x-scaled=0.7")}
    blocks = (*core_blocks(ONNX, "float32"), *core_blocks(CELL, "float32"))
    failing = []
    for block in blocks:
        given = dict(wrong[block.operator](block))
        failing.append(FailingBlock(block, given, chosen_criteria()["float32"]))
    found = {one.variants[0].name: one.place for one in candidates(failing)}
    assert found.keys() >= {"rb-twice-zr", "x-scaled=0.7"}


def test_a_number_is_the_same_where_another_mistake_comes_on_top() -> None:
    both, one = variants_run("a_z-shifted=1", "Rbh-ignored"), variants_run("a_z-shifted=1")

    def with_the_second_after(block: Block) -> Arrays:
        after = np.array([bool(given.get("linear_before_reset")) for given in block.given])
        outputs = {name: array.copy() for name, array in one(block).items()}
        for name, array in both(block).items():
            outputs[name][after] = array[after]
        return outputs

    found = report_on(core_blocks(ONNX, "float32"), with_the_second_after).diagnosis
    named = {frozenset(finding.names) for finding in found.findings}
    assert named == {frozenset({"a_z-shifted=1"}), frozenset({"a_z-shifted=1", "Rbh-ignored"})}
    assert all(finding.certain for finding in found.findings)


def test_a_mistake_of_one_direction_is_said_to_be_there() -> None:
    """In reverse the update gate is halved; forward, it is right."""
    wrong, right = variants_run("z-scaled=0.5"), variants_run()

    def reverse(block: Block) -> Arrays:
        outputs = {name: array.copy() for name, array in right(block).items()}
        whole = wrong(block)
        for row, given in enumerate(block.given):
            first = 1 if given.get("direction") == "bidirectional" else 0
            if given.get("direction", "forward") != "forward":
                for name, array in outputs.items():
                    array[row][:, first] = whole[name][row][:, first]
        return outputs

    found = report_on(core_blocks(SEQUENCE, "float32"), reverse).diagnosis
    [finding] = found.findings
    assert (finding.names, finding.where) == (("z-scaled=0.5",), "in reverse")
    assert (finding.certain, found.unexplained) == (True, 0)


def test_an_error_of_one_hidden_unit_is_not_called_coarse_arithmetic() -> None:
    """What is off by a thousandth there fits what bfloat16 admits; all else is right to float32."""

    def off(block: Block) -> Arrays:
        outputs = {name: array.copy() for name, array in block.answer.outputs.items()}
        for array in outputs.values():
            array[..., 2] *= np.float32(1.001)
        return outputs

    found = report_on(core_blocks(CELL, "float32"), off).diagnosis
    assert found.failed > 50
    assert all(finding.kind != "arithmetic" for finding in found.findings)
    told = [*found.hints, *(finding.where for finding in found.findings)]
    assert any("hidden unit 2" in one for one in told)


def test_noise_is_explained_by_nothing() -> None:
    rng = np.random.default_rng(1)

    def noisy(block: Block) -> Arrays:
        return {
            name: (array + rng.normal(0, 0.1, array.shape)).astype(array.dtype)
            for name, array in block.answer.outputs.items()
        }

    found = report_on(core_blocks(CELL, "float32"), noisy).diagnosis
    assert [finding for finding in found.findings if finding.certain] == []
    assert found.unexplained == found.failed


def test_what_may_be_of_all_is_no_more_certain_of_a_case() -> None:
    """Every third case has the update gate halved; nothing tells these from others, which are noise."""
    wrong, rng = variants_run("z-scaled=0.5"), np.random.default_rng(7)

    def sometimes(block: Block) -> Arrays:
        outputs = {name: array.copy() for name, array in wrong(block).items()}
        for array in outputs.values():
            noisy = np.arange(len(array)) % 3 > 0
            array[noisy] += rng.normal(0, 0.3, array[noisy].shape).astype(array.dtype)
        return outputs

    found = report_on(core_blocks(CELL, "float32")[:3], sometimes).diagnosis
    [finding] = found.findings
    assert (finding.names, finding.certain) == (("z-scaled=0.5",), False)
    of_cases = [one for one in found.by_case.values() if one.names == finding.names]
    assert len(of_cases) == finding.explains
    assert not any(one.certain for one in of_cases)


def test_another_function_is_told_with_where_it_is_off() -> None:
    """tanh is flatter where its argument is negative: something that no form of it is."""

    def flatter(block: Block) -> Arrays:
        return dict(variants_run("tanh-and-curve=" + ",".join(map(str, CURVE)))(block))

    CURVE = np.where(KNOTS < 0, 0.05 * KNOTS**2 * np.exp(-(KNOTS**2)), 0.0).round(6).tolist()
    found = report_on(core_blocks(CELL, "float32"), flatter).diagnosis
    [finding] = found.findings
    assert finding.about.startswith("tanh computed as another function: by about 0.018 too large")
    assert finding.about.endswith("near -1")
    assert finding.explains > 0.9 * found.failed


def part_of(change: Callable[[Arrays], None]) -> FailingBlock:
    block = next(
        b for b in core_blocks(SEQUENCE, "float32") if "B3H-int32" in b.path and len(b) > 10
    )
    observed = {name: array.copy() for name, array in block.answer.outputs.items()}
    change(observed)
    return FailingBlock(block, observed, chosen_criteria()["float32"])


def test_right_states_are_right_one_step_at_a_time() -> None:
    for steps in steps_of(part_of(lambda _: None)):
        assert not steps.wrong.any()
        assert steps.rest.all()


def test_a_wrong_state_is_wrong_by_itself_and_the_next_is_held_against_it() -> None:
    """Y[:, 0, 0] of row 0 is off: that step is wrong, and the next, which did not start from it."""

    def off(outputs: Arrays) -> None:
        outputs["Y"][:, 0, 0, 0] += np.float32(0.25)

    forward = [
        (steps, case)
        for steps in steps_of(part_of(off))
        for case, word in enumerate(steps.stack.semantics.directions[0])
        if word == "forward" and steps.stack.inputs.lengths[case, 0] > 1
    ]
    assert len(forward) >= 3
    for steps, case in forward:
        wrong = steps.wrong[case, 0].any(axis=-1)
        assert set(np.flatnonzero(wrong)) == {0, 1}


def test_what_is_past_a_length_is_no_step_and_is_said_to_be_wrong() -> None:
    right = part_of(lambda _: None)
    held = variants_run("Y-holds-last-state")(right.block)
    steps = steps_of(FailingBlock(right.block, dict(held), right.criterion))
    assert not any(one.wrong.any() for one in steps)
    for one in steps:
        ragged = (one.stack.inputs.lengths < one.stack.inputs.x.shape[-2]).any(axis=-1)
        assert ragged.any()
        assert not one.rest[ragged].any()
        assert one.rest[~ragged].all()


def test_where_states_are_handed_out_wrongly_every_step_is_said_to_be_right() -> None:
    rng = np.random.default_rng(4)

    def off(block: Block) -> Arrays:
        ho = block.answer.outputs["Ho"]
        added = rng.normal(0, 0.3, ho.shape).astype(ho.dtype)
        return {**block.answer.outputs, "Ho": ho + added}

    found = report_on(core_blocks(SEQUENCE, "float32"), off).diagnosis
    assert found.unexplained == found.failed > 50
    [steps, output] = found.hints
    assert steps.startswith("every step is right up to rounding, given the state before it")
    assert output == "only Ho is wrong"


def test_questions_that_are_answered_otherwise_are_told() -> None:
    def off(outputs: Arrays) -> None:
        outputs["Y"] += np.float32(0.5)

    part = part_of(off)
    which = np.ones(len(part), bool)
    same = Reply("ok", {name: array[0] for name, array in part.observed.items()})
    other = Reply("ok", {name: array + np.float32(0.1) for name, array in same.outputs.items()})
    assert answered_otherwise([part], which, lambda asked: [same] * len(asked)) == ""
    told = answered_otherwise([part], which, lambda asked: [same, other][: len(asked)])
    assert told.startswith("asked again, 1 of 1 of these cases gave other numbers")
    refused = Reply("error", {}, "not again")
    assert answered_otherwise([part], which, lambda asked: [refused] * len(asked)) == ""

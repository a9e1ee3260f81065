"""No kernel conforms that is wrong in a corner: wherever a condition on a question holds, or two of them do."""

# ruff: noqa: ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from corners import Asked, conditions, met, mixed, together
from diagnosis.kernel import Kernel, kernel
from diagnosis.real import REAL
from shipped import core_cases, expanded

from grucible import Question, verify
from grucible.cases.dtypes import Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.specs.expand import CaseSpec
from grucible.check.judging.case_result import DECIDING
from grucible.vectors.case import REQUIRED, Answer


@cache
def deciding(operator: str) -> tuple[list[CaseSpec], np.ndarray]:
    """List an operator's deciding cases, and say in which of them a kernel fails that is wrong by half."""
    found = [
        case
        for spec, cases in expanded()
        for case in cases
        if case.operator == operator and case.tier != "nonportable"
        if max(case.lengths or (1,))  # rows that are all empty say nothing of a step
    ]
    return found, np.array([case.id in failing(operator) for case in found])


@cache
def failing(operator: str) -> frozenset[str]:
    """List the core cases of an operator in which half of each exact number is not within the tolerance."""
    return frozenset(
        case.id
        for case in core_cases()
        if case.operator == operator and case.tier in DECIDING
        if all(
            is_far(halved(case.answer.outputs), one, case.dtype) for one in case.answers.values()
        )
    )


def halved(outputs: Arrays) -> Arrays:
    return {name: (array * 0.5).astype(array.dtype) for name, array in outputs.items()}


def is_far(outputs: Arrays, answer: Answer, dtype: str) -> bool:
    limits = answer.tolerances[REQUIRED[dtype]]
    return any(
        (np.abs(outputs[name].astype(float) - array.astype(float)) > limits[name]).any()
        for name, array in answer.outputs.items()
    )


@pytest.mark.parametrize("operator", sorted({case.operator for case in core_cases()}))
def test_half_of_nearly_every_core_answer_fails(operator: str) -> None:
    """All but zeros, and a few whose tolerances are smaller than their values, but not than half of them."""
    asked = [c.id for c in core_cases() if c.operator == operator and c.tier in DECIDING]
    assert len(failing(operator)) > 0.99 * len(asked)


CROSSED = [spec.model.operator for spec, _ in expanded() if spec.theme == "crossed"]
"""The operators whose sizes are crossed with everything else; those of PyTorch and WebNN are not yet."""


@pytest.mark.parametrize("operator", CROSSED)
def test_corners_are_met(operator: str) -> None:
    """Of any two conditions that a question can meet, core cases meet most, and all cases nearly every two."""
    of, (cases, core) = OPERATORS[operator], deciding(operator)
    every = met(of, cases)
    possible = [case for case in mixed(cases, 2000, 1) if max(case.lengths or (1,))]
    pairs = np.argwhere(np.triu(together(met(of, possible)))).tolist()
    names = [*conditions(of)]
    assert len(names) >= 75
    for table, least in ((every[:, core], IN_CORE), (every, IN_ALL)):
        both = together(table)
        alone = {name for name, row in zip(names, both.diagonal(), strict=True) if not row}
        assert alone <= BEYOND
        missed = {(names[one], names[other]) for one, other in pairs if not both[one, other]}
        assert len(missed - UNASKED) <= (1 - least) * len(pairs), missed


IN_CORE, IN_ALL = 0.95, 0.999
"""Least share of pairs of conditions that core cases meet, which mostly lack pairs of large cells; and all cases."""
UNASKED = {("hidden of 129 or more", "g thresholded-relu")}
"""Pairs that no draw can ask: of so many units one is always as near to the threshold as rounding errs."""
BEYOND = {"|inputHiddenWeight| above 10", "|hiddenHiddenWeight| above 10"}
"""What BNNSGraph's core does not ask: pre-activations pass 50 (ledger: range)."""


def beyond_one(at: Asked) -> bool:
    return any(e > 0 for name, e in at.exponents.items() if name not in ("X", "x"))


def other_functions(at: Asked) -> bool:
    return any(
        (f.name, g.name) != ("sigmoid", "tanh") for f, g in zip(at.meant.f, at.meant.g, strict=True)
    )


FIRST = {
    "hidden above 65, or 33 outside float32":
        lambda at: at.sizes["hidden"] > (65 if at.case.dtype == "float32" else 33),
    "batch above 9": lambda at: at.sizes["batch"] > 9,
    "time above 9 or a multiple of 8": lambda at: at.time > 9 or at.time % 8 == 0,
    "both directions of some size":
        lambda at: at.both and (at.sizes["hidden"] >= 16 or at.sizes["batch"] >= 4 or at.time >= 8),
    "clip from 8 on": lambda at: at.meant.clip < math.inf and at.sizes["hidden"] >= 8,
    "other functions from 8 on": lambda at: other_functions(at) and at.sizes["hidden"] >= 8,
    "layout 1 from 8 on": lambda at: at.case.given.get("layout") == 1 and at.sizes["hidden"] >= 8,
    "no B from 8 on": lambda at: "B" in at.case.absent and at.sizes["hidden"] >= 8,
    "ragged from 16 on": lambda at: at.time >= 16 and min(at.lengths) < at.time,
    "numbers above 1": beyond_one,
}  # fmt: skip
SECOND = {
    "numbers above 1": beyond_one,
    "batch above 17": lambda at: at.sizes["batch"] > 17,
    "input above 128": lambda at: at.sizes["input"] > 128,
    "both directions from 8 steps on": lambda at: at.both and at.time >= 8,
    "hidden above 128": lambda at: at.sizes["hidden"] > 128,
    "relu from 8 on": lambda at: (
        at.sizes["hidden"] >= 8 and any(f.name == "relu" for f in (*at.meant.f, *at.meant.g))
    ),
}
"""Two kernels that conformed: each was wrong by half wherever any of its conditions held."""


@pytest.mark.parametrize("kernel", [FIRST, SECOND], ids=["first", "second"])
@pytest.mark.parametrize("operator", CROSSED)
def test_each_part_of_two_kernels_that_conformed_fails(operator: str, kernel: Any) -> None:
    cases, core = deciding(operator)
    for name, condition in kernel.items():
        meeting = np.array([condition(Asked.of(case)) for case in cases])
        assert (meeting & core).any() or not meeting.any(), name


def test_a_kernel_fails_where_it_is_wrong_and_nowhere_else() -> None:
    operator = "openvino.GRUSequence-5"
    known = {case.id: case.answer.outputs for case in core_cases() if case.operator == operator}
    wrong = {
        case.id
        for case in deciding(operator)[0]
        if any(part(Asked.of(case)) for part in FIRST.values())
    }

    def run(question: Question) -> Arrays:
        right = known[question.id]
        return halved(right) if question.id in wrong else right

    report = verify(runtime=run, select=f"{operator}/*/float32/*", diagnosis=False)
    asked = {one.id for one in report.results}
    failed = {one.id for one in report.results if one.verdict == "failed"}
    assert set() < wrong & failing(operator) & asked <= failed <= wrong


class FirstStepWithoutBias(Kernel):
    """Without initial_h, the first step skips the product with R, and Rbh with it (mlx 3249)."""

    def unpack(self, question):
        self.stateless = "initial_h" not in question.inputs
        return super().unpack(question)

    def recurrent(self, h, reset, p):
        nothing = self.stateless and self.now == 0
        return np.zeros_like(h) if nothing else super().recurrent(h, reset, p)


class StateOfTimes(Kernel):
    """With layout 1 and without initial_h, the zero state has T rows instead of N (tract 2023)."""

    def unpack(self, question):
        task = super().unpack(question)
        if "initial_h" in question.inputs or question.attributes["layout"] == 0:
            return task
        return task._replace(h0=np.zeros((len(task.h0), len(task.x), task.h0.shape[2]), "f4"))


def second_block_from_the_first(k, question, y, last):
    """The second block of 32 rows is computed where the first one was (oneDNN)."""
    return Kernel.pack(k, question, y, np.concatenate([last[:, :32], last[:, 32:][:, ::-1]], 1))


def off_by_a_millionth(v):
    return np.exp(v) * v.dtype.type(1 + 1e-6)


WRONG = {
    "mlx 3249": FirstStepWithoutBias,
    "tract 2023": StateOfTimes,
    "dynet 1525": REAL["dynet-logistic"],
    "second block of rows": kernel(pack=second_block_from_the_first),
    "tanh overflows": kernel(tanh=lambda k, v: (np.exp(2 * v) - 1) / (np.exp(2 * v) + 1)),
    "sigmoid overflows": kernel(sigmoid=lambda k, v: np.exp(v) / (1 + np.exp(v))),
    "softplus overflows": kernel(softplus=lambda k, v: np.log1p(np.exp(v))),
    "exponential off by a millionth": kernel(
        tanh=lambda k, v: -np.expm1(-2 * v) / (1 + off_by_a_millionth(-2 * v))
    ),
}
"""Bugs that passed: of public trackers, and of functions far from zero and near it."""


@pytest.mark.parametrize("name", WRONG)
def test_bugs_that_passed_are_caught(name: str) -> None:
    report = verify(runtime=WRONG[name](), select="onnx.GRU-14/*/float32/*", diagnosis=False)
    assert report.verdict == "does not conform"


def test_the_kernel_that_these_change_is_right() -> None:
    report = verify(runtime=Kernel(), select="onnx.GRU-14/*/float32/*", diagnosis=False)
    assert report.counts["failed"] == report.counts["error"] == 0

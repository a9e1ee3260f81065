"""No kernel conforms that is wrong in a corner: wherever a condition on a question holds, or two of them do."""

# ruff: noqa: ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

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


@cache
def deciding(operator: str) -> tuple[list[CaseSpec], np.ndarray]:
    """List an operator's deciding cases, and say which of them are core cases."""
    found = [
        (case, spec.theme.startswith(("core", "plain")))
        for spec, cases in expanded()
        for case in cases
        if case.operator == operator and case.tier != "nonportable"
        if max(case.lengths or (1,))  # rows that are all empty say nothing of a step
    ]
    return [case for case, _ in found], np.array([core for _, core in found])


CROSSED = [spec.model.operator for spec, _ in expanded() if spec.theme == "crossed"]
"""The operators whose sizes are crossed with everything else; those of PyTorch and WebNN are not yet."""


@pytest.mark.parametrize("operator", CROSSED)
def test_corners_are_met(operator: str) -> None:
    """Of two conditions that a question can meet, drawn at random, core cases meet most pairs."""
    of, (cases, core) = OPERATORS[operator], deciding(operator)
    every = met(of, cases)
    could = together(met(of, mixed(cases, 2000, 1)))
    pairs = random.Random(2).sample(np.argwhere(np.triu(could)).tolist(), 1000)
    names = [*conditions(of)]
    assert len(names) >= 75
    for table, least in ((every[:, core], IN_CORE), (every, IN_ALL)):
        both = together(table)
        alone = [name for name, row in zip(names, both.diagonal(), strict=True) if not row]
        assert [name for name in alone if name not in BEYOND] == []
        missed = [(names[one], names[other]) for one, other in pairs if not both[one, other]]
        assert len(missed) <= (1 - least) * len(pairs), missed


IN_CORE, IN_ALL = 0.88, 0.95
"""Least share of pairs of conditions that core cases meet, and all cases."""
BEYOND = {"|inputHiddenWeight| above 10", "|hiddenHiddenWeight| above 10"}
"""What BNNSGraph's cases do not ask: pre-activations pass 50 (ledger: range)."""


def half(wrong: Callable[[Asked], bool], asked: dict[str, Asked]) -> Callable[[Question], Arrays]:
    """Make a runtime that knows the answers, and halves them wherever a condition holds."""
    known = {case.id: case.answer.outputs for case in core_cases()}

    def run(question: Question) -> Arrays:
        factor = 0.5 if wrong(asked[question.id]) else 1
        return {
            name: (array * factor).astype(array.dtype) for name, array in known[question.id].items()
        }

    return run


CONDITIONS = {
    "sizes": lambda at: at.sizes["hidden"] > 65 or (at.sizes["hidden"] > 33 and at.case.dtype != "float32"),
    "beyond 1": lambda at: any(
        e > 0 for name, e in at.exponents.items() if name not in ("X", "x")
    ),
    "128 inputs": lambda at: at.sizes["input"] > 128,
    "17 rows": lambda at: at.sizes["batch"] > 17,
    "ragged from 16 on": lambda at: at.sizes["time"] >= 16 and min(at.lengths) < at.sizes["time"],
    "both directions": lambda at: at.sizes["direction"] == 2 and at.sizes["time"] >= 8,
    "clip from 8 on": lambda at: at.meant.clip < 9 and at.sizes["hidden"] >= 8,
}  # fmt: skip
"""Parts of two kernels that conformed: each was wrong by half wherever any of its conditions held."""


VAGUE = {
    "openvino.GRUSequence-5/core_crossed/float16/forward-lbr-sigmoid_relu-n1-t33-i129-h2-short"
}
"""The case whose tolerances are smaller than its values, as in every deciding case, but not than their halves."""


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_kernel_that_is_wrong_by_half_fails_wherever_it_is_wrong(name: str) -> None:
    """So whether a condition is met says whether such a kernel conforms."""
    asked = {c.id: Asked.of(c) for _, cases in expanded() for c in cases if "Sequence" in c.id}
    wrong = CONDITIONS[name]
    report = verify(runtime=half(wrong, asked), select="openvino.GRUSequence-5/*", diagnosis=False)
    expected = {
        case.id
        for case in core_cases()
        if case.id in asked and wrong(asked[case.id])
        if any(array.any() for array in case.answer.outputs.values())  # half of zero is zero
    }
    failed = {one.id for one in report.results if one.verdict == "failed"}
    assert failed
    assert failed <= expected <= failed | VAGUE


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

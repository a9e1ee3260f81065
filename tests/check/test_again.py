"""Questions that were answered right, asked again: what a runtime keeps between them shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shipped import core_blocks

from grucible import Question, report_text, verify
from grucible.check.again import EVERY, other_rows
from grucible.check.examples.my_gru import run as right
from grucible.check.observed.pool import ASKED, RUN
from grucible.check.reports.formats import report_value
from grucible.check.reports.terminal import headline
from grucible.gen.posed import NEAR, answered_case
from grucible.vectors.block import Block

FLOAT32 = "openvino.GRUSequence-5/core*/float32/*"
WEIGHTS = ("W", "R", "B")
Run = Callable[[Question], Any]


class Kept:
    """A right runtime that keeps the weights of a model from its first question."""

    prepared, runs = 0, 0
    y: Any
    state: Any
    before: Any

    def prepare(self, question: Question) -> Run:
        self.prepared, self.runs = self.prepared + 1, 0
        weights = {n: question.inputs[n].copy() for n in WEIGHTS if n in question.inputs}

        def run(other: Question) -> Any:
            self.runs += 1
            return self.run(replace(other, inputs={**other.inputs, **weights}), weights)

        return run

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        return right(question)


class WeightsInPlace(Kept):
    """mxnet#16663: each run leaves the weights otherwise than it found them."""

    def run(self, question: Question, weights: dict[str, Any]) -> Any:
        outputs = right(question)
        weights["R"] *= np.float32(1.5)
        return outputs


class SmallBuffer(Kept):
    """The buffer has room for the batch of a model's first run; rows beyond it are not computed."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        outputs = right(question)
        if self.runs == 1:
            self.room = len(question.inputs["X"])
        return {name: array * (np.arange(len(array)) < self.room).reshape(-1, *[1] * (array.ndim - 1))
                for name, array in outputs.items()}  # fmt: skip


class Unwritten(Kept):
    """What is past a row's end is not written: in new memory it is 0."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        outputs = right(question)
        if "Y" not in outputs:
            return outputs
        y, lengths = outputs["Y"], question.inputs["sequence_lengths"]
        padding = np.arange(y.shape[2]) >= lengths[:, None]
        if self.runs > 1 and self.y.shape == y.shape:
            y = np.where(padding[:, None, :, None], self.y, y)
        self.y = y
        return {**outputs, "Y": y}


class Stateful(Kept):
    """A model's second run starts with the state that its first left."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        inputs, name = dict(question.inputs), "initial_hidden_state"
        if self.runs > 1:
            rows = np.arange(len(inputs[name])) % len(self.state)
            inputs[name] = self.state[rows]
        outputs = right(replace(question, inputs=inputs))
        self.state = outputs["Ho"]
        return outputs


class KeyedByShape(Kept):
    """The products of X are kept for inputs of the same shape."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}

    def run(self, question: Question, weights: dict[str, Any]) -> Any:
        key = *(array.tobytes() for array in weights.values()), question.inputs["X"].shape
        x = self.kept.setdefault(key, question.inputs["X"].copy())
        return right(replace(question, inputs={**question.inputs, "X": x}))


class Overrun(Kept):
    """A model can be run once."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        if self.runs > 1:
            raise MemoryError("the heap is corrupt")
        return right(question)


class AnswerBefore(Kept):
    """The answer is in memory that the run before filled, unless it has another shape."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        new = right(question)
        outputs = new if self.runs == 1 else self.before
        fits = all(outputs[name].shape == array.shape for name, array in new.items())
        self.before = new
        return outputs if fits else new


class Noisy(Kept):
    """Right, and by a part of the tolerance another answer each time."""

    def run(self, question: Question, _: dict[str, Any]) -> Any:
        outputs = right(question)
        return {n: a * np.float32(1 + self.runs * 2.0**-24) for n, a in outputs.items()}


@pytest.mark.parametrize(
    "kind", [WeightsInPlace, SmallBuffer, Unwritten, Stateful, KeyedByShape, AnswerBefore]
)
def test_what_a_kept_model_leaves_behind_is_found(kind: type[Kept]) -> None:
    once = verify(runtime=lambda question: kind().prepare(question)(question), select=FLOAT32)
    report = verify(runtime=kind(), select=FLOAT32)
    assert (once.verdict, report.verdict) == ("conforms", "does not conform")
    wrong = [one for one in report.results if one.wrong]
    [finding] = report.diagnosis.findings
    assert (finding.explains, {one.verdict for one in wrong}) == (len(wrong), {"failed"})
    assert all(one.message.startswith("asked again") for one in wrong)
    assert {one.id for one in wrong} == report.diagnosis.by_case.keys()
    shown = " ".join(report_text(report).split())
    others = (
        "with other rows of their batch, "
        if kind in (Unwritten, KeyedByShape, AnswerBefore)
        else ""
    )
    assert f"asked again, {others}{len(wrong)} of {report.asked_again} cases" in shown
    assert report_value(report)["asked_again"] == report.asked_again


def test_an_error_of_a_second_run_is_its_case_s_error() -> None:
    report = verify(runtime=Overrun(), select=FLOAT32)
    wrong = [one for one in report.results if one.wrong]
    assert {one.verdict for one in wrong} == {"error"}
    assert (len(wrong), len(report.diagnosis.findings)) == (report.asked_again, 0)
    assert all("asked again: MemoryError" in one.message for one in wrong)


def test_what_nothing_explains_may_be_so_for_what_was_asked_before() -> None:
    kept: dict[Any, Any] = {}

    def run(question: Question) -> Any:
        key = question.operator, question.inputs["X"].shape
        x = kept.setdefault(key, question.inputs["X"].copy())
        return right(replace(question, inputs={**question.inputs, "X": x}))

    report = verify(runtime=run, select="openvino.GRUCell-3/plain/float32/*")
    assert 0 < report.diagnosis.unexplained < report.counts["failed"]
    assert headline(report).endswith("; a row's answer depends on more than that row, see below")
    assert "start with: " not in report_text(report), "asked alone, each case passes"


def test_rows_that_depend_on_others_are_not_taken_for_hidden_state() -> None:
    def run(question: Question) -> Any:
        x = question.inputs["X"].copy()
        x[:-1, -1] = question.inputs["X"][1:, 0]
        return right(replace(question, inputs={**question.inputs, "X": x}))

    report = verify(runtime=run, select=FLOAT32)
    assert report.asked_again > 0
    assert "a row's answer depends on more than that row" in headline(report)
    assert "more than the question" not in " ".join(report_text(report).split())


@pytest.mark.parametrize("kind", [Kept, Noisy])
def test_right_answers_of_a_kept_model_pass(kind: type[Kept]) -> None:
    runtime = kind()
    report = verify(runtime=runtime, select=FLOAT32)
    assert report.verdict == "conforms"
    several = Counter(one.operator for one in report.results if one.traits["batch size"] != "1")
    assert report.asked_again == sum(-(-count // EVERY) for count in several.values())
    assert runtime.prepared <= len(report.results) + report.asked_again
    assert "asked again" not in report_text(report)


def test_a_function_with_a_method_of_that_name_is_a_function() -> None:
    class Function(Kept):
        __call__ = staticmethod(right)

    runtime = Function()
    assert verify(runtime=runtime, select="openvino.GRUCell-3/plain/float32/*").exit_status == 0
    assert runtime.prepared == 0


def test_what_must_not_be_asked_again_is_not() -> None:
    ids: list[str] = []

    def run(question: Question) -> Any:
        ids.append(question.id)
        return {name: array + 1 for name, array in right(question).items()}

    report = verify(runtime=run, select="openvino.GRUCell-3/plain/float32/*", diagnosis=False)
    assert (report.asked_again, len(ids), len({*ids})) == (0, len(ids), len(ids))


@pytest.mark.parametrize("block", core_blocks()[::41], ids=lambda block: block.path)
def test_rows_of_a_batch_have_the_answers_of_their_own_question(block: Block) -> None:
    for part, _ in other_rows(block.rows(np.array([len(block) - 1]))):
        exact = answered_case(part.question(0), nonportable=block.tier == "nonportable")
        for reading, found in exact.answers.items():
            stored = part.answers[reading].rows(0)
            for name, array in found.outputs.items():
                assert array.tobytes() == stored.outputs[name].tobytes()
            for kind, limits in found.tolerances.items():
                for name, limit in limits.items():
                    np.testing.assert_allclose(stored.tolerances[kind][name], limit, rtol=NEAR)


def test_questions_of_one_case_stay_in_one_process() -> None:
    for block in core_blocks()[::41]:
        assert len(list(other_rows(block.rows(np.array([0]))))) == ASKED
    assert RUN % ASKED == 0


def test_another_reading_when_asked_again_fails() -> None:
    """Every answer is right under a reading; a runtime must follow one throughout."""
    zeros = "openvino.GRUSequence-5/core_with_zero/float32/*"
    calls = Counter[str]()

    def run(question: Question) -> Any:
        calls[question.id] += 1
        if calls[question.id] == 1:
            return right(question)
        other = answered_case(question).answers.get(("len-zero.initial-state",))
        return other.outputs if other else right(question)

    report = verify(runtime=run, select=zeros)
    assert report.verdict == "does not conform"
    assert "another reading of len-zero" in next(r.message for r in report.results if r.wrong)
    held = report.grades["float32"]
    assert held.holds["float32"] == held.compared - report.counts["failed"]

"""Diagnosis: wrong runtimes get the right sentence, those that are wrong in no known way get none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grucible import Question, Report, verify
from grucible.cases.dtypes import Arrays
from grucible.cases.operators.readings import STORED
from grucible.check.reports.terminal import headline, report_lines
from grucible.vectors.block import Block

from .diagnosing import by_question, core_blocks, report_on, selected, variants_run
from .numpy_gru import in_float32, keeps_h0, run

Array = npt.NDArray[Any]
CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"
FLOAT32 = ("openvino.*/float32/*",)


def test_what_nothing_explains_is_said_to_be_unexplained() -> None:
    rng = np.random.default_rng(5)

    def noisy(question: Question) -> dict[str, Array]:
        return {
            name: (array + rng.normal(0, 0.5, array.shape)).astype(array.dtype)
            for name, array in run(question).items()
        }

    report = report_on(core_blocks(CELL, "float32"), by_question(noisy))
    assert report.diagnosis.unexplained == report.diagnosis.failed > 0
    assert any(line.split()[1:] == ["unexplained"] for line in report_lines(report))
    assert "explained by" not in headline(report)


def sometimes(
    wrong: Callable[[Question], dict[str, Array]],
) -> Callable[[Question], dict[str, Array]]:
    """Wrong where the direction is reverse, right elsewhere."""
    return lambda question: (wrong if question.attributes.get("direction") == "reverse" else run)(
        question
    )


def lengths_ignored(question: Question) -> dict[str, Array]:
    return run(question, mistake="sequence_lengths ignored")


def test_a_bug_in_some_cases_only_is_said_not_to_be_everywhere() -> None:
    report = verify(runtime=sometimes(lengths_ignored), select=FLOAT32)
    [finding] = report.diagnosis.findings
    assert finding.names == ("lengths-ignored",)
    assert finding.contradicted > 0
    assert (finding.where, finding.certain) == ("where direction is reverse", True)
    assert "ignored, every row as long as the time axis, where direction is reverse" in " ".join(
        " ".join(report_lines(report)).split()
    )


def test_coarser_arithmetic_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that explains all, no function is suspected: for that, all cases that passed are read again."""

    def read(*_: Any) -> None:
        raise AssertionError("the cases that passed are read")

    monkeypatch.setattr("grucible.check.diagnosis.diagnose.suspected", read)
    report = verify(runtime=in_float32, select=("openvino.*/float64/*", *FLOAT32))
    [finding] = report.diagnosis.findings
    assert (finding.kind, finding.names) == ("arithmetic", ("float32",))
    assert "float64 computed in float32 arithmetic, at least in part" in headline(report)


def test_a_reading_that_changes_from_case_to_case_fails() -> None:
    """Zeros forward and the initial state in reverse: that is in no reading of the text."""
    report = verify(runtime=sometimes(keeps_h0), select=FLOAT32)
    assert report.verdict == "does not conform"
    [finding] = report.diagnosis.findings
    assert (finding.kind, finding.explains) == ("reading", report.counts["failed"])
    assert (report.diagnosis.failed, report.diagnosis.unexplained) == (finding.explains, 0)
    wrong = [result for result in report.results if result.verdict == "failed"]
    assert wrong
    assert all("reverse" in result.id for result in wrong)
    assert all(result.message.startswith("this case follows") for result in wrong)
    assert set(report.readings_followed["len-zero"]) == {STORED, ("len-zero.initial-state",)}
    told = " ".join(" ".join(report_lines(report)).split())
    assert "not the same in every case" in told
    assert "the last state of a row of length 0 is zeros (basis: the owner's runtime, or" in told


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("off", "operator"), [("offset", CELL), ("noise", SEQUENCE), ("padding", SEQUENCE)]
)
def test_an_error_that_no_variant_makes_gets_no_misreading(off: str, operator: str) -> None:
    def wrong(block: Block) -> Arrays:
        rng = np.random.default_rng(3)
        changed = {}
        for name, right in block.answer.outputs.items():
            if off == "padding":
                changed[name] = np.where(right == 0, np.float32(1e-30), right)
            else:
                added = 1e-3 * (rng.normal(size=right.shape) if off == "noise" else 1.0)
                changed[name] = (right + added).astype(right.dtype)
        return changed

    diagnosis = report_on(core_blocks(operator, "float32"), wrong).diagnosis
    assert diagnosis.failed > 20
    assert diagnosis.findings == [] or off == "offset"
    if off == "padding":
        assert diagnosis.unexplained == diagnosis.failed
        assert "every wrong element of Y is past its row's length" in diagnosis.hints


def changed(
    change: Callable[[Array], Array], name: str = "softplus-overflows"
) -> Callable[[Block], Arrays]:
    """What a variant gives, with each case's outputs changed."""
    run_variant = variants_run(name)

    def whole(block: Block) -> Arrays:
        return {
            name: np.stack([change(one) for one in array])
            for name, array in run_variant(block).items()
        }

    return whole


def test_an_overflow_is_recognised_wherever_its_infinities_and_nans_spread() -> None:
    blocks = core_blocks(ONNX, "float32")
    report = report_on(blocks, changed(lambda a: np.where(np.isinf(a), np.nan, a)))
    assert [finding.names for finding in report.diagnosis.findings] == [("softplus-overflows",)]
    assert report.diagnosis.unexplained == 0
    report = report_on(blocks, changed(lambda a: np.where(np.isfinite(a).all(), a, np.nan)))
    assert report.diagnosis.unexplained == report.diagnosis.failed > 0


def test_a_runtime_of_nothing_but_nan_gets_no_misreading(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is looked for, which took seconds."""

    def looked_for(*_: Any) -> None:
        raise AssertionError("a variant is computed")

    monkeypatch.setattr("grucible.check.diagnosis.failing.variant_outputs", looked_for)
    monkeypatch.setattr("grucible.check.diagnosis.beyond.listed", looked_for)
    report = report_on(core_blocks(ONNX, "float32"), by_question(Question.buffers))
    assert report.diagnosis.findings == []
    assert report.diagnosis.unexplained == report.counts["failed"] > 50


def test_not_numbers_in_one_row_are_no_overflow_of_softplus() -> None:
    right = variants_run()

    def first_row_nan(block: Block) -> Arrays:
        outputs = dict(right(block))
        for row, given in enumerate(block.given):
            at = 0 if given.get("layout") == 1 else (..., 0, slice(None))
            for array in outputs.values():
                array[row][at] = np.nan
        return outputs

    blocks = selected(core_blocks(ONNX, "float32"), "*Softplus*x64*")
    diagnosis = report_on(blocks, first_row_nan).diagnosis
    assert diagnosis.findings == []
    assert diagnosis.unexplained == diagnosis.failed > 0


def test_one_misreading_in_two_arithmetics_explains_both() -> None:
    """Softplus overflows in float32, which the float64 cases are computed in as well."""
    blocks = [
        block
        for dtype in ("float32", "float64")
        for block in selected(core_blocks(ONNX, dtype), "*Softplus-n8-t1-x64")
    ]
    diagnosis = report_on(blocks, variants_run("softplus-overflows")).diagnosis
    assert diagnosis.unexplained == 0
    [overflow] = [one for one in diagnosis.findings if one.names == ("softplus-overflows",)]
    assert overflow.explains > 8
    assert overflow.about.endswith("some of it in coarse arithmetic")


def test_a_runtime_that_writes_into_what_it_is_given_changes_nothing() -> None:
    def emptied(question: Question) -> None:
        for array in question.inputs.values():
            array[...] = 0

    def after(question: Question) -> dict[str, Array]:
        outputs = run(question)
        emptied(question)
        return outputs

    def before(question: Question) -> dict[str, Array]:
        emptied(question)
        return run(question)

    def judged(runtime: Callable[[Question], dict[str, Array]]) -> Report:
        return verify(runtime=runtime, select=FLOAT32, diagnosis=False)

    assert judged(after).counts == {"passed": 271}
    assert judged(before).counts == {"failed": 271}

"""Diagnosis: every variant is diagnosed as itself, wrong runtimes get the right sentence, right ones none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import grucible
from grucible import Question, verify
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.layout import gru_inputs, operator_outputs
from grucible.cases.operators.readings import STORED
from grucible.cases.operators.semantics import stack
from grucible.check.report import Report
from grucible.check.reports.terminal import report_lines
from grucible.gen.variants.catalogue import CATALOGUE, variants_of
from grucible.gen.variants.compute import compute
from grucible.gen.variants.variant import Variant

from . import bnns_page
from .numpy_gru import in_float32, run
from .readme_bugs import BUGS

Array = npt.NDArray[Any]
Runtime = Callable[[Question], dict[str, Array]]
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
FLOAT32 = ("openvino.*/float32/*",)


FOLDERS = {
    "openvino.GRUSequence-5": "openvino/gru_sequence",
    "onnx.GRU-14": "onnx/gru",
    "bnnsgraph.gru": "bnnsgraph/gru",
}
"""Where the core vectors of an operator are."""


def _to_diagnose() -> Iterator[tuple[str, str]]:
    """Every variant with the first operator that it means something for; some with the others too."""
    for variant in CATALOGUE.values():
        if variant.kind in ("misreading", "approximation"):
            meant = [name for name in FOLDERS if variant.means_something_for(OPERATORS[name])]
            yield variant.name, meant[0]
            yield from ((variant.name, name) for name in meant[1:] if len(variant.name) % 5 == 0)


TO_DIAGNOSE = list(_to_diagnose())


def runtime(*variants: Variant) -> Callable[[Question], dict[str, Array]]:
    """A runtime that is wrong in the way of `variants`, all of them at once."""

    def wrong(question: Question) -> dict[str, Array]:
        operator = OPERATORS[question.operator]
        one = {name: array[None] for name, array in question.inputs.items()}
        inputs = gru_inputs(operator, question.attributes, one)
        meant = [variant for variant in variants if variant in variants_of(operator)]
        [(y, ho)] = compute([meant], stack([question.semantics]), inputs)
        absent = {t.name for t in operator.outputs} - question.outputs.keys()
        found = operator_outputs(operator, question.attributes, {"y": y, "ho": ho}, absent)
        return {
            name: array[0].astype(np.float32).astype(question.outputs[name].dtype)
            if question.dtype != "float64"
            else array[0]
            for name, array in found.items()
        }

    return wrong


def readme_runtime(*changes: tuple[str, str]) -> Callable[[Question], dict[str, Array]]:
    """README's numpy runtime with some of its text replaced."""
    start = README.index("```python\nimport numpy as np") + len("```python\n")
    code = README[start : README.index("```", start)]
    for old, new in changes:
        assert old in code, old
        code = code.replace(old, new)
    space: dict[str, Any] = {}
    exec(code, space)
    found: Callable[[Question], dict[str, Array]] = space["run"]
    return found


def names(report: Report) -> set[str]:
    """Everything the diagnosis names, alternatives included."""
    return {
        name
        for finding in report.diagnosis.findings
        for name in (finding.name, *finding.alternatives)
    }


@pytest.mark.parametrize(("name", "operator"), TO_DIAGNOSE)
def test_a_variant_is_diagnosed_as_itself(name: str, operator: str) -> None:
    vectors = Path(grucible.__file__).parent / "vectors" / FOLDERS[operator]
    report = verify(vectors, runtime=runtime(CATALOGUE[name]), select=("*/float32/*",))
    assert report.diagnosis.failed >= 3
    assert report.diagnosis.unexplained == 0
    [finding] = report.diagnosis.findings
    assert name in (finding.name, *finding.alternatives)
    assert finding.explains == report.diagnosis.failed


@pytest.mark.parametrize("name", BUGS)
def test_readme_s_runtime_with_a_bug_gets_the_right_sentence_first(name: str) -> None:
    report = verify(runtime=readme_runtime(*BUGS[name]), select=FLOAT32)
    first = next(report_lines(report))
    [finding] = report.diagnosis.findings
    assert f"; all failures are explained by: {finding.about}" in first
    assert name in names(report), names(report)


def test_readme_s_runtime_without_one_gets_no_diagnosis() -> None:
    for right in (readme_runtime(), run):
        report = verify(runtime=right)
        assert (report.diagnosis.failed, report.diagnosis.findings) == (0, ())
        assert not any("diagnosis" in line for line in report_lines(report))


@pytest.mark.parametrize(
    "pair",
    [
        ("lbr-ignored", "lengths-ignored"),
        ("update-gate-flipped", "R-transposed-candidate"),
        ("clip-ignored", "h0-ignored"),
        ("gate-order-rzh", "Y-directions-exchanged"),
        ("bias-ignored", "sigmoid-as-hard-sigmoid"),
    ],
)
def test_two_at_once_are_found(pair: Sequence[str]) -> None:
    both = runtime(*(CATALOGUE[name] for name in pair))
    report = verify(runtime=both, select=FLOAT32)
    assert report.diagnosis.unexplained == 0
    found = {part for name in names(report) for part in name.split(" + ")}
    assert found.issuperset(pair)
    assert any(set(name.split(" + ")) == set(pair) for name in names(report)), (
        "the pair itself is named where neither alone explains a case"
    )


def test_what_nothing_explains_is_said_to_be_unexplained() -> None:
    def noisy(question: Question) -> dict[str, Array]:
        rng = np.random.default_rng(len(question.id))
        return {
            name: (array + rng.normal(0, 0.5, array.shape)).astype(array.dtype)
            for name, array in run(question).items()
        }

    report = verify(runtime=noisy, select=("*GRUCell-3/core/float32/*",))
    assert report.diagnosis.unexplained == report.diagnosis.failed > 0
    assert any(line.split()[1:] == ["unexplained"] for line in report_lines(report))
    assert "explained by" not in next(report_lines(report))


def test_a_bug_in_some_cases_only_is_said_not_to_be_everywhere() -> None:
    wrong = runtime(CATALOGUE["lengths-ignored"])

    def sometimes(question: Question) -> dict[str, Array]:
        return (
            wrong(question) if question.attributes.get("direction") == "reverse" else run(question)
        )

    report = verify(runtime=sometimes, select=FLOAT32)
    [finding] = report.diagnosis.findings
    assert finding.name == "lengths-ignored"
    assert finding.contradicted > 0
    assert any("not everywhere" in line for line in report_lines(report))


def test_coarser_arithmetic_is_named() -> None:
    report = verify(runtime=in_float32)
    [finding] = report.diagnosis.findings
    assert (finding.kind, finding.name) == ("arithmetic", "float32")
    assert "float64 computed in float32 arithmetic" in next(report_lines(report))


def test_without_diagnosis() -> None:
    report = verify(runtime=readme_runtime(*BUGS["clip-ignored"]), select=FLOAT32, diagnosis=False)
    assert report.counts["failed"] > 0
    assert report.diagnosis.findings == ()


def test_a_reading_that_changes_from_case_to_case_is_reported() -> None:
    other = runtime(CATALOGUE["len-zero.initial-state"])

    def wavering(question: Question) -> dict[str, Array]:
        return (
            other(question) if question.attributes.get("direction") == "reverse" else run(question)
        )

    report = verify(runtime=wavering)
    assert report.verdict == "conforms"
    assert set(report.readings_followed["len-zero"]) == {STORED, ("len-zero.initial-state",)}
    told = " ".join(" ".join(report_lines(report)).split())
    assert "not the same in every case" in told
    assert "the last state of a row of length 0 is zeros (basis: the owner's runtime, or" in told


def test_three_at_once_are_found() -> None:
    names_of_three = {"Rbh-outside", "clip-after-activation", "Ho-of-last-valid-step"}
    wrong = runtime(*(CATALOGUE[name] for name in names_of_three))
    report = verify(runtime=wrong, select=FLOAT32)
    assert report.diagnosis.unexplained == 0
    [finding] = report.diagnosis.findings
    assert set(finding.name.split(" + ")) == names_of_three


@pytest.mark.parametrize("off", ["offset", "noise", "padding"])
def test_an_error_that_no_variant_makes_gets_no_misreading(off: str) -> None:
    def wrong(question: Question) -> dict[str, Array]:
        rng = np.random.default_rng(3)
        changed = {}
        for name, array in run(question).items():
            added = {"offset": 1e-3, "noise": 1e-3 * rng.normal(size=array.shape), "padding": 0.0}[
                off
            ]
            wrong = array + added
            changed[name] = (
                np.where(array == 0, 1e-30, wrong) if off == "padding" else wrong
            ).astype(array.dtype)
        return changed

    diagnosis = verify(runtime=wrong, select=FLOAT32).diagnosis
    assert {finding.kind for finding in diagnosis.findings} <= {"arithmetic"}
    if off == "padding":
        assert diagnosis.unexplained == diagnosis.failed
        assert "every wrong element of Y is past its row's length" in diagnosis.hints


def test_an_overflow_is_recognised_wherever_its_infinities_and_nans_spread() -> None:
    overflowing = runtime(CATALOGUE["softplus-overflows"])

    def never_infinite(question: Question) -> dict[str, Array]:
        return {n: np.where(np.isinf(a), np.nan, a) for n, a in overflowing(question).items()}

    def nowhere_finite(question: Question) -> dict[str, Array]:
        return {
            n: np.where(np.isfinite(a).all(), a, np.nan) for n, a in overflowing(question).items()
        }

    report = verify(runtime=never_infinite, select=("onnx.GRU-14/core/float32/*",))
    assert [finding.name for finding in report.diagnosis.findings] == ["softplus-overflows"]
    assert report.diagnosis.unexplained == 0
    report = verify(runtime=nowhere_finite, select=("onnx.GRU-14/core/float32/*",))
    assert report.diagnosis.unexplained == report.diagnosis.failed > 0


def _x_reshaped(question: Question) -> dict[str, Array]:
    x = question.inputs["X"]
    time_major = x.reshape(x.shape[1], x.shape[0], x.shape[2])
    return runtime()(replace(question, inputs={**question.inputs, "X": time_major.swapaxes(0, 1)}))


def _y_reshaped(question: Question) -> dict[str, Array]:
    outputs = runtime()(question)
    y = outputs["Y"]
    time_major = np.ascontiguousarray(y.transpose(1, 2, 0, 3))
    return outputs | {"Y": time_major.reshape(y.shape)}


def _first_state_reshaped(question: Question) -> dict[str, Array]:
    h = question.inputs["initial_h"]
    of_layout_0 = h.reshape(h.shape[1], h.shape[0], h.shape[2])
    changed = {**question.inputs, "initial_h": of_layout_0.transpose(1, 0, 2)}
    return runtime()(replace(question, inputs=changed))


def _last_state_reshaped(question: Question) -> dict[str, Array]:
    outputs = runtime()(question)
    h = outputs["Y_h"]
    return outputs | {"Y_h": np.ascontiguousarray(h.transpose(1, 0, 2)).reshape(h.shape)}


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (_x_reshaped, "X-bt-as-tb"),
        (_y_reshaped, "Y-tdb-as-btd"),
        (_first_state_reshaped, "h0-bd-as-db"),
        (_last_state_reshaped, "Ho-db-as-bd"),
    ],
)
def test_a_layout_that_is_reshaped_is_named(wrong: Runtime, name: str) -> None:
    """ONNX's layout 1 made of layout 0 in the operator's own axes."""

    def one(question: Question) -> dict[str, Array]:
        return (wrong if question.attributes["layout"] == 1 else runtime())(question)

    report = verify(runtime=one, select=("onnx.GRU-14/core/float32/*",))
    assert [finding.name for finding in report.diagnosis.findings] == [name]
    assert report.diagnosis.unexplained == 0


def test_a_runtime_of_nothing_but_nan_gets_no_misreading() -> None:
    report = verify(runtime=Question.buffers, select=("onnx.GRU-14/core/float32/*",))
    assert report.diagnosis.findings == []
    assert report.diagnosis.unexplained == report.counts["failed"] > 50


def test_not_numbers_in_one_row_are_no_overflow_of_softplus() -> None:
    def first_row_nan(question: Question) -> dict[str, Array]:
        outputs = runtime()(question)
        at = (..., 0, slice(None)) if question.attributes["layout"] == 0 else 0
        for array in outputs.values():
            array[at] = np.nan
        return outputs

    diagnosis = verify(runtime=first_row_nan, select=("onnx*Softplus*x64*",)).diagnosis
    assert diagnosis.findings == []
    assert diagnosis.unexplained == diagnosis.failed > 0


def test_one_misreading_in_two_arithmetics_explains_both() -> None:
    """Softplus overflows in float32, which the float64 cases are computed in as well."""
    overflowing = runtime(CATALOGUE["softplus-overflows"])

    def wrong(question: Question) -> dict[str, Array]:
        return {
            name: array.astype(np.float32).astype(question.outputs[name].dtype)
            for name, array in overflowing(question).items()
        }

    select = (
        "onnx.GRU-14/core/float64/*Softplus-t3-x64",
        "onnx.GRU-14/core/float32/*Softplus-t3-x64",
    )
    diagnosis = verify(runtime=wrong, select=select).diagnosis
    assert diagnosis.unexplained == 0
    [overflow] = [one for one in diagnosis.findings if one.name == "softplus-overflows"]
    assert overflow.explains > 8
    assert overflow.about.endswith("some of it in coarse arithmetic")


def test_of_two_outputs_that_are_the_last_state_the_wrong_one_is_named() -> None:
    def run_wrong(question: Question) -> dict[str, Array]:
        outputs = bnns_page.run(question)
        if not question.attributes["outputSequence"]:
            outputs["output"][0, 0] += np.float32(0.37)
        return outputs

    vectors = Path(grucible.__file__).parent / "vectors" / FOLDERS["bnnsgraph.gru"]
    diagnosis = verify(vectors, runtime=run_wrong, select=("*/float32/*",)).diagnosis
    assert diagnosis.unexplained > 0
    assert "only output is wrong" in diagnosis.hints
    assert "the first row of the batch is right" not in diagnosis.hints


def test_a_right_runtime_held_to_the_user_s_own_tolerance_gets_no_misreading() -> None:
    select, right = ("*/core/float64/*",), readme_runtime()
    for report in (
        verify(runtime=right, select=select, rtol=0.0),
        verify(runtime=right, select=select, ulp=0.25),
    ):
        assert report.diagnosis.failed > 0
        [finding] = report.diagnosis.findings
        assert finding.about == "float64 as good as float64 arithmetic, but less than was demanded"


def test_a_runtime_that_writes_into_what_it_is_given_changes_nothing() -> None:
    def writes(question: Question) -> dict[str, Array]:
        outputs = run(question)
        for array in question.inputs.values():
            array[...] = 0
        return outputs

    def cheats(question: Question) -> dict[str, Array]:
        for array in question.inputs.values():
            array[...] = 0
        return run(question)

    assert verify(runtime=writes, select=FLOAT32).counts == {"passed": 146}
    report = verify(runtime=cheats, select=FLOAT32)
    assert report.counts == {"failed": 146}

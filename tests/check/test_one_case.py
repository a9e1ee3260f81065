"""One case judged by itself, and what the values that Python users meet say of themselves."""

from __future__ import annotations

import copy
import ctypes
import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grucible
from grucible import (
    Case,
    Expectation,
    GrucibleError,
    Unsupported,
    judge,
    load_vectors,
    report_text,
    verify,
)
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.pytest_plugin.suite import AsExpected, Judge
from grucible.vectors.case import Answer

from .made import KEEPS_H0, answering
from .numpy_gru import MISTAKES, keeps_h0, run


@pytest.fixture
def case(some_vectors: Path) -> Case:
    return next(load_vectors(some_vectors, select="*/float32/a-good"))


def off_by(case: Case, much: float) -> dict[str, Any]:
    """The answer of a cell, its element [1, 0] off by so much."""
    output = case.answer.outputs["Ho"].copy()
    output[1, 0] += output.dtype.type(much)
    return {"Ho": output}


def test_the_answer_passes(case: Case) -> None:
    found = judge(case, case.answer.outputs)
    assert (found.verdict, found.passed, found.reading) == ("passed", True, ())
    assert (found.grade, found.required, found.ratio) == ("float32", "float32", 0.0)


def test_nobody_writes_into_the_answers_by_which_he_is_judged(case: Case) -> None:
    arrays = [
        array
        for answer in case.answers.values()
        for some in (answer.outputs, *answer.tolerances.values())
        for array in some.values()
    ]
    assert len(arrays) > 2
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 3
    assert all(array.flags.writeable for array in case.inputs.values())


def shorter(answer: Answer) -> Answer:
    return replace(answer, outputs={"Ho": answer.outputs["Ho"][:, :1]})


def without_a_tolerance(answer: Answer) -> Answer:
    return replace(answer, tolerances={name: {} for name in answer.tolerances})


def wider(answer: Answer) -> Answer:
    return replace(answer, outputs={"Ho": answer.outputs["Ho"].astype(np.float64)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda _: {}, r"has no answer under \(\), which is the stored one"),
        (
            lambda answer: {(): shorter(answer)},
            r"answers\[\(\)\]: outputs: Ho is not float32 \(2, 2\)",
        ),
        (
            lambda answer: {(): wider(answer)},
            r"answers\[\(\)\]: outputs: Ho is not float32 \(2, 2\)",
        ),
        (lambda answer: {(): answer, ("x",): shorter(answer)}, r"answers\[\('x',\)\]: outputs: Ho"),
        (
            lambda answer: {(): without_a_tolerance(answer)},
            r"\]: bfloat16-gemm: Ho is not float32 \(2, 2\)",
        ),
    ],
)
def test_a_case_made_by_hand_has_the_answers_that_are_asked_for(
    change: Callable[[Answer], dict[tuple[str, ...], Answer]], says: str, case: Case
) -> None:
    made = replace(case, answers=change(case.answer))
    with pytest.raises(GrucibleError, match=says):
        judge(made, case.answer.outputs)


def test_a_test_is_judged_by_the_case_as_it_was_before(case: Case) -> None:
    ask = Judge(case, chosen_criteria()["float32"], "")
    case.answer.outputs.update(off_by(case, 3))
    assert not ask(case.answer.outputs).passed


def written_by_c(case: Case) -> dict[str, Any]:
    """Zeros, which a kernel in C wrote over what is expected: it asks no flag of numpy's."""
    output = case.answer.outputs["Ho"]
    ctypes.memset(output.ctypes.data, 0, output.nbytes)
    return dict(case.answer.outputs)


def loosened(case: Case) -> dict[str, Any]:
    """Zeros, where the bits of every tolerance are made those of 3e38."""
    for limits in case.answer.tolerances.values():
        ctypes.memset(limits["Ho"].ctypes.data, 0x7F, limits["Ho"].nbytes - 4)
    return {"Ho": np.zeros_like(case.answer.outputs["Ho"])}


def replaced(case: Case) -> dict[str, Any]:
    case.answer.outputs["Ho"] = np.zeros_like(case.answer.outputs["Ho"])
    return dict(case.answer.outputs)


@pytest.mark.parametrize("do", [written_by_c, loosened, replaced])
@pytest.mark.parametrize(
    "copied", [lambda case: case, copy.deepcopy, lambda case: pickle.loads(pickle.dumps(case))]
)
def test_a_case_is_judged_by_what_the_vectors_say(
    do: Callable[[Case], dict[str, Any]], copied: Callable[[Case], Case], case: Case
) -> None:
    case = copied(case)
    right = case.answer.copied().outputs
    found = judge(case, do(case))
    assert (found.verdict, found.where) == ("failed", judge(case, {"Ho": 0 * right["Ho"]}).where)
    assert judge(case, right).passed


def test_a_wrong_element_is_named(case: Case) -> None:
    limit = float(case.answer.tolerances["float32"]["Ho"][1, 0])
    found = judge(case, off_by(case, 4 * limit))
    assert (found.verdict, found.passed, found.reading, found.where) == (
        "failed",
        False,
        None,
        "Ho[1, 0]",
    )
    assert found.ratio == pytest.approx(4, rel=0.1)
    assert found.difference == pytest.approx(4 * limit, rel=0.1)
    first, *rest = found.text().splitlines()
    assert first == case.id
    assert rest[0].startswith("  Ho[1, 0]: expected ")
    assert " ".join(" ".join(rest).split()).endswith("× tolerance")
    assert "\n" not in repr(found)
    assert case.id in repr(found)


def test_what_is_required_can_be_changed(case: Case) -> None:
    limit = float(case.answer.tolerances["float32"]["Ho"][1, 0])
    wrong = off_by(case, 4 * limit)
    assert judge(case, wrong, atol=5 * limit).passed
    assert not judge(case, wrong, atol=limit).passed
    assert judge(case, wrong, atol=5 * limit).required == f"rtol 0, atol {5 * limit:g}"
    with pytest.raises(GrucibleError, match="not a class of arithmetic"):
        judge(case, wrong, arithmetic="float31")


def test_it_says_what_verify_says(some_vectors: Path) -> None:
    """Of every case, right or off by a little, by much, or NaN."""

    scales = dict.fromkeys((one.id for one in load_vectors(some_vectors)), 0.0)
    scales.update(zip(scales, [1e-6, 1e-3, np.nan], strict=False))

    def noisy(question: grucible.Question) -> dict[str, Any]:
        scale = scales[question.id]
        return {
            name: (array + array.dtype.type(scale)).astype(array.dtype)
            for name, array in answering(some_vectors)(question).items()
        }

    report = verify(some_vectors, runtime=noisy, diagnosis=False)
    found = [judge(one, noisy(one.question)) for one in load_vectors(some_vectors)]
    assert {one.verdict for one in found} == {"passed", "failed"}
    told = ("id", "verdict", "where", "worst_ratio", "arithmetic", "readings", "message")
    for one, result in zip(found, report.results, strict=True):
        assert [getattr(one.result, name) for name in told] == [
            getattr(result, name) for name in told
        ]


def test_an_accepted_reading_passes_and_is_named(some_vectors: Path) -> None:
    case = next(load_vectors(some_vectors, select="openvino.GRUSequence-5/*"))
    assert judge(case, run(case.question)).reading == ()
    found = judge(case, keeps_h0(case.question))
    assert (found.verdict, found.reading) == ("passed", (KEEPS_H0,))


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        (None, "returned a NoneType; expected a dict with Ho"),
        ({}, "returned nothing; expected Ho"),
        ({"H": np.zeros((2, 2), np.float32)}, "returned H; expected Ho"),
        ({"Ho": np.zeros((2, 2))}, r"Ho is float64 \(2, 2\); expected float32 \(2, 2\)"),
        ({"Ho": np.zeros(4, np.float32)}, r"Ho is float32 \(4,\); expected float32 \(2, 2\)"),
        ({"Ho": [[1.0], [1.0, 2.0]]}, "inhomogeneous"),
    ],
)
def test_what_is_no_outputs(case: Case, outputs: Any, says: str) -> None:
    found = judge(case, outputs)
    assert (found.verdict, found.passed, found.grade, found.reading) == ("error", False, "", None)
    with pytest.raises(AssertionError, match=says):
        assert found.passed, found.message
    assert case.id in found.text()


def test_a_judgment_is_no_verdict_by_its_truth(case: Case) -> None:
    """`assert judge(…)` would pass whatever was found."""
    with pytest.raises(TypeError, match=r"assert judgment\.passed"):
        assert judge(case, {})


def test_a_case_without_tolerances(case: Case) -> None:
    bare = replace(case, answers={(): Answer(case.answer.outputs)})
    with pytest.raises(GrucibleError, match="tolerance/float32: is missing"):
        judge(bare, case.answer.outputs)


def test_one_glob_is_as_good_as_several(some_vectors: Path) -> None:
    """Taken letter by letter, its * selected everything."""
    answers = answering(some_vectors)
    for select in ("*/float32/*good", ["*/float32/*good"], ("*a-good", "*c-good")):
        report = verify(some_vectors, runtime=answers, select=select)
        assert [result.id[-6:] for result in report.results] == ["a-good", "c-good"]
        assert [one.id for one in load_vectors(some_vectors, select)] == [
            r.id for r in report.results
        ]

    def nothing(_: grucible.Question) -> Any:
        raise Unsupported("all of it")

    report = verify(some_vectors, runtime=nothing, require="*c-good", arithmetic="float32=float32")
    assert [result.id[-6:] for result in report.refused] == ["c-good"]
    for select in ("nothing", ["nothing"]):
        with pytest.raises(GrucibleError, match="no case is selected by --select 'nothing'"):
            list(load_vectors(some_vectors, select))


def test_values_say_what_they_are_in_a_line(some_vectors: Path, case: Case) -> None:
    report = verify(some_vectors, runtime=answering(some_vectors), select=["*good", "*bad"])
    assert repr(report) == "<Report <lambda>: conforms, 3 of 3 cases passed>"
    known = [Expectation("*/float32/*", "broken")]
    report = verify(some_vectors, runtime=lambda _: {}, expectations=known)
    assert repr(report) == "<Report <lambda>: does not conform, 0 of 5 cases passed, 5 errors>"
    assert repr(case) == "<Case openvino.GRUCell-3/made/float32/a-good: required, Ho (2, 2)>"
    assert repr(case.answer) == "<Answer Ho (2, 2)>"
    assert repr(case.question).endswith(" -> Ho (2, 2)>")
    assert len(repr(case.question)) < 160


def test_a_report_s_text_is_what_check_prints(some_vectors: Path) -> None:
    report = verify(some_vectors, runtime=lambda _: {"\x1b[31m": np.zeros(1)})
    text = report_text(report)
    assert text.startswith("does not conform: 0 of 5 cases passed, 5 errors")
    assert r"returned \x1b[31m; expected" in text
    assert "\x1b" not in text
    assert report.exit_status == 1


def _public() -> Iterator[str]:
    return itertools.chain(grucible.__all__, dir(grucible))


@pytest.mark.parametrize("name", sorted(set(_public())))
def test_what_the_package_names_is_there(name: str) -> None:
    assert getattr(grucible, name) is not None


def test_the_core_vectors_lie_there() -> None:
    ids = {case.id for case in load_vectors(grucible.CORE, select="*/plain/float32/default")}
    assert ids == {case.id for case in load_vectors(select="*/plain/float32/default")}
    assert len(ids) > 2


def test_a_test_that_judges_by_itself_is_excused_for_what_was_judged_alone() -> None:
    """A misreading is tried on what it gave to be judged; any error but an assertion is another failure."""
    known = Expectation("*", "no clip yet", diagnosis=("clip-ignored",))
    vectors = grucible.pytest.load(
        select="openvino.GRUCell-3/plain/float32/clip0.5", expect=[known]
    )
    [wanted] = vectors

    def asserts(judge: Judge) -> None:
        assert judge(MISTAKES["clip ignored"](judge.case.question)).passed

    def breaks(judge: Judge) -> None:
        judge(MISTAKES["clip ignored"](judge.case.question))
        raise RuntimeError("the device is gone")

    with pytest.raises(AsExpected, match="off by"):
        vectors.run(asserts, wanted.id)
    with pytest.raises(RuntimeError, match="is gone") as broken:
        vectors.run(breaks, wanted.id)
    assert "seen instead: an error" in broken.value.__notes__[0]

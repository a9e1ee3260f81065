"""One case judged by itself, and what the values that Python users meet say of themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grucible
from grucible import Case, GrucibleError, judge, load_vectors, verify
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.pytest_plugin.suite import Judge
from grucible.vectors.case import Answer

from .made import answering


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


def test_neither_a_judgment_nor_its_word_is_true(case: Case) -> None:
    for much in (0.0, 1.0):
        found = judge(case, off_by(case, much))
        for one in (found, found.verdict):
            with pytest.raises(TypeError, match="neither true nor false"):
                assert one


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


def test_a_case_made_by_hand_has_the_answers_that_are_asked_for(case: Case) -> None:
    answer = case.answer
    ho = answer.outputs["Ho"]
    shorter = replace(answer, outputs={"Ho": ho[:, :1]})
    wider = replace(answer, outputs={"Ho": ho.astype(np.float64)})
    boundless = replace(answer, tolerances={name: {} for name in answer.tolerances})
    stored: dict[str, dict[tuple[str, ...], Answer]] = {
        "has no answer under (), which is the stored one": {},
        "answers[()]: outputs: Ho is not float32 (2, 2)": {(): shorter},
        "[()]: outputs: Ho is not float32 (2, 2)": {(): wider},
        "answers[('x',)]: outputs: Ho": {(): answer, ("x",): shorter},
        "]: bfloat16-gemm: Ho is not float32 (2, 2)": {(): boundless},
    }
    for says, answers in stored.items():
        with pytest.raises(GrucibleError, match=re.escape(says)):
            judge(replace(case, stored=answers), {"Ho": ho})


def test_a_test_is_judged_by_the_case_as_it_was_before(case: Case) -> None:
    ask = Judge(case, chosen_criteria()["float32"], "")
    answer = case.answer
    answer.outputs.update(off_by(case, 3))
    assert not ask(answer.outputs).passed


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


def test_a_question_of_ones_own_is_answered_as_the_vectors_are() -> None:
    [case] = load_vectors(select="onnx.GRU-14/plain/float32/default")
    inputs = {name: array.tolist() for name, array in case.inputs.items()}
    typed = {name: np.asarray(value, case.inputs[name].dtype) for name, value in inputs.items()}
    own = grucible.answer(case.operator, case.attributes, typed)
    for name, right in case.answer.outputs.items():
        assert own.answer.outputs[name].tobytes() == right.tobytes()
        for kind, limits in case.answer.tolerances.items():
            assert (own.answer.tolerances[kind][name] == limits[name]).all()
    some = grucible.answer(case.operator, case.given, typed, outputs=["Y_h"])
    assert [*some.answer.outputs] == ["Y_h"]
    assert grucible.judge(some, {"Y_h": case.answer.outputs["Y_h"]}).passed


@pytest.mark.parametrize(
    ("operator", "attributes", "told"),
    [
        ("GRU", {}, "operator is 'GRU'; expected one of"),
        ("onnx.GRU-14", {"hiden_size": 3}, "no attribute 'hiden_size'"),
        ("onnx.GRU-14", {"hidden_size": 3}, "input X is missing"),
    ],
)
def test_what_makes_no_question_has_no_answer(
    operator: str, attributes: dict[str, object], told: str
) -> None:
    with pytest.raises(grucible.GrucibleError, match=told):
        grucible.answer(operator, attributes, {})

"""What sets cases without outputs apart: a sentence that is true of all of them, and of no answered case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import Question, Unsupported, report_text, verify
from grucible.check.reports.formats import report_value

from .made import answer_to

FLOAT32 = "onnx.*/*/float32/*"
CASES = {case.id: case for case in core_cases()}
SENTENCES: dict[str, tuple[str, Callable[[Question], bool]]] = {
    "crash": ("where clip is asked for", lambda q: np.isfinite(q.attributes.get("clip") or np.inf)),
    "other text": ("where B is left out", lambda q: "B" not in q.inputs),
    "Y_c alone": ("where direction is reverse", lambda q: q.attributes["direction"] == "reverse"),
    "refusal": ("where layout is 1", lambda q: q.attributes["layout"] == 1),
}
"""By what a runtime does, the condition that is to be found, and whether a question fulfils it."""


def runtime(*mistakes: str) -> Callable[[Question], Any]:
    """Answer right, but for the questions of `mistakes`, the first of which counts."""

    def run(question: Question) -> Any:
        outputs = {n: a.copy() for n, a in answer_to(question, CASES[question.id]).outputs.items()}
        for name in mistakes:
            if SENTENCES[name][1](question):
                if name == "crash":
                    raise MemoryError
                if name == "other text":
                    raise ValueError("heap " + "".join(chr(97 + ord(c) % 26) for c in question.id))
                if name == "refusal":
                    raise Unsupported("no")
                return {"Y_c": np.zeros(1)}
        return outputs

    return run


@pytest.mark.parametrize(
    "names", [[name] for name in SENTENCES] + [["crash", "other text", "Y_c alone"]]
)
def test_the_condition_of_errors_is_named(names: list[str]) -> None:
    report = verify(runtime=runtime(*names), select=FLOAT32, require=FLOAT32)
    found, asked = report.diagnosis.unanswered, {case.id: case.question for case in core_cases()}
    without = [one.id for one in report.results if one.wrong and one.verdict != "failed"]
    expected: dict[str, list[str]] = {}
    for case_id in without:
        name = next(name for name in names if SENTENCES[name][1](asked[case_id]))
        expected.setdefault(name, []).append(case_id)
    assert expected.keys() == {*names}
    for name, ids in expected.items():
        for one in ids:
            assert any(SENTENCES[name][0] in text for text in found[one]), (name, found[one])
            assert all(f"these {len(ids)} " in text for text in found[one])
    shown = " ".join(report_text(report).split())
    for sentence in report_value(report)["unanswered"]:
        assert shown.count(sentence) == 1


def test_what_holds_of_an_answered_case_sets_nothing_apart() -> None:
    spared = next(one for one in CASES if "/float32/" in one and "clip0.5" in one and "onnx" in one)
    crashing = runtime("crash")

    def run(question: Question) -> Any:
        if question.id == spared:
            return answer_to(question, CASES[spared]).outputs
        return crashing(question)

    found = verify(runtime=run, select=FLOAT32).diagnosis.unanswered
    assert "clip is asked for:" not in str(found)


def test_declared_refusals_are_neither() -> None:
    report = verify(runtime=runtime("refusal", "crash"), select=FLOAT32)
    [sentence] = report_value(report)["unanswered"]
    assert "where clip is asked for" in sentence


def test_of_errors_the_case_to_start_with_is_named() -> None:
    """It is the plainest, here not the first."""

    def raises(_: Question) -> Any:
        raise ValueError("no")

    report = verify(runtime=raises, select="onnx.GRU-14/plain/float32/*noB*")
    [*_, start] = text = report_text(report).splitlines()
    assert start == "start with: grucible show onnx.GRU-14/plain/float32/noB"
    assert report.results[0].id != "onnx.GRU-14/plain/float32/noB"
    assert "    onnx.GRU-14/plain/float32/noB" in text

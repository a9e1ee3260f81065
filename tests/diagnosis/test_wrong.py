"""The right kernel conforms, wrong ones fail by an arithmetic of their own, and marks are what they should be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice

import numpy as np
import pytest
from diagnosis.kernel import Array, Kernel, right
from diagnosis.run import (
    GROUPS,
    MARKS,
    WRONG,
    Findings,
    Mark,
    Sentence,
    findings_of,
    kept,
    mark,
    report_of,
    totals,
)
from diagnosis.wrong import CELL, ONNX, SEQUENCE, WrongGru

from grucible import Case, load_vectors, verify
from grucible.cases.operators import OPERATORS
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.gen.variants.known import UNLISTED


@cache
def float32_cases(operator: str) -> list[Case]:
    """List the required float32 cases of an operator in the core vectors."""
    found = (case for case in load_vectors() if case.operator == operator)
    return [case for case in found if case.dtype == "float32" and case.tier == "required"]


def passes(case: Case, outputs: Mapping[str, Array]) -> bool:
    """Whether every element is as near as float32 arithmetic must come."""
    admitted = case.answer.tolerances["float32"]
    return all(
        bool((np.abs(np.float64(outputs[name]) - expected) <= admitted[name]).all())
        for name, expected in case.answer.outputs.items()
    )


@pytest.mark.parametrize("operator", [CELL, SEQUENCE, ONNX])
def test_the_right_kernel_conforms(operator: str) -> None:
    report = verify(runtime=right, select=[f"{operator}/core*/float32/*", f"{operator}/plain/*"])
    assert report.exit_status == 0
    assert report.counts["passed"] > 80
    assert set(report.counts) <= {"passed", "unsupported"}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_gru_fails(wrong: WrongGru) -> None:
    kernel, cases = wrong.kernel(), float32_cases(wrong.operator)
    failed = (case for case in cases if not passes(case, kernel(case.question)))
    assert len([*islice(failed, 3)]) == 3


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_expressions_tell_sentences_apart(wrong: WrongGru) -> None:
    """Few of the sentences without a number match, and for a mistake of the catalogue one does."""
    words = OPERATORS[wrong.operator]
    known = (*CATALOGUE.values(), *UNLISTED.values())
    sentences = {one.about_for(words) for one in known if one.means_something_for(words)}
    assert wrong.named
    for pattern in wrong.named:
        matching = [s for s in sentences if re.search(pattern, s, re.IGNORECASE)]
        assert len(matching) <= 3, matching
        assert matching or wrong.group != "in the catalogue", pattern
    for pattern in filter(None, (*wrong.named, wrong.place, wrong.also)):
        assert not re.search(pattern, ""), f"{pattern!r} matches everything"


def test_what_was_kept_is_of_all_wrong_grus_and_nothing_of_it_is_wrong() -> None:
    findings = kept()
    assert list(findings) == list(WRONG)
    assert len(WRONG) >= 179
    marks = [mark(findings[name], WRONG[name]) for name in WRONG]
    assert marks.count("right") >= 159
    assert "wrong" not in marks
    assert len([*totals(findings)]) == len(GROUPS) + 3


@pytest.mark.parametrize("name", list(WRONG)[::30])
def test_some_marks_are_not_worse_than_those_kept(name: str) -> None:
    now, before = (
        mark(one, WRONG[name]) for one in (findings_of(report_of(WRONG[name])), kept()[name])
    )
    assert MARKS.index(now) <= MARKS.index(before)


def of(*named: str, place: str = "", also: str = "") -> WrongGru:
    return WrongGru("made", "made", CELL, "", Kernel, named, place, also)


def found(*sentences: Sentence, hints: tuple[str, ...] = ()) -> Findings:
    return Findings(failed=9, unexplained=0, sentences=sentences, hints=hints)


def sure(text: str, *others: str, where: str = "") -> Sentence:
    return Sentence(text, certain=True, explains=9, others=others, where=where)


def perhaps(text: str) -> Sentence:
    return Sentence(text, certain=False, explains=9)


TWO = of("clip ignored", "R transposed$", also="R of z transposed")
PLACED = of("B ignored", place="in the last row")


@pytest.mark.parametrize(
    ("wrong", "what", "expected"),
    [
        (TWO, found(sure("clip ignored; and R transposed")), "right"),
        (TWO, found(sure("clip ignored"), sure("R transposed")), "right"),
        (TWO, found(sure("clip ignored")), "in part"),
        (TWO, found(sure("clip ignored"), perhaps("R transposed")), "in part"),
        (TWO, found(perhaps("clip ignored; and R transposed")), "in part"),
        (TWO, found(perhaps("B ignored")), "silent"),
        (TWO, found(), "silent"),
        (TWO, found(sure("B ignored")), "wrong"),
        (TWO, found(sure("clip ignored"), sure("B ignored")), "wrong"),
        (TWO, found(sure("R transposed", where="in reverse")), "wrong"),
        # one of two sentences is not true; another reading is
        (TWO, found(sure("clip ignored; and B ignored")), "wrong"),
        (TWO, found(sure("clip ignored; and B ignored", "B ignored; and clip ignored")), "wrong"),
        (TWO, found(sure("B ignored", "clip ignored; and R of z transposed")), "in part"),
        # a place, in a finding or as what is known of the unexplained
        (PLACED, found(sure("B ignored", where="in the last row")), "right"),
        (PLACED, found(hints=("steps go wrong only in the last row",)), "right"),
        (PLACED, found(hints=("steps go wrong only in reverse",)), "silent"),
    ],
)  # fmt: skip
def test_marks(wrong: WrongGru, what: Findings, expected: Mark) -> None:
    assert mark(what, wrong) == expected

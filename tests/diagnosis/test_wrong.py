"""The right kernel conforms, wrong ones fail by an arithmetic of their own, and marks are what they should be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from diagnosis.kernel import Array, Kernel, right
from diagnosis.run import LISTS, MARKS, Findings, Mark, Sentence, findings_of, mark, report_of
from diagnosis.wrong import CELL, ONNX, SEQUENCE, WrongGru

import grucible
from grucible import Case, load_vectors, verify
from grucible.cases.operators import OPERATORS
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.gen.variants.known import UNLISTED

FIRST, SECOND, REAL = LISTS["first"], LISTS["second"], LISTS["real"]
ALL = FIRST.wrong | SECOND.wrong | REAL.wrong


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


@pytest.mark.parametrize("wrong", ALL.values(), ids=ALL)
def test_a_wrong_gru_fails(wrong: WrongGru) -> None:
    kernel, cases = wrong.kernel(), float32_cases(wrong.operator)
    failed = (case for case in cases if not passes(case, kernel(case.question)))
    assert len([*islice(failed, 3)]) == 3


@pytest.mark.parametrize("wrong", ALL.values(), ids=ALL)
def test_expressions_tell_sentences_apart(wrong: WrongGru) -> None:
    """Few of the sentences without a number or a place match; of a mistake of the catalogue, one does."""
    words = OPERATORS[wrong.operator]
    known = [*CATALOGUE.values(), *(one for name, one in UNLISTED.items() if "@" not in name)]
    sentences = {one.about_for(words) for one in known if one.means_something_for(words)}
    assert wrong.named
    for pattern in wrong.named:
        matching = [s for s in sentences if re.search(pattern, s, re.IGNORECASE)]
        assert len(matching) <= 3, matching
        assert matching or wrong.group != "in the catalogue", pattern
    for pattern in filter(None, (*wrong.named, wrong.place, wrong.also)):
        assert not re.search(pattern, ""), f"{pattern!r} matches everything"


def test_no_wrong_gru_is_in_two_lists() -> None:
    assert len(ALL) == sum(len(table.wrong) for table in LISTS.values())


def test_each_bug_from_a_tracker_names_its_source() -> None:
    sources = [wrong.source for wrong in REAL.wrong.values()]
    assert all(re.fullmatch(r"https://github\.com/.+/(issues|pull)/\d+", one) for one in sources)
    assert len(set(sources)) == len(sources)


def test_the_page_of_bugs_is_of_the_findings_kept() -> None:
    page = Path(grucible.__file__).parent / "check" / "BUGS.md"
    made = "\n".join(REAL.page(REAL.kept())) + "\n"
    assert page.read_text(encoding="utf-8") == made, "run.py --list real --page > check/BUGS.md"


@pytest.mark.parametrize(
    ("name", "size", "right", "wrong"),
    [("first", 179, 159, 0), ("second", 60, 46, 1), ("real", 46, 38, 1)],
)
def test_what_was_kept_is_of_a_whole_list_and_next_to_nothing_of_it_is_wrong(
    name: str, size: int, right: int, wrong: int
) -> None:
    table = LISTS[name]
    findings = table.kept()
    assert list(findings) == list(table.wrong)
    assert len(table.wrong) >= size
    marks = [mark(findings[name], one) for name, one in table.wrong.items()]
    assert marks.count("right") >= right
    assert marks.count("wrong") <= wrong
    assert len([*table.totals(findings)]) == len(table.groups) + 3


@pytest.mark.parametrize("name", list(FIRST.wrong)[::30])
def test_some_marks_are_not_worse_than_those_kept(name: str) -> None:
    wrong = FIRST.wrong[name]
    now, before = (mark(one, wrong) for one in (findings_of(report_of(wrong)), FIRST.kept()[name]))
    assert MARKS.index(now) <= MARKS.index(before)


@pytest.mark.parametrize("name", list(SECOND.wrong)[5::11])
def test_nothing_certain_is_wrong_of_some_of_the_second_list(name: str) -> None:
    wrong = SECOND.wrong[name]
    assert mark(findings_of(report_of(wrong)), wrong) != "wrong"


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

"""The kernel conforms, and each wrong GRU fails, by an arithmetic of its own and without the judge's diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import islice

import numpy as np
import pytest

from grucible import Case, load_vectors, verify

from .heldout import HELD_OUT
from .kernel import Array, right
from .last import LAST
from .listed import LISTED
from .unlisted import UNLISTED
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru

OPERATORS = (CELL, SEQUENCE, ONNX)
WRONG = (*UNLISTED, *LISTED, *HELD_OUT, *LAST)


@cache
def float32_cases() -> dict[str, list[Case]]:
    """The required float32 cases of the core vectors, by operator."""
    found: dict[str, list[Case]] = {operator: [] for operator in OPERATORS}
    for case in load_vectors():
        if case.dtype == "float32" and case.tier == "required" and case.operator in found:
            found[case.operator].append(case)
    return found


def passes(case: Case, outputs: Mapping[str, Array]) -> bool:
    """Whether every element is as near as float32 arithmetic must come."""
    admitted = case.answer.tolerances["float32"]
    return all(
        bool((np.abs(np.float64(outputs[name]) - expected) <= admitted[name]).all())
        for name, expected in case.answer.outputs.items()
    )


def fails(wrong: WrongGru, count: int) -> bool:
    """Whether a wrong GRU fails so many cases, one object asked one after the other until it does."""
    kernel = wrong.kernel()
    cases = float32_cases()[wrong.operator]
    failed = (case for case in cases if not passes(case, kernel(case.question)))
    return len([*islice(failed, count)]) == count


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_right_kernel_conforms(operator: str) -> None:
    report = verify(runtime=right, select=[f"{operator}/core*/float32/*", f"{operator}/plain/*"])
    assert report.exit_status == 0
    assert report.counts["passed"] > 80
    assert set(report.counts) <= {"passed", "unsupported"}


@pytest.mark.rows(4)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_gru_fails(wrong: WrongGru) -> None:
    assert fails(wrong, 4 if wrong in (*LISTED, *LAST) else 3)


def test_the_lists_are_as_they_say() -> None:
    assert len(UNLISTED) >= 48
    assert len(LISTED) >= 40
    assert {wrong.operator for wrong in LISTED} == set(OPERATORS)
    assert Counter(wrong.kind for wrong in HELD_OUT) == {
        "single": 14,
        "several": 7,
        "place": 4,
        "data": 2,
        "stateful": 1,
        "numerical": 2,
    }
    assert {wrong.operator for wrong in LAST} == set(OPERATORS)
    assert Counter(wrong.kind for wrong in LAST) == {
        "single": 14,
        "several": 5,
        "place": 3,
        "data": 1,
        "numerical": 1,
    }
    assert len({wrong.name for wrong in WRONG}) == len(WRONG)
    assert len({wrong.kernel for wrong in WRONG}) == len(WRONG)
    for wrong in WRONG:
        assert (len(wrong.mistakes) > 1) == (wrong.kind == "several"), wrong.name
        assert wrong.place or wrong.kind not in ("place", "data", "stateful"), wrong.name

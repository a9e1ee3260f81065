"""Tests of one's own in pytest: none passes that was not run or not judged, and none ends untold."""

from __future__ import annotations

import functools
import unittest
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

import grucible
from grucible import Expectation, Question
from grucible.cases.dtypes import Array
from grucible.check.pytest_plugin import collecting, outcome
from grucible.check.pytest_plugin.outcome import Apart
from grucible.check.pytest_plugin.suite import Vectors

from .made import CELL, make_block, write_vectors


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    """One case, which is expected to fail."""
    write_vectors(tmp_path / "v.h5", make_block(["a"]))
    return grucible.pytest.load(tmp_path / "v.h5", expect=[Expectation("*", "known")])


async def _async(judge: Any) -> None:
    assert judge is None


def _generator(judge: Any) -> Iterator[None]:
    yield judge


async def _async_generator(case: Any) -> AsyncIterator[None]:
    yield case


class _Method:
    async def test(self, case: Any) -> None:
        assert case is None


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (_async, "_async is async def: a call would run none of its lines"),
        (_generator, "_generator is a generator, for it has a yield: a call would run none"),
        (_async_generator, "_async_generator is async def, with a yield: a call"),
        (_Method.test, "test is async def: .*; make it a plain def without yield"),
        (functools.partial(_async), "_async is async def"),
    ],
)
def test_a_test_whose_call_runs_nothing_is_refused(
    test: Callable[..., Any], says: str, vectors: Vectors
) -> None:
    with pytest.raises(TypeError, match=says):
        vectors.parametrize(test)


@pytest.mark.parametrize("test", [_async, _generator, _async_generator])
def test_a_test_that_returns_what_is_to_be_run_fails_whatever_is_expected(
    test: Callable[..., Any], vectors: Vectors
) -> None:
    @functools.wraps(test)
    def plain(**given: Any) -> Any:
        return test(**given)

    decorated = vectors.parametrize(plain)
    with pytest.raises(pytest.fail.Exception, match=r"returned a .*: a call would run") as failed:
        decorated(grucible_part=f"{CELL}/made/float32/a")
    assert type(failed.value).__name__ == "Unjudged", "the mark xfail does not admit it"


@pytest.mark.parametrize("judged", [True, False])
def test_what_a_test_that_asserts_by_itself_returns_is_not_passed_over(
    judged: bool, vectors: Vectors
) -> None:
    @vectors.parametrize
    def returns(question: Question, judge: Any) -> Any:
        wrong = {name: np.full(of.shape, 7, of.dtype) for name, of in question.outputs.items()}
        return judge(wrong) if judged else wrong

    with pytest.raises(pytest.fail.Exception, match="which nobody looks at") as failed:
        returns(grucible_part=f"{CELL}/made/float32/a")
    assert type(failed.value).__name__ == "Unjudged"


def test_the_program_is_ended_where_another_plugin_raises() -> None:
    closed: list[str] = []
    pool: Any = SimpleNamespace(close=lambda: closed.append("pool"))
    hook = collecting._AtTheEnd(pool).pytest_sessionfinish()
    next(hook)
    with pytest.raises(OSError, match="nobody is there"):
        hook.throw(OSError("nobody is there"))
    assert closed == ["pool"]


def test_a_runtime_that_raises_unittest_s_skip_is_an_error() -> None:
    def run(_: Question) -> dict[str, Array]:
        raise unittest.SkipTest("no GPU here")

    try:
        with pytest.raises(RuntimeError, match="the runtime raised SkipTest, which is of a test"):
            collecting._without_outcomes(run)(core_cases()[0].question)
    except unittest.SkipTest:
        pytest.fail("the test was skipped")  # as pytest would, and say nothing


def test_a_message_is_not_said_of_a_traceback() -> None:
    """Of a runtime in another process pytest shows both; only what it said is its message."""
    case = core_cases()[0]
    error = Apart("the device is gone", "the device is gone\n  in clip_the_gates")
    assert outcome._result(case, error).message == "the device is gone"
    assert "clip_the_gates" in str(error)

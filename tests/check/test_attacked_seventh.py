"""What was found when the judge was attacked again: passes that were none, and verdicts that were lost."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import grucible
from grucible import Expectation
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
    assert type(failed.value).__name__ == "NotRun", "the mark xfail does not admit it"

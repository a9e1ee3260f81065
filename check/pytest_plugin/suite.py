"""`grucible.pytest`: vectors for one's own tests.

    vectors = grucible.pytest.load("core", select="onnx.*")

    @vectors.parametrize
    def test_gru(question):
        return my_gru(question)

makes a test of each case, in which what is returned is judged.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from ...cases.console import format_command
from ...cases.errors import several, texts
from ...vectors.case import Case
from ..expecting import load_expectations
from ..judging.case_result import DECIDING
from ..judging.criterion import Criterion, chosen_criteria
from ..judging.expectations import Expectation, Expectations, check_globs
from ..observed.source import copied
from .outcome import (
    NOTHING,
    AsExpected,
    Judge,
    Test,
    Unjudged,
    decides,
    is_users,
    outcome,
    reason_of,
)
from .stored import Stored

CORE = "core"
"""What names the core vectors; a directory of that name is ./core."""
MOST_TESTS = 4000
"""Of more cases there is a test for each block: pytest keeps some kilobytes of each test."""
_PART = "grucible_part"
"""The parameter that a test gets in place of what it asked for: a case's id, or a block's name."""
_OURS = {"question", "case", "judge"}
_RUN_LATER: dict[Callable[[object], bool], str] = {
    inspect.iscoroutinefunction: "async def",
    inspect.isasyncgenfunction: "async def, with a yield",
    inspect.isgeneratorfunction: "a generator, for it has a yield",
}
"""What a function can be whose call runs none of its lines."""
_RUNS_NOTHING = (
    "a call would run none of its lines, and it would pass; make it a plain def without yield, which "
    "runs what is async itself, as with asyncio.run"
)

_NO_PARAMETERS = (
    "pytest gives the methods of a unittest.TestCase no parameters; make it a function, or a method of a "
    "plain class"
)


def load(
    vectors: str | Path = CORE,
    select: str | Sequence[str] = (),
    *,
    expect: str | Path | Sequence[Expectation] = (),
    arithmetic: str | Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
) -> Vectors:
    """The vectors at a path, or `core`, to make tests of; `select` has globs of case ids, or is one.

    `expect` names a file as for `grucible check --expect`, or holds expectations: tests of their cases are
    strict xfails. What is required of outputs can be changed as for `grucible.verify`.
    Raises GrucibleError for what cannot be used, and where nothing is selected.
    """
    path = None if str(vectors) == CORE else Path(vectors)
    known = (
        load_expectations(Path(expect))
        if isinstance(expect, str | Path)
        else several("expect", expect, Expectation, "a grucible.Expectation")
    )
    check_globs(known)
    criteria = chosen_criteria(texts("arithmetic", arithmetic), rtol, atol, ulp)
    return Vectors(path, Stored(path, texts("select", select)), criteria, Expectations(known))


class Vectors:
    """Cases to make tests of: `load` gives them. Iterated over, they are `grucible.Case`s."""

    def __init__(
        self,
        path: Path | None,
        stored: Stored,
        criteria: Mapping[str, Criterion],
        known: Expectations,
    ) -> None:
        self._path, self._stored, self._criteria, self._known = path, stored, criteria, known
        self.decided = False
        """Whether a case that decides has passed so far, or failed as expected."""

    @property
    def ids(self) -> list[str]:
        """The ids of the cases, in order."""
        return self._stored.ids

    @cached_property
    def blocks(self) -> dict[str, list[str]]:
        """The ids of the cases of each block, by its name `<operator>/<theme>/<dtype>/<what it shares>`."""
        found: dict[str, list[str]] = {}
        for part, ids in self._stored.parts.items():
            found.setdefault(part.name, []).extend(ids)  # another file may have the same block
        return found

    @cached_property
    def by_block(self) -> bool:
        """Whether there is a test for each block, and not for each case."""
        if len(self) > MOST_TESTS and not hasattr(pytest, "Subtests"):
            warnings.warn(
                f"grucible makes {len(self)} tests; pytest 9 has subtests for so many", stacklevel=2
            )
            return False
        return len(self) > MOST_TESTS

    def __len__(self) -> int:
        return len(self._stored.ids)

    def __iter__(self) -> Iterator[Case]:
        return map(self._stored.case, self._stored.ids)

    def __repr__(self) -> str:
        return f"<Vectors {self._path or CORE}: {len(self)} cases>"

    def parametrize(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Make a test of each case, or of each block with a subtest for each case where there are more than
        MOST_TESTS of them.

        The test takes `question`, and returns the outputs, which are judged. Or it takes `judge` or `case`
        besides, and asserts by itself. Whatever else it takes are fixtures, as ever.
        """
        names = inspect.signature(test).parameters
        if not _OURS & set(names):
            raise TypeError(f"{_name(test)} takes no question; expected question, case or judge")
        for one in names.values():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                said = f"takes {one}, which pytest gives nothing; expected each by its name"
                raise TypeError(f"{_name(test)} {said}")
        for is_one, what in _RUN_LATER.items():
            if is_one(test):
                raise TypeError(f"{_name(test)} is {what}: {_RUNS_NOTHING}")
        added = [name for name in (_PART, *["subtests"] * self.by_block) if name not in names]

        @functools.wraps(test)
        def judged(*args: Any, **given: Any) -> None:
            __tracebackhide__ = is_users
            if _PART not in given:
                raise Unjudged(f"{_name(test)} got no case: {_NO_PARAMETERS}", pytrace=False)
            part, subtests = given[_PART], given.get("subtests")
            own = {name: value for name, value in given.items() if name not in added}
            call = functools.partial(_called, test, args, own)
            if self.by_block:
                self.block(call, part, subtests)
            else:
                self.one(call, part)

        kept = [one for name, one in names.items() if name not in _OURS]
        kept += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in added]
        judged.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        marked: Callable[..., Any] = pytest.mark.parametrize(_PART, self._parameters())(judged)
        return marked

    def _parameters(self) -> list[Any]:
        if self.by_block:
            return [pytest.param(name, id=name) for name in self.blocks]
        return [pytest.param(one, id=one, marks=self.marks(one)) for one in self.ids]

    def marks(self, case_id: str) -> list[pytest.MarkDecorator]:
        """The marks of the test of a case: a strict xfail where it is expected to fail."""
        expected = self._known.of(case_id)
        if expected is None:
            return []
        return [pytest.mark.xfail(strict=True, raises=AsExpected, reason=reason_of(expected))]

    def one(self, test: Test, case_id: str) -> None:
        """Run the test of a case."""
        __tracebackhide__ = True
        judge = self._judge(case_id)
        try:
            outcome(test, judge, self._known.of(case_id))
        except AsExpected:
            self.decided |= judge.case.tier in DECIDING
            raise
        self.decided = self.decided or decides(judge)  # one case says it for all

    def block(self, test: Test, name: str, subtests: Any) -> None:
        """Run the tests of the cases of the block of this name; where all are skipped, it is too."""
        __tracebackhide__ = True
        ids, skipped = self.blocks[name], []
        for case_id in ids:
            with subtests.test(msg=case_id):
                try:
                    self._marked(test, case_id)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                    raise
        if len(skipped) == len(ids):
            raise skipped[0]  # nothing was judged

    def _marked(self, test: Test, case_id: str) -> None:
        """Run the test of a case that no mark can be given: as if it had its mark."""
        __tracebackhide__ = is_users
        expected = self._known.of(case_id)
        try:
            self.one(test, case_id)
        except AsExpected:
            if expected:
                pytest.xfail(reason_of(expected))
            raise
        if expected:
            pytest.fail(f"[XPASS(strict)] {reason_of(expected)}", pytrace=False)

    def _judge(self, case_id: str) -> Judge:
        case = self._stored.case(case_id)
        vectors = [str(self._path)] if self._path else []
        show = format_command("show", [*vectors, case_id])
        return Judge(case, self._criteria[case.dtype], show)


def _called(test: Callable[..., Any], args: Any, given: dict[str, Any], judge: Judge) -> Any:
    """Call a test with what it asks for of a case."""
    __tracebackhide__ = True
    names = inspect.signature(test).parameters
    ours = {"question": copied(judge.case.question), "case": judge.case, "judge": judge}
    taken = {name: value for name, value in ours.items() if name in names}
    found = test(*args, **given, **taken)
    if inspect.isawaitable(found) or inspect.isgenerator(found) or inspect.isasyncgen(found):
        if inspect.iscoroutine(found):
            found.close()  # else Python warns that nobody awaited it
        raise Unjudged(
            f"{_name(test)} returned a {type(found).__name__}: {_RUNS_NOTHING}", pytrace=False
        )
    if not {"judge", "case"} & taken.keys():
        return found
    if found is not None:
        said = f"{_name(test)} returned a {type(found).__name__}, which nobody looks at: a test that takes"
        raise Unjudged(
            f"{said} judge or case asserts by itself, and returns nothing", pytrace=False
        )
    return NOTHING


def _name(test: Callable[..., Any]) -> str:
    """What a test is called; a functools.partial is called as the function in it."""
    while isinstance(test, functools.partial):
        test = test.func
    return getattr(test, "__name__", type(test).__name__)

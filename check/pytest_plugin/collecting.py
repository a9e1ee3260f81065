"""Tests of vectors without a test file: what `pytest --grucible` collects."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Self

import pytest

from ...cases.console import escape
from ...cases.errors import GrucibleError
from ..cli.options import TIMEOUT_SECONDS
from ..observed import source
from ..observed.isolated import EXEC
from ..observed.pool import RuntimePool
from ..observed.source import FromRuntime
from ..reports.text import wrap
from ..runtimes.runtime import load_runtime
from . import NAME
from .suite import Vectors, is_users, load


class Cases(pytest.Collector):
    """The tests of the vectors that the options name."""

    @classmethod
    def of(cls, session: pytest.Session) -> Self:
        """Make the one collector of a session."""
        made: Self = cls.from_parent(session, name=NAME, nodeid=NAME)
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """Make a test for each case."""
        option = self.config.getoption
        select, expect = option("grucible_select") or (), option("grucible_expect") or ()
        try:
            vectors = load(option("grucible"), select, expect=expect)
            asked = self._open_source(option("grucible_runtime"))
        except GrucibleError as error:
            raise self.CollectError(escape(str(error))) from None
        for case_id in vectors.ids:
            test: _CaseTest = _CaseTest.from_parent(self, name=case_id, callobj=_plain)
            test.vectors, test.asked = vectors, asked
            for mark in vectors.marks(case_id):
                test.add_marker(mark)
            yield test

    def _open_source(self, name: str) -> FromRuntime | RuntimePool:
        """Load a runtime into this process, unless it is a program or is to be isolated."""
        if not self.config.getoption("grucible_isolated") and not name.startswith(EXEC):
            return FromRuntime(load_runtime(name))
        pool = RuntimePool(name, TIMEOUT_SECONDS)
        self.config.add_cleanup(pool.close)
        _ = pool.name  # raises where it does not load
        self.config.pluginmanager.register(_AtTheEnd(pool))
        return pool


def _plain() -> None:
    """Stand for a test function, so that fixtures that are used automatically are."""


class _CaseTest(pytest.Function):
    """A test of a case, whose place is no file."""

    vectors: Vectors
    asked: FromRuntime | RuntimePool

    def runtest(self) -> None:
        """Ask the runtime, and judge what it says."""
        __tracebackhide__ = is_users
        judge = self.vectors.judge(self.name)
        [reply] = self.asked.answer([judge.case.question])
        lines = reply.fault.traceback if reply.fault else ()
        ours = [place for place, line in enumerate(lines) if source.__file__ in line]
        theirs = lines[ours[-1] + 2 :] if ours else lines
        self.vectors.settle(judge, judge.see(reply), theirs)

    @property
    def decided(self) -> bool:
        """Whether a case that decides has passed so far, in this process, or failed as expected."""
        return self.vectors.decided

    def reportinfo(self) -> tuple[Path, int, str]:
        """Give a place and a title; of the name alone pytest would take the dots for those of modules."""
        return self.config.rootpath / NAME, 0, f"case {self.name}"


class _AtTheEnd:
    """End a program after the last test that asks it: what goes wrong then is an error there."""

    def __init__(self, pool: RuntimePool) -> None:
        self._pool = pool

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """After the last test, end the program."""
        __tracebackhide__ = is_users
        done = yield
        last = isinstance(item, _CaseTest) and not isinstance(nextitem, _CaseTest)
        if last and (reply := self._pool.finish()):
            lines = wrap(reply.message, indent=0)
            pytest.fail("\n".join(map(escape, lines)), pytrace=False)
        return done

"""Tests of vectors without a test file: what `pytest --grucible` collects."""

from __future__ import annotations

import unittest
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest

from ...cases.console import escape, format_message
from ...cases.errors import GrucibleError
from ...cases.question import Question
from ..commands.options import TIMEOUT_SECONDS
from ..observed import source
from ..observed.isolated import EXEC
from ..observed.pool import RuntimePool
from ..observed.source import Reply, copied, taken
from ..reports.text import wrap
from ..runtimes.runtime import RuntimeFunction, Unsupported, load_runtime
from . import NAME
from .suite import Judge, RuntimeFailure, Vectors, is_users, load


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
            run = self._load_runtime(option("grucible_runtime"))
        except GrucibleError as error:
            raise self.CollectError(escape(str(error))) from None

        def ask(judge: Judge) -> Any:
            __tracebackhide__ = True
            return run(copied(judge.case.question))

        for case_id in vectors.ids:
            test: _CaseTest = _CaseTest.from_parent(
                self, name=case_id, callobj=partial(vectors.run, ask, case_id)
            )
            test.vectors = vectors
            for mark in vectors.marks(case_id):
                test.add_marker(mark)
            yield test

    def _load_runtime(self, name: str) -> RuntimeFunction:
        """Load a runtime into this process, unless it is a program or is to be isolated."""
        if not self.config.getoption("grucible_isolated") and not name.startswith(EXEC):
            return _without_outcomes(load_runtime(name).run)
        pool = RuntimePool(name, TIMEOUT_SECONDS)
        self.config.add_cleanup(pool.close)
        _ = pool.name  # raises where it does not load
        self.config.pluginmanager.register(_AtTheEnd(pool))
        return lambda question: _ask_pool(pool, question)


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
        if isinstance(item, _CaseTest) and not isinstance(nextitem, _CaseTest):
            for case_id, reply in self._pool.finish().items():
                _fail(reply, f"{case_id}: {reply.message}")
        return done


class _CaseTest(pytest.Function):
    """A test of a case, whose place is no file."""

    vectors: Vectors

    def runtest(self) -> None:
        """Call the test without pytest's hook, for which another plugin may answer without a call."""
        __tracebackhide__ = is_users
        self.obj()

    @property
    def decided(self) -> bool:
        """Whether a case that decides has passed so far, in this process, or failed as expected."""
        return self.vectors.decided

    def reportinfo(self) -> tuple[Path, int, str]:
        """Give a place and a title; of the name alone pytest would take the dots for those of modules."""
        return self.config.rootpath / NAME, 0, f"case {self.name}"


_OUTCOMES = (
    pytest.exit.Exception,
    pytest.skip.Exception,
    pytest.xfail.Exception,
    unittest.SkipTest,
)
"""Exceptions by which pytest would take a case for skipped or expected to fail, or end."""


def _without_outcomes(run: RuntimeFunction) -> RuntimeFunction:
    """Make an error of each outcome of a test that a runtime raises, also by its arrays."""

    def asked(question: Question) -> Any:
        __tracebackhide__ = True
        try:
            return taken(run(question))
        except (*_OUTCOMES, BaseExceptionGroup) as error:
            if isinstance(error, BaseExceptionGroup) and not error.subgroup(_OUTCOMES):
                raise
            raise RuntimeError(
                f"the runtime raised {type(error).__name__}, which is of a test ({format_message(error)}); "
                "expected outputs, or grucible.Unsupported"
            ) from error

    return asked


def _ask_pool(pool: RuntimePool, question: Question) -> Any:
    """Ask a runtime in another process; what goes wrong there is a failure without a traceback here."""
    __tracebackhide__ = True
    [reply] = pool.replies([question])
    if reply.status == "unsupported":
        raise Unsupported(reply.message)
    if reply.status != "ok":
        _fail(reply, reply.message)
    return reply.outputs


def _fail(reply: Reply, message: str) -> NoReturn:
    __tracebackhide__ = True
    lines = [*wrap(message, indent=0), *_their_traceback(reply)]
    raise RuntimeFailure(message, "\n".join(map(escape, lines)))


def _their_traceback(reply: Reply) -> Sequence[str]:
    """Cut the lines of a traceback that call the runtime there."""
    lines = reply.fault.traceback if reply.fault else ()
    ours = [place for place, line in enumerate(lines) if f'File "{source.__file__}"' in line]
    return lines[ours[-1] + 2 :] if ours else lines

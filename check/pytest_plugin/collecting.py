"""Tests of vectors without a test file: what `pytest --grucible` collects."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Generator, Iterator, Sequence
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
from ..reports.wrapping import wrapped
from ..runtimes.runtime import RuntimeFunction, Unsupported, load_runtime
from .incomplete import NAME
from .outcome import Apart, Judge, Test, is_users
from .suite import Vectors, load


class Cases(pytest.Collector):
    """The tests of the vectors that the options name."""

    @classmethod
    def of(cls, session: pytest.Session) -> Self:
        """The one collector of a session."""
        made: Self = cls.from_parent(session, name=NAME, nodeid=NAME)
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each case, or for each block where there are many cases."""
        option = self.config.getoption
        expect = option("grucible_expect") or ()
        try:
            vectors = load(option("grucible"), option("grucible_select"), expect=expect)
            run = self._runtime(option("grucible_runtime"))
        except GrucibleError as error:
            raise self.CollectError(escape(str(error))) from None

        def ask(judge: Judge) -> Any:
            __tracebackhide__ = True
            return run(copied(judge.case.question))

        if vectors.by_block:
            yield from (
                self._test(vectors, "block", name, _of_block(vectors, ask, name))
                for name in vectors.blocks
            )
            return
        for case_id in vectors.ids:
            test = self._test(vectors, "case", case_id, _of_case(vectors, ask, case_id))
            for mark in vectors.marks(case_id):
                test.add_marker(mark)
            yield test

    def _test(
        self, vectors: Vectors, what: str, name: str, called: Callable[..., None]
    ) -> pytest.Item:
        made: _Test = _Test.from_parent(self, name=name, callobj=called)
        made.what, made.vectors = what, vectors
        return made

    def _runtime(self, name: str) -> RuntimeFunction:
        """The runtime, in this process unless it is a program or is to be isolated."""
        if not self.config.getoption("grucible_isolated") and not name.startswith(EXEC):
            return _without_outcomes(load_runtime(name).run)
        pool = RuntimePool(name, TIMEOUT_SECONDS)
        self.config.add_cleanup(pool.close)
        _ = pool.name  # raises where it does not load
        self.config.pluginmanager.register(_AtTheEnd(pool))
        return lambda question: _answered(pool, question)


class _AtTheEnd:
    """What lets a program end after the last test that asks it: what goes wrong then is an error there."""

    def __init__(self, pool: RuntimePool) -> None:
        self._pool = pool

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """After the last test, end the program."""
        __tracebackhide__ = is_users
        done = yield
        if isinstance(item, _Test) and not isinstance(nextitem, _Test):
            for case_id, reply in self._pool.finish().items():
                _fail(reply, f"{case_id}: {reply.message}")
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """End the program where another plugin raises, too, as xdist's does when who started it is gone."""
        try:
            return (yield)
        finally:
            self._pool.close()


class _Test(pytest.Function):
    """A test of a case, or of a block, whose place is no file."""

    what: str
    """`case` or `block`."""
    vectors: Vectors

    def runtest(self) -> None:
        """Call the test, which passes by that alone. pytest asks a hook to call a function, which nobody
        answers with `-p no:python`, and which another plugin may answer without a call."""
        __tracebackhide__ = is_users
        self.obj(**{name: self.funcargs[name] for name in self._fixtureinfo.argnames})

    @property
    def decided(self) -> bool:
        """Whether a case that decides has passed so far, in this process, or failed as expected."""
        return self.vectors.decided

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands, as far as it stands anywhere, and what stands over its failure.

        Were that its name alone, pytest would take the dots of it for those of modules.
        """
        return self.config.rootpath / NAME, 0, f"{self.what} {self.name}"


def _of_case(vectors: Vectors, ask: Test, case_id: str) -> Callable[[], None]:
    def test() -> None:
        __tracebackhide__ = is_users
        vectors.one(ask, case_id)

    return test


def _of_block(vectors: Vectors, ask: Test, name: str) -> Callable[[Any], None]:
    def test(subtests: Any) -> None:
        __tracebackhide__ = is_users
        vectors.block(ask, name, subtests)

    return test


_OUTCOMES = (
    pytest.exit.Exception,
    pytest.skip.Exception,
    pytest.xfail.Exception,
    unittest.SkipTest,
)
"""What pytest takes for a test's outcome, or for the end of all."""


def _without_outcomes(run: RuntimeFunction) -> RuntimeFunction:
    """The runtime, of which what pytest takes for a test's outcome, or for the end of all, is an error: where
    it is asked, and where what it returned is read."""

    def asked(question: Question) -> Any:
        __tracebackhide__ = is_users
        try:
            return taken(run(question))
        except _OUTCOMES as error:
            raise _of_a_test(error, error) from error
        except BaseExceptionGroup as group:
            some = group.split(_OUTCOMES)[0]
            if some is None:
                raise
            raise _of_a_test(group, some) from group

    return asked


def _of_a_test(error: BaseException, outcome: BaseException) -> RuntimeError:
    """What is raised in place of an error that is a test's outcome, or of a group that holds some."""
    return RuntimeError(
        f"the runtime raised {type(error).__name__}, which is of a test ({format_message(outcome)}); "
        "expected outputs, or grucible.Unsupported"
    )


def _answered(pool: RuntimePool, question: Question) -> Any:
    """What a runtime in another process says; what goes wrong there is a failure without a traceback here."""
    __tracebackhide__ = True
    [reply] = pool.replies([question])
    if reply.status == "unsupported":
        raise Unsupported(reply.message)
    if reply.status != "ok":
        _fail(reply, reply.message)
    return reply.outputs


def _fail(reply: Reply, said: str) -> NoReturn:
    __tracebackhide__ = True
    lines = [*wrapped(said, indent=0), *_traceback(reply)]
    raise Apart(said, "\n".join(map(escape, lines)))


def _traceback(reply: Reply) -> Sequence[str]:
    """The lines of a traceback that are behind what calls the runtime there."""
    lines = reply.fault.traceback if reply.fault else ()
    ours = [place for place, line in enumerate(lines) if f'File "{source.__file__}"' in line]
    return lines[ours[-1] + 2 :] if ours else lines

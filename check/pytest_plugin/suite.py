"""`grucible.pytest`: vectors for the user's own tests, and what `pytest --grucible` collects.

    vectors = grucible.pytest.load("core", select="onnx.*")

    @vectors.parametrize
    def test_gru(question):
        return my_gru(question)

makes a test of each case. What the test returns is judged.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from ...cases.console import escape, format_error, format_message, suggest
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError, several, texts
from ...gen.making import open_or_make
from ...vectors.block import block_of
from ...vectors.case import Case
from ...vectors.vector_set import VectorSet
from ..cli.options import TIMEOUT_SECONDS
from ..diagnosis.failing import failing_blocks
from ..diagnosis.finding import Diagnosis
from ..expecting import apply_expectation, load_expectations
from ..judging.case_result import DECIDING, CaseResult
from ..judging.criterion import Criterion, chosen_criteria
from ..judging.expectations import Expectation, Expectations
from ..judging.grade import find_undeciding
from ..observed import source
from ..observed.isolated import EXEC
from ..observed.observations import Slice
from ..observed.pool import RuntimePool
from ..observed.source import FromRuntime, Source, ask_runtime, copy_question, stack_replies
from ..one_case import Judgment, judged_reply
from ..protocol.header import Fault, Reply
from ..reports.findings import diagnosis_lines, how_far_off, leading_command
from ..reports.text import wrap
from ..runtimes.runtime import Runtime, Unsupported, load_runtime
from ..verdict import Demand, Seen, explain
from . import NAME

if TYPE_CHECKING:
    from _pytest.outcomes import Failed
else:
    Failed = pytest.fail.Exception

CORE = "core"
"""The name of the core vectors; a directory of that name is ./core."""
_CASE = "grucible_case"
"""The parameter that pytest passes in place of question, case and judge: a case's id."""
_OURS = {"question", "case", "judge"}
_ANY_RUNTIME = "NAME"
"""What stands in commands for a runtime that has no name here: a test calls it."""


class AsExpected(Failed):
    """A failure that was expected, the only kind that the mark xfail of its test accepts."""


class Unjudged(Failed):
    """A failure of a test that judged nothing, which no expectation excuses."""


@dataclass(frozen=True, repr=False)
class WatchedJudgment(Judgment):
    """A judgment that lists in `asked` what a test asks of it."""

    asked: list[str] = field(default_factory=list, compare=False)

    def __getattribute__(self, name: str) -> Any:
        if name in Judgment.__dataclass_fields__ or name in ("passed", "reading"):
            super().__getattribute__("asked").append(name)
        return super().__getattribute__(name)

    def text(self) -> str:
        """Format the judgment; a text alone asks for nothing, as in `assert found, found.text()`."""
        return Judgment(**{name: vars(self)[name] for name in Judgment.__dataclass_fields__}).text()


@dataclass(frozen=True, repr=False)
class WatchedCase(Case):
    """A case that lists in `asked` that a test reads its answers, by itself or by `grucible.judge`."""

    asked: list[str] = field(default_factory=list, compare=False)

    def __getattribute__(self, name: str) -> Any:
        if name == "stored":
            super().__getattribute__("asked").append(name)
        return super().__getattribute__(name)


class Judge:
    """The judge of one case of `vectors`, for tests that assert by themselves: `judge(outputs)`.

    `last` is the last judgment, None where nothing was judged; `outputs` are the arrays that it judged.
    """

    def __init__(self, case: Case, criterion: Criterion, vectors: str) -> None:
        self.case, self.block = case, block_of(case)
        self.last: WatchedJudgment | None = None
        self.asked: list[str] = []
        self.outputs: Arrays = {}
        self.criterion, self._vectors = criterion, vectors

    def __call__(self, outputs: Mapping[str, Any]) -> Judgment:
        """Judge outputs as `grucible.judge` does."""
        return self.see(ask_runtime(Runtime("", "", lambda _: outputs), self.case.question))

    def see(self, reply: Reply) -> WatchedJudgment:
        """Judge a runtime's reply to the question."""
        found = judged_reply(self.block, reply, self.criterion)
        show = leading_command(found.result, self._vectors, found.required, _ANY_RUNTIME)
        self.last = WatchedJudgment(**vars(found) | {"show": show}, asked=self.asked)
        self.outputs = reply.outputs
        return self.last

    def __repr__(self) -> str:
        return f"<Judge of {self.case.id}>"


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
    """Load the vectors at a path, or `core`, to make tests of them.

    `select` is a glob of case ids, or several. `expect` is a file as for `grucible check --expect`, or a list
    of expectations: tests of their cases are strict xfails. The other arguments change what is required, as
    for `grucible.verify`.
    Raises GrucibleError for files and arguments that cannot be used, and where nothing is selected.
    """
    known = (
        load_expectations(Path(expect))
        if isinstance(expect, str | Path)
        else several("expect", expect, Expectation, "a grucible.Expectation")
    )
    criteria = chosen_criteria(texts("arithmetic", arithmetic), rtol, atol, ulp)
    near = suggest(str(vectors), [CORE])
    if near and str(vectors) != CORE and not Path(vectors).exists():
        raise GrucibleError(f"{vectors}: no such file or directory{near}")
    opened = open_or_make(None if str(vectors) == CORE else Path(vectors), texts("select", select))
    return Vectors(opened, criteria, Expectations(known))


class Vectors:
    """Cases, from `load`, of which to make tests. Iterating over them gives `grucible.Case`s."""

    def __init__(
        self, opened: VectorSet, criteria: Mapping[str, Criterion], known: Expectations
    ) -> None:
        self._set, self._criteria, self._known = opened, criteria, known
        self._replies: dict[str, Reply] = {}
        self.ids = opened.ids
        """The ids of the cases, in order."""
        if not self.ids:
            raise opened.nothing_selected()

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Case]:
        return map(self._case, self.ids)

    def __repr__(self) -> str:
        return f"<Vectors {self._set.path or CORE}: {len(self)} cases>"

    def _case(self, case_id: str) -> Case:
        return self._set.one(case_id).block.case(0)

    def parametrize(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Make a test of each case.

        The test takes `question`, and returns the outputs, which are judged. If it also takes `judge` or
        `case`, it asserts by itself and returns nothing. Its other arguments are fixtures, as usual.
        """
        names = inspect.signature(test).parameters
        if not _OURS & set(names):
            name = getattr(test, "__name__", type(test).__name__)
            raise TypeError(f"{name} takes no question; expected question, case or judge")

        @functools.wraps(test)
        def judged(*args: Any, **given: Any) -> None:
            __tracebackhide__ = is_users
            self._run(test, self.judge(given.pop(_CASE)), args, given)

        fixtures = [one for name, one in names.items() if name not in _OURS]
        added = inspect.Parameter(_CASE, inspect.Parameter.KEYWORD_ONLY)
        judged.__signature__ = inspect.Signature([*fixtures, added])  # type: ignore[attr-defined]
        cases = [pytest.param(one, id=one, marks=self.marks(one)) for one in self.ids]
        marked: Callable[..., Any] = pytest.mark.parametrize(_CASE, cases)(judged)
        return marked

    def marks(self, case_id: str) -> list[pytest.MarkDecorator]:
        """Give the marks of a case's test: a strict xfail if the case is expected to fail."""
        expected = self._known.of(case_id)
        if expected is None:
            return []
        reason = f"{expected.reason} ({expected.link})" if expected.link else expected.reason
        return [pytest.mark.xfail(strict=True, raises=AsExpected, reason=escape(reason))]

    def judge(self, case_id: str) -> Judge:
        """Make the judge of a case."""
        case = self._case(case_id)
        return Judge(case, self._criteria[case.dtype], str(self._set.path or ""))

    def see(self, case_id: str, reply: Reply) -> None:
        """Keep what a runtime replied to a case for `explain`."""
        self._replies[case_id] = reply

    def explain(self, asked: Source) -> list[str]:
        """Explain the failures that were seen, in lines; ask the runtime again where that helps."""
        seen = Seen(Demand(self._criteria, again=False))
        with np.errstate(all="ignore"):
            for file, stored, rows, block in self._set.slices():
                some = [n for n, case_id in enumerate(block.ids) if case_id in self._replies]
                if some:
                    part = block.rows(np.array(some))
                    replies = [self._replies[case_id] for case_id in part.ids]
                    seen.see(Slice(file, stored, rows[some], part, stack_replies(part, replies)))
            return [*map(escape, diagnosis_lines(explain(asked, seen)))]

    def _run(
        self, test: Callable[..., Any], judge: Judge, args: Any, given: dict[str, Any]
    ) -> None:
        """Call a test with the parts of a case that it asks for; raise the outcome that pytest reports."""
        __tracebackhide__ = is_users
        names = inspect.signature(test).parameters
        case = WatchedCase(**vars(judge.case), asked=judge.asked)
        ours = {"question": copy_question(case.question), "case": case, "judge": judge}
        asked = {name: value for name, value in ours.items() if name in names}
        try:
            outputs = test(*args, **given, **asked)
        except Unsupported as reason:
            _skip(format_message(reason))
        except (Exception, pytest.fail.Exception) as error:
            asserts = isinstance(error, AssertionError | pytest.fail.Exception)
            last = judge.last if asserts else None
            if last is None or last.passed:
                last = judge.see(Reply("error", {}, format_error(error), Fault("raised")))
            if instead := self._excuse(judge, last.result, error):
                error.add_note(escape(instead))
            raise
        unrun = isinstance(outputs, Awaitable | Generator | AsyncGenerator)
        if not unrun and not {"judge", "case"} & asked.keys():
            self.settle(judge, judge(outputs))
        elif outputs is not None:
            raise Unjudged(
                f"the test returned a {type(outputs).__name__}, which is not judged: a test that takes "
                "judge or case must return nothing, any other test its outputs",
                pytrace=False,
            )
        elif not judge.asked:
            word = "judge" if "judge" in asked else "case"
            needed = f"{word}(outputs)" if word == "judge" else "grucible.judge(case, outputs)"
            raise Unjudged(
                f"the test takes {word}, and asks for no verdict: assert {needed}.passed",
                pytrace=False,
            )

    def settle(
        self,
        judge: Judge,
        found: Judgment,
        runtime: str = _ANY_RUNTIME,
        traceback: Sequence[str] = (),
    ) -> None:
        """Raise the outcome that pytest reports for a judgment of a test, or of a runtime by name."""
        __tracebackhide__ = True
        if found.verdict == "unsupported":
            _skip(found.message)
        if found.verdict == "missing":
            raise Unjudged(escape(found.sentence), pytrace=False)
        if not found.passed:
            instead = self._excuse(judge, found.result, None)
            vectors = str(self._set.path or "")
            see = leading_command(found.result, vectors, found.required, runtime)
            lines = [*wrap(found.sentence, indent=0), f"see: {see}"]
            lines += [*wrap(instead, indent=0), *traceback]
            raise pytest.fail.Exception("\n".join(map(escape, lines)), pytrace=False)

    def _excuse(self, judge: Judge, result: CaseResult, error: BaseException | None) -> str:
        """Raise an xfail if a failure was expected or does not decide; else say what was expected instead."""
        __tracebackhide__ = True
        expected, instead = self._known.of(judge.case.id), None
        if expected:
            failing = None
            if result.verdict == "failed":
                observed = {name: array[None] for name, array in judge.outputs.items()}
                [part] = failing_blocks(judge.block, observed, judge.criterion)
                failing = part, 0
            with np.errstate(all="ignore"):  # the user's settings are not for the judge
                instead = apply_expectation(result, expected, Diagnosis(), failing).instead
            if not instead:
                raise AsExpected(escape(how_far_off(result)), pytrace=False) from error
        if judge.case.tier not in DECIDING:
            about = f"the tier {judge.case.tier} does not decide: {how_far_off(result)}"
            pytest.xfail(escape(about))
        return instead.in_words if instead else ""


def _skip(reason: str) -> NoReturn:
    __tracebackhide__ = True
    skipped = pytest.skip.Exception(f"unsupported: {escape(reason)}")
    skipped._use_item_location = True  # shows the test's line, not this one
    raise skipped


def is_users(info: pytest.ExceptionInfo[BaseException]) -> bool:
    """Say whether an exception is a runtime's or a test's own; then our frames are hidden in its traceback.

    Outcomes that are raised here show no traceback, but pytest must find a frame of them.
    """
    outcomes = pytest.fail.Exception | pytest.skip.Exception | pytest.xfail.Exception
    return not isinstance(info.value, outcomes)


class Cases(pytest.Collector):
    """The tests of the vectors that the options name."""

    def collect(self) -> Iterator[pytest.Item]:
        """Make a test for each case."""
        option = self.config.getoption
        select, expect = option("grucible_select") or (), option("grucible_expect") or ()
        try:
            asked = self._open_source(option("grucible_runtime"))
            vectors = load(option("grucible"), select, expect=expect)
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
        pool = RuntimePool(name, self.config.getoption("grucible_timeout") or TIMEOUT_SECONDS)
        self.config.add_cleanup(pool.close)
        _ = pool.name  # raises where it does not load
        return pool


def _plain() -> None:
    """Stand in for a test function, so that automatic fixtures are used."""


class _CaseTest(pytest.Function):
    """A case's test, without a file; `decided` says whether it decides, and passed or failed as expected."""

    vectors: Vectors
    asked: FromRuntime | RuntimePool
    decided = False

    def runtest(self) -> None:
        """Ask the runtime, and judge its reply."""
        __tracebackhide__ = is_users
        judge = self.vectors.judge(self.name)
        [reply] = self.asked.answer([judge.case.question])
        self.vectors.see(self.name, reply)
        lines = reply.fault.traceback if reply.fault else ()
        ours = [place for place, line in enumerate(lines) if source.__file__ in line]
        decides = judge.case.tier in DECIDING
        try:
            shown = lines[ours[-1] + 2 :] if ours else lines
            name = self.config.getoption("grucible_runtime")
            self.vectors.settle(judge, judge.see(reply), name, shown)
        except AsExpected:
            self.decided = decides
            raise
        self.decided = decides and not find_undeciding(judge.block, judge.criterion).any()

    def explain(self) -> list[str]:
        """Explain the failures of all cases so far, in lines."""
        return self.vectors.explain(self.asked)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Give a place and a title; pytest would take the dots in a bare name for dots between modules."""
        return self.config.rootpath / NAME, 0, f"case {self.name}"

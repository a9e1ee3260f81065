"""What becomes of one case, in pytest's words: passed, failed, skipped, or failed as expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from ...cases.console import escape, format_error, format_message
from ...cases.dtypes import Arrays
from ...vectors.block import block_of
from ...vectors.case import Case
from ..diagnosis.failing import FailingBlock
from ..diagnosis.finding import Diagnosis
from ..expecting import apply_expectation
from ..judging.case_result import DECIDING, CaseResult
from ..judging.criterion import Criterion
from ..judging.expectations import Expectation
from ..judging.grade import Grade
from ..observed.source import Fault, returned
from ..one_case import Judgment, judged_reply
from ..reports.paragraph import how_far_off
from ..reports.wrapping import wrapped
from ..runtimes.runtime import Runtime, Unsupported

if TYPE_CHECKING:
    from _pytest.outcomes import Failed
else:
    Failed = pytest.fail.Exception


class AsExpected(Failed):
    """A failure that an expectation foretells: all that the mark xfail of its test admits."""


class Apart(Failed):
    """The failure of a runtime in another process: what it `said`; what is `shown` has its traceback, too."""

    def __init__(self, said: str, shown: str) -> None:
        super().__init__(shown, pytrace=False)
        self.said = said


class Unjudged(Failed):
    """The failure of a test by which nothing was judged: no expectation excuses it."""


class Judge:
    """What a test that asserts by itself has its outputs judged with: `judge(outputs)`.

    `case` is the case; `block`, which it judges by, holds the answers of the vectors.
    `last` is what was found last, None where nothing was judged, and `outputs` of which arrays.
    """

    def __init__(self, case: Case, criterion: Criterion, show: str) -> None:
        self.case = case
        self.block = block_of(case)
        self.last: Judgment | None = None
        self.outputs: Arrays = {}
        self.criterion, self._show = criterion, show

    def __call__(self, outputs: Mapping[str, Any]) -> Judgment:
        """The judgment of outputs, as `grucible.judge` gives it."""
        reply = returned(Runtime("", "", lambda _: outputs), self.case.question)
        found = judged_reply(self.block, reply, self.criterion)
        self.last, self.outputs = replace(found, show=self._show), reply.outputs
        return self.last

    def __repr__(self) -> str:
        return f"<Judge of {self.case.id}>"


Test = Callable[[Judge], Any]
"""What is run for a case: the outputs that are to be judged, or NOTHING where the test asserts by itself."""
NOTHING = object()


def outcome(test: Test, judge: Judge, expected: Expectation | None) -> None:
    """Run the test of a case, and raise what pytest is to report of it."""
    __tracebackhide__ = True
    try:
        outputs = test(judge)
    except Unsupported as reason:
        _skip(escape(format_message(reason)))
    except Unjudged:
        raise
    except (AssertionError, pytest.fail.Exception) as error:
        last = judge.last
        judged = None if last is None or last.passed else last.result
        _excuse(judge, expected, judged or _result(judge.case, error), error)
        raise
    except Exception as error:  # whatever was judged before it
        _excuse(judge, expected, _result(judge.case, error), error)
        raise
    if outputs is NOTHING:
        return
    found = judge(outputs)
    if not found.passed:
        other = _excuse(judge, expected, found.result, None)
        raise pytest.fail.Exception("\n".join([paragraph(found), *other]), pytrace=False)


def decides(judge: Judge) -> bool:
    """Whether it says anything that the case passes: its tier decides, and its tolerances say enough."""
    seen = Grade(judge.case.dtype, judge.criterion)
    seen.see_limits("", judge.block, np.ones(1, bool))
    return judge.case.tier in DECIDING and not seen.undeciding.total()


def paragraph(found: Judgment) -> str:
    """What is wrong with a case, the worst element first, and the command that shows it."""
    lines = [*wrapped(found.sentence, indent=0), f"see: {found.show}"]
    return "\n".join(map(escape, lines))


def _excuse(
    judge: Judge,
    expected: Expectation | None,
    result: CaseResult,
    error: BaseException | None,
) -> list[str]:
    """Raise what makes an xfail of what went wrong, where it was expected or decides nothing; else what is to
    be said of it: what was expected instead."""
    __tracebackhide__ = True
    told = how_far_off(result)
    other = instead(judge, expected, result) if expected else ""
    if expected and not other:
        raise AsExpected(escape(told), pytrace=False) from error
    if judge.case.tier not in DECIDING:
        pytest.xfail(escape(f"the tier {judge.case.tier} does not decide: {told}"))
    if other and error is not None:
        error.add_note(escape(other))
    return list(map(escape, wrapped(other, indent=0)))


def instead(judge: Judge, expected: Expectation, result: CaseResult) -> str:
    """How a case went wrong, in words, where that is not as expected; "" where it is."""
    failing = None
    if result.verdict == "failed" and expected.diagnosis:
        observed = {name: array[None] for name, array in judge.outputs.items()}
        failing = FailingBlock(judge.block, observed, judge.criterion), 0
    with np.errstate(all="ignore"):  # what the user set is not for what judges
        seen = apply_expectation(result, expected, Diagnosis(), failing).instead
    return seen.in_words if seen else ""


def _result(case: Case, error: BaseException) -> CaseResult:
    """What is found of a case whose test raised an error."""
    said = error.said if isinstance(error, Apart) else format_error(error)
    return CaseResult(
        id=case.id, operator=case.operator, tier=case.tier, dtype=case.dtype, verdict="error",
        message=said, fault=Fault("raised"),
    )  # fmt: skip


def _skip(reason: str) -> NoReturn:
    __tracebackhide__ = True
    skipped = pytest.skip.Exception(f"unsupported: {reason}")
    skipped._use_item_location = True  # it was skipped there, not here
    raise skipped


def is_users(info: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether an exception is a runtime's or a test's own: its traceback is shown, and not what is here.

    Of an outcome that is raised here no traceback is shown, but pytest wants to find a frame of it.
    """
    return not isinstance(
        info.value, pytest.fail.Exception | pytest.skip.Exception | pytest.xfail.Exception
    )


def reason_of(expected: Expectation) -> str:
    """Why a failure is expected, in a line."""
    return escape(f"{expected.reason} ({expected.link})" if expected.link else expected.reason)

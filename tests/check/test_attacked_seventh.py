"""What was found when the judge was attacked again: passes that were none, and verdicts that were lost."""

from __future__ import annotations

import functools
import re
import signal
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

import grucible
from grucible import Expectation, Question, load_vectors, verify
from grucible.cases.dtypes import Array
from grucible.cases.errors import GrucibleError
from grucible.check import verdict
from grucible.check.diagnosis.finding import Diagnosis
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.expectations import says
from grucible.check.observed.child import Child
from grucible.check.observed.isolated import IsolatedRuntime
from grucible.check.observed.source import FromRuntime
from grucible.check.pytest_plugin import collecting, outcome
from grucible.check.pytest_plugin.outcome import Apart
from grucible.check.pytest_plugin.suite import Vectors
from grucible.check.runtimes.runtime import described
from grucible.check.scripts.script import script

from .conftest import HERE, Command
from .made import CELL, answering, make_block, write_vectors
from .test_orphans import running, soon


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


@pytest.fixture
def children_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


ABORTS = "import os\ndef run(question):\n    os.abort()\n"


@pytest.mark.usefixtures("children_ignored")
def test_a_death_is_seen_where_children_are_ignored(tmp_path: Path) -> None:
    """Whoever starts the process: the commands, the plugin, or a program of one's own."""
    (tmp_path / "dies.py").write_text(ABORTS)
    with ThreadPoolExecutor(1) as another, pytest.raises(GrucibleError, match="SIGCHLD is ignored"):
        another.submit(Child, ["true"], "true").result()
    isolated = IsolatedRuntime(f"{tmp_path}/dies.py:run", 60.0)
    try:
        message = isolated.answer(core_cases()[0].question).message
    finally:
        isolated.close()
    assert message.startswith("the runtime crashed (SIGABRT)")


def test_a_handler_of_who_starts_processes_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGCHLD, lambda number, _: seen.append(number))
    try:
        child = Child(["true"], "true")
        assert child.ended(30)
        child.close()
        assert seen
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_text_of_an_expectation_is_one_and_not_its_letters() -> None:
    one = Expectation("*", "known", message="no such kernel", observed=["float32"])  # type: ignore[arg-type]
    assert (one.message, one.observed) == (("no such kernel",), ("float32",))
    assert not says("an error occurred", one.message)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"message": ("",)}, "message: ('',); expected a text"),
        ({"message": " "}, "message: ' '; expected a text"),
        ({"message": ("a", 7)}, "message: ('a', 7); expected a text"),
        ({"observed": ("flaot32",)}, "there is no class 'flaot32'; did you mean 'float32'?"),
        ({"diagnosis": "clip-ignore"}, "no misreading 'clip-ignore'; did you mean 'clip-ignored'?"),
        ({"diagnosis": 7}, "diagnosis: 7; expected a text"),
        ({"reason": ""}, "the expectation of '*': reason: ''; expected a text"),
        ({"cases": ""}, "cases: ''; expected a text"),
        ({"cases": "*/invalid/*", "observed": "float32"}, "is not said of invalid questions"),
    ],
)
def test_an_expectation_that_none_can_hold_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(GrucibleError, match=re.escape(says)):
        Expectation(**{"cases": "*", "reason": "known", **given})


def test_the_largest_numbers_end_no_diagnosis(capfd: pytest.CaptureFixture[str]) -> None:
    """A curve was fitted to errors whose sums overflow, which LAPACK does not take."""
    select = "openvino.GRUSequence-5/plain/float64/int32"
    [case] = load_vectors(None, select)
    most = np.finfo(np.float64).max

    def run(_: Question) -> dict[str, Array]:
        return {n: np.where(np.abs(a) > 0.5, most, a) for n, a in case.answer.outputs.items()}

    assert verify(runtime=run, select=select).verdict == "does not conform"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float64", 0x7FEFFFFFFFFFFFFF), ("float32", 0x7FA00001)]
)
@pytest.mark.filterwarnings("error")
def test_no_warning_of_numpy_ends_a_verdict(dtype: str, bits: int) -> None:
    """The largest number, and a NaN that signals."""

    def run(question: Question) -> dict[str, Array]:
        wide = {name: of.dtype.str.replace("f", "u") for name, of in question.outputs.items()}
        return {
            name: np.full(of.shape, bits, wide[name]).view(of.dtype)
            for name, of in question.outputs.items()
        }

    report = verify(runtime=run, select=f"openvino.GRUSequence-5/plain/{dtype}/lbr")
    assert report.verdict == "does not conform"


def test_what_the_user_sets_in_numpy_is_not_for_what_judges(tmp_path: Path) -> None:
    """Of one case by itself, and in the plugin."""
    [case] = load_vectors(None, "openvino.GRUCell-3/plain/float64/relu_relu")
    tiny = {"Ho": np.full((3, 6), 5e-324)}
    write_vectors(tmp_path / "v.h5", make_block(["a"], dtype="float64"))
    expect = [Expectation("*", "known", diagnosis="clip-ignored")]  # type: ignore[arg-type]
    vectors = grucible.pytest.load(tmp_path / "v.h5", expect=expect)

    @vectors.parametrize
    def returns(question: Question) -> dict[str, Array]:
        return {n: np.full(of.shape, 5e-324) for n, of in question.outputs.items()}

    with np.errstate(all="raise"):
        assert not grucible.judge(case, tiny).passed
        with pytest.raises(pytest.fail.Exception, match="expected diagnosis clip-ignored"):
            returns(grucible_part=f"{CELL}/made/float64/a")


LEFT_OPEN = """
import sys
import unittest
from grucible import load_vectors
from grucible.check.observed.pool import RuntimePool
pool = RuntimePool(sys.argv[1], 60.0)
case = next(load_vectors(None, "openvino.GRUCell-3/plain/float32/*"))
[reply] = pool.replies([case.question])
print(reply.status)
"""


def test_a_pool_that_nobody_closes_keeps_no_process(tmp_path: Path) -> None:
    module = tmp_path / "refuses.py"
    module.write_text("import grucible\ndef run(question):\n    raise grucible.Unsupported\n")
    with subprocess.Popen(
        [sys.executable, "-c", LEFT_OPEN, f"{module}:run"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=60)
            assert out == "unsupported\n"
            assert soon(lambda: not running(str(module)))
        finally:
            process.kill()


def test_the_program_is_ended_where_another_plugin_raises() -> None:
    closed: list[str] = []
    pool: Any = SimpleNamespace(close=lambda: closed.append("pool"))
    hook = collecting._AtTheEnd(pool).pytest_sessionfinish()
    next(hook)
    with pytest.raises(OSError, match="nobody is there"):
        hook.throw(OSError("nobody is there"))
    assert closed == ["pool"]


def test_an_answer_is_copied_when_it_is_returned() -> None:
    """What returns the memory that it uses for each question, through `__array__`, is right all the same."""
    memory: dict[tuple[int, ...], Array] = {}
    right = answering()

    class Tensor:
        def __init__(self, array: Array) -> None:
            self._array = memory.setdefault(array.shape, array.copy())
            self._array[...] = array

        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return self._array

    def run(question: Question) -> dict[str, Any]:
        return {name: Tensor(array) for name, array in right(question).items()}

    report = verify(runtime=run, select="openvino.GRUCell-3/plain/float32/*")
    assert report.verdict == "conforms"


def test_an_expectation_of_texts_that_come_once() -> None:
    """They were gone when they had been looked at, and nothing was left to hold against an error."""
    one = Expectation("*", "known", message=(text for text in ("clip is not supported",)))  # type: ignore[arg-type]
    assert one.message == ("clip is not supported",)
    with pytest.raises(GrucibleError, match="there is no class 'nonsense'"):
        Expectation("*", "known", observed=(name for name in ("nonsense",)))  # type: ignore[arg-type]


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


def test_an_interrupt_while_failures_are_explained_leaves_the_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(parts: list[Any], *_: Any) -> Diagnosis:
        if parts:
            raise KeyboardInterrupt
        return Diagnosis()

    monkeypatch.setattr(verdict, "diagnose", interrupted)
    write_vectors(tmp_path / "v.h5", make_block(["a"]))

    def zeros(question: Question) -> dict[str, Array]:
        return {n: np.full(t.shape, 0.25, t.dtype) for n, t in question.outputs.items()}

    source = FromRuntime(described("zeros", zeros))
    criteria = chosen_criteria((), None, None, None)
    report = verdict.judge(tmp_path / "v.h5", source, criteria, interruptible=True)
    assert report.interrupted
    assert [result.verdict for result in report.results] == ["failed"]
    with pytest.raises(KeyboardInterrupt):
        verdict.judge(tmp_path / "v.h5", source, criteria)


def test_a_script_through_a_pipe_judges(tmp_path: Path) -> None:
    """It cannot be read again, so no other process calls the function."""
    (tmp_path / "rightly.py").write_text((HERE / "numpy_gru.py").read_text())
    case = next(c for c in core_cases() if c.id == f"{CELL}/plain/float32/default")
    ended = subprocess.run(
        [sys.executable, "-"], input=script(case, "rightly:run"), cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1].startswith("right: all of ")


def test_a_memory_of_very_many_digits_is_one_line(command: Command) -> None:
    ended = command("check", "--runtime", "no:such", "--memory", f"{'9' * 5000}K")
    assert "expected more than nothing and less than 8388608T" in " ".join(
        ended.said_in_one_line().split()
    )

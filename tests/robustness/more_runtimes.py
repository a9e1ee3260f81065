"""More runtimes that misbehave on cases whose id has `bad` in it; on others they answer.

`grucible check VECTORS --runtime tests/robustness/more_runtimes.py:NAME`. RUNTIMES has them by
name; HONEST are those whose answers are right, whatever else they do.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import resource
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grucible import Question, Unsupported

CHECK = Path(__file__).parents[1] / "check"
answer = runpy.run_path(str(CHECK / "numpy_gru.py"))["run"]
Runtime = Callable[[Question], Any]
RUNTIMES: dict[str, Runtime] = {}
HONEST: set[str] = set()
hang = partial(time.sleep, 600)
_make: Any
_error: Any
_disturb: Any
_function: Any


def hostile(function: Runtime, name: str = "", *, honest: bool = False) -> Runtime:
    """A runtime that is `function` on bad cases; what `honest` ones return at last is right."""

    def run(question: Question) -> Any:
        return function(question) if "bad" in question.id else answer(question)

    RUNTIMES[name or function.__name__] = run
    if honest:
        HONEST.add(name)
    return run


def before(name: str, disturb: Callable[[], Any]) -> None:
    """A runtime that disturbs something and then answers right."""
    hostile(lambda question: (disturb(), answer(question))[1], name, honest=True)


def as_ho(name: str, make: Callable[[Any], Any], *, honest: bool = False) -> None:
    """A runtime whose output is what `make` makes of the right one."""

    hostile(lambda question: {"Ho": make(answer(question)["Ho"])}, name, honest=honest)


def raising(name: str, error: Callable[[], BaseException]) -> None:
    """A runtime that raises."""

    def run(_: Question) -> Any:
        raise error()

    hostile(run, name)


def both(*actions: Callable[[], Any]) -> Callable[..., Any]:
    """A function that does one thing after the other, whatever it is asked."""
    return lambda *_: [action() for action in actions]


class Lying(dict[str, Any]):
    """A mapping that says other things than it holds."""

    def __len__(self) -> int:
        return 1 << 40

    def __iter__(self) -> Iterator[str]:
        raise OSError("no names today")


class Endless(dict[str, Any]):
    """A mapping of names without end."""

    def __iter__(self) -> Iterator[str]:
        return iter(lambda: "Ho", 0)

    def keys(self) -> Any:
        return self


class OddArray:
    """What cannot be made an array, or only after ever so long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __array__(self, *_: Any, **__: Any) -> Any:
        time.sleep(self.seconds)
        raise OverflowError("no array")


class Silent(Exception):
    """An error whose text raises, or takes for ever."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __str__(self) -> str:
        time.sleep(self.seconds)
        raise RuntimeError("not a word")


def of_itself() -> BaseException:
    error = ValueError("its own cause")
    error.__cause__ = error.__context__ = error
    return error


def one_off(ho: Any) -> Any:
    ho = ho.copy()
    ho.flat[-1] += np.float32(0.125)
    return ho


for _name, _make in {
    "bytes_of_it": lambda ho: ho.tobytes(), "complex_numbers": lambda ho: ho.astype(complex),
    "dates": lambda ho: ho.astype("M8[s]"), "records": lambda ho: np.zeros(ho.shape, "f4,i4"),
    "half_precision": lambda ho: ho.astype("f2"), "long_double": lambda ho: ho.astype("g"),
    "all_masked": lambda ho: np.ma.masked_all(ho.shape, ho.dtype), "one_element_off": one_off,
    "empty": lambda ho: ho[:0], "negated": lambda ho: -ho, "minus_infinity": lambda ho: ho - np.inf,
    "a_terabyte": lambda ho: np.broadcast_to(ho.flat[0], (1 << 38,)),
    "a_gigabyte": lambda ho: np.broadcast_to(ho.flat[0], (1 << 28,)),
    "many_axes": lambda ho: ho.reshape((1,) * 30 + ho.shape), "a_type": lambda _: np.ndarray,
    "raising_array": lambda _: OddArray(0), "hanging_array": lambda _: OddArray(600),
    "nested": lambda ho: [[[ho]]], "a_generator": lambda ho: (n for n in ho),
    "one_axis_more": lambda ho: ho[None], "rows_swapped": lambda ho: ho[::-1].copy(),
}.items():  # fmt: skip
    as_ho(_name, _make)
for _name, _make in {
    "not_contiguous": lambda ho: np.repeat(ho, 2, -1)[:, ::2], "fortran": np.asfortranarray,
    "backwards": lambda ho: ho[::-1].copy()[::-1], "a_matrix": np.asmatrix,
}.items():  # fmt: skip
    as_ho(_name, _make, honest=True)
for _name, _error in {
    "silent": lambda: Silent(0), "silent_for_ever": lambda: Silent(600), "own_base": BaseException,
    "memory": MemoryError, "stops": StopIteration, "generator_exit": GeneratorExit,
    "group": lambda: BaseExceptionGroup("two", [KeyboardInterrupt(), ValueError("\r\x1b[2J")]),
    "hundred_megabytes": lambda: ValueError(b"x" * 100_000_000), "of_itself": of_itself,
    "exits_with_text": lambda: SystemExit("conforms: 9 of 9"), "no_text": lambda: Unsupported(),
    "exits_huge": lambda: SystemExit(1 << 80), "broken_pipe": BrokenPipeError,
    "utf16": lambda: UnicodeDecodeError("utf-16", b"\xff", 0, 1, "\ud800\n\n"),
}.items():  # fmt: skip
    raising(_name, _error)


def forked(seconds: float) -> None:
    """A process that outlives this call, in a session of its own."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(seconds)
        os._exit(0)


@hostile
def forks_twenty_and_hangs(_: Question) -> Any:
    for _number in range(20):
        forked(600)
    time.sleep(600)


@hostile
def forges_an_answer(question: Question) -> Any:
    """On every pipe that is open for writing."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"ok\noutput Ho float32 2x2 16\nend\n" + bytes(16))
    return answer(question)


@hostile
def reads_the_questions(question: Question) -> Any:
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, False)
            os.read(descriptor, 1 << 20)
    return answer(question) | {"Ho": answer(question)["Ho"] + 1}


@hostile
def wrong_numpy(question: Question) -> Any:
    np.asarray = np.ascontiguousarray = lambda *_, **__: np.zeros((2, 2), "f4")
    return {"Ho": answer(question)["Ho"] * 2}


@hostile
def cuts_the_vectors(question: Question) -> Any:
    """The file that the judge reads, as it stands in its command line."""
    words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")
    for word in words:
        if word.endswith(b".h5"):
            os.truncate(word, 600)
    return {"Ho": answer(question)["Ho"] + 1}


def a_daemon() -> None:
    """A process whose parent is gone, so that nobody finds it."""
    if (process := os.fork()) == 0:
        forked(20)
        os._exit(0)
    os.waitpid(process, 0)


def no_streams() -> None:
    sys.stdin = sys.stdout = sys.stderr = None
    os.environ.clear()


for _name, _disturb in {
    "daemon_for_a_while": a_daemon, "no_streams": no_streams, "slow": lambda: time.sleep(1),
    "starts_a_session": lambda: subprocess.Popen(["sleep", "600"], start_new_session=True),
    "no_more_files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1)),
    "another_clock": lambda: setattr(time, "monotonic", lambda: 0.0),
    "a_thread_that_stays": lambda: threading.Thread(target=time.sleep, args=(600,)).start(),
    "strict_numpy": both(partial(np.seterr, all="raise"), partial(sys.setrecursionlimit, 80)),
    "another_root": lambda: os.chroot("/proc/self"), "no_wait": lambda: signal.setitimer(0, 1e-3),
}.items():  # fmt: skip
    before(_name, _disturb)


for _name, _function in {
    "closes_everything": lambda _: os.closerange(0, 4096),
    "writes_over_memory": lambda _: ctypes.memset(id(None), 255, 64),
    "exits_in_a_thread": both(threading.Timer(0.1, os._exit, [0]).start, hang),
    "deaf": both(partial(signal.pthread_sigmask, signal.SIG_BLOCK, range(1, 65)), hang),
    "alarm": both(partial(signal.alarm, 1), hang),
    "complains_for_ever": lambda _: [os.write(2, b"\x1b]0;x\x07" * 999) for _ in iter(int, 1)],
    "asks_for_less": lambda question: (question.outputs.clear(), question.inputs.clear(), {})[2],
}.items():
    hostile(_function, _name)
hostile(lambda question: Lying(answer(question)), "lying", honest=True)
hostile(lambda question: Endless(answer(question)), "endless", honest=True)
hostile(lambda question: asyncio.sleep(0, answer(question)), "a_coroutine")
globals().update(RUNTIMES)

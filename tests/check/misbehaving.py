"""Runtimes that misbehave, each on the cases whose id has `bad` in it; on others they answer.

`grucible check VECTORS --runtime tests/check/misbehaving.py:<name>`. What they answer otherwise is
right, so that a report tells exactly whom the misbehaviour touched.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grucible import Question, Unsupported

sys.path.insert(0, str(Path(__file__).parent))
from numpy_gru import run as answer  # type: ignore[import-not-found]

Runtime = Callable[[Question], Any]


def on_bad_cases(misbehave: Runtime) -> Runtime:
    def run(question: Question) -> Any:
        return misbehave(question) if "bad" in question.id else answer(question)

    return run


def with_output(change: Callable[[Any], Any]) -> Runtime:
    """Ho as `change` makes it of the expected one."""
    return on_bad_cases(lambda question: {**answer(question), "Ho": change(answer(question)["Ho"])})


@on_bad_cases
def raises(question: Question) -> Any:
    raise ValueError(f"cannot do\n   {question.dtype}")


@on_bad_cases
def raises_odd_text(question: Question) -> Any:
    raise ValueError(f"not a text: \udcff {question.dtype}")


@on_bad_cases
def unsupported(question: Question) -> Any:
    raise Unsupported(f"no {question.dtype} here\nnor there")


@on_bad_cases
def aborts(_: Question) -> Any:
    os.abort()


def waits_for_more_rows(question: Question) -> Any:
    if question.id.endswith("/X-batch_size-more"):
        time.sleep(1_000)
    return answer(question)


def segfaults_on_clip(question: Question) -> Any:
    if "clip" in question.given:
        os.kill(os.getpid(), signal.SIGSEGV)
    return answer(question)


@on_bad_cases
def killed(_: Question) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@on_bad_cases
def exits(_: Question) -> Any:
    sys.exit(3)


@on_bad_cases
def interrupts(_: Question) -> Any:
    raise KeyboardInterrupt


@on_bad_cases
def hangs(_: Question) -> Any:
    while True:
        time.sleep(60)


@on_bad_cases
def hangs_in_c(_: Question) -> Any:
    return ctypes.PyDLL(None).sleep(3600)  # never gives the GIL back


@on_bad_cases
def recurses(question: Question) -> Any:
    return recurses(question)


def overwrites(question: Question) -> Any:
    """One input in numpy, another by its address, although it is read-only; a bad case then fails."""
    answered, state = answer(question), question.inputs["initial_hidden_state"]
    question.inputs["X"][:] *= 2
    state.flags.writeable = False
    ctypes.memset(state.ctypes.data, 1, 1)
    if "bad" in question.id:
        raise ValueError("after it wrote")
    return answered


def prints(question: Question) -> Any:
    print("to standard output")
    sys.stdout.flush()
    os.write(1, b"and past Python\n")
    return answer(question)


returns_none = on_bad_cases(lambda _: None)
returns_nothing = on_bad_cases(lambda _: {})
returns_other_names = on_bad_cases(
    lambda question: {n.lower(): v for n, v in answer(question).items()}
)
returns_unpicklable = on_bad_cases(lambda question: dict.fromkeys(answer(question), lambda: 0))
wrong_shape = with_output(lambda ho: ho[..., :-1])
transposed = with_output(lambda ho: ho.T)
float64 = with_output(lambda ho: ho.astype(np.float64))
objects = with_output(lambda ho: ho.astype(object))
big_endian = with_output(lambda ho: ho.astype(ho.dtype.newbyteorder(">")))
ragged = with_output(lambda _: [[1.0], [1.0, 2.0]])
nan = with_output(lambda ho: np.full_like(ho, np.nan))


def by_id(question: Question) -> Any:
    """The runtime whose name the question's id ends with, behind `bad-`; the right one without."""
    name = question.id.rpartition("bad-")[2]
    return globals()[name](question) if name in globals() else answer(question)

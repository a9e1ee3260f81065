"""Runtimes that misbehave, each on the cases whose id has `bad` in it; on others they answer.

`grucible check VECTORS --runtime tests/check/misbehaving.py:<name>`. What they answer otherwise is
what is expected, so that a report tells exactly whom the misbehaviour touched.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from grucible import Case, Unsupported

Runtime = Callable[[Case], Any]


def on_bad_cases(misbehave: Runtime) -> Runtime:
    def run(case: Case) -> Any:
        return misbehave(case) if "bad" in case.id else dict(case.outputs)

    return run


def with_output(change: Callable[[Any], Any]) -> Runtime:
    """Ho as `change` makes it of the expected one."""
    return on_bad_cases(lambda case: {**case.outputs, "Ho": change(case.outputs["Ho"])})


@on_bad_cases
def raises(case: Case) -> Any:
    raise ValueError(f"cannot do\n   {case.dtype}")


@on_bad_cases
def raises_odd_text(case: Case) -> Any:
    raise ValueError(f"not a text: \udcff {case.dtype}")


@on_bad_cases
def raises_long(case: Case) -> Any:
    raise ValueError("long " * 10_000 + f"the cause {case.dtype}")


@on_bad_cases
def unsupported(case: Case) -> Any:
    raise Unsupported(f"no {case.dtype} here\nnor there")


@on_bad_cases
def aborts(_: Case) -> Any:
    os.abort()


@on_bad_cases
def segfaults(_: Case) -> Any:
    return ctypes.string_at(0)


@on_bad_cases
def divides_by_zero(_: Case) -> Any:
    os.kill(os.getpid(), signal.SIGFPE)  # what an integer division by zero does to a process


@on_bad_cases
def killed(_: Case) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@on_bad_cases
def exits(_: Case) -> Any:
    sys.exit(3)


@on_bad_cases
def exits_quietly(_: Case) -> Any:
    os._exit(0)


@on_bad_cases
def interrupts(_: Case) -> Any:
    raise KeyboardInterrupt


@on_bad_cases
def hangs(_: Case) -> Any:
    while True:
        time.sleep(60)


@on_bad_cases
def hangs_in_c(_: Case) -> Any:
    return ctypes.PyDLL(None).sleep(3600)  # never gives the GIL back


@on_bad_cases
def recurses(case: Case) -> Any:
    return recurses(case)


def prints(case: Case) -> Any:
    print("to standard output")
    sys.stdout.flush()
    os.write(1, b"and past Python\n")
    return dict(case.outputs)


returns_none = on_bad_cases(lambda _: None)
returns_list = on_bad_cases(lambda case: list(case.outputs.values()))
returns_array = on_bad_cases(lambda case: case.outputs["Ho"])
returns_nothing = on_bad_cases(lambda _: {})
returns_less = on_bad_cases(lambda case: {"Ho": case.outputs["Ho"]})
returns_more = on_bad_cases(lambda case: {**case.outputs, "Z": case.outputs["Ho"]})
returns_other_names = on_bad_cases(lambda case: {n.lower(): v for n, v in case.outputs.items()})
returns_names_that_are_numbers = on_bad_cases(lambda case: dict(enumerate(case.outputs.values())))
returns_unpicklable = on_bad_cases(lambda case: dict.fromkeys(case.outputs, lambda: 0))
wrong_shape = with_output(lambda ho: ho[..., :-1])
transposed = with_output(lambda ho: ho.T)
scalar = with_output(lambda ho: ho.flat[0])
flat = with_output(np.ravel)
float64 = with_output(lambda ho: ho.astype(np.float64))
integers = with_output(lambda ho: ho.astype(np.int32))
objects = with_output(lambda ho: ho.astype(object))
big_endian = with_output(lambda ho: ho.astype(ho.dtype.newbyteorder(">")))
texts = with_output(lambda ho: ho.astype("U"))
a_text = with_output(lambda _: "Ho")
nothing_in_it = with_output(lambda _: None)
ragged = with_output(lambda _: [[1.0], [1.0, 2.0]])
nan = with_output(lambda ho: np.full_like(ho, np.nan))

not_callable = 3

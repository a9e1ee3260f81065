"""Functions that are copied into scripts; they need only numpy and the standard library."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np


def judge(ask: Any, accepted: Any, signed_zero: bool) -> int:
    """Ask, print the worst element and the verdict, and return the exit status.

    `accepted` has pairs of outputs and tolerances; outputs that pass any pair are right.
    """
    try:
        given = ask()
        if not hasattr(given, "keys"):
            raise TypeError(f"returned a {type(given).__name__}; expected a dict")
        observed = {name: np.asarray(given[name]) for name in given}
    except ChildProcessError as error:
        print("no answer:", error)
        return 1
    except BaseException as error:
        traceback.print_exc()
        missing = isinstance(error, ImportError)
        message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print("not run:" if missing else "refused:", ascii(message)[1:-1])
        return 2 if missing else 1
    if other := differing_forms(accepted[0][0], observed):
        print(f"wrong: {other}")
        return 1
    wrong, worst = min(compare(e, t, observed, signed_zero) for e, t in accepted)
    print(f"{worst}: WRONG" if wrong else worst)
    number = sum(array.size for array in observed.values())
    if wrong:
        print(f"wrong: {wrong} of {number} elements are off by more than their tolerance")
        return 1
    print(f"right: all of {number} elements are within their tolerance")
    return 0


def differing_forms(expected: Any, observed: Any) -> str:
    """Return how names, dtypes or shapes of outputs differ; "" if they do not."""
    forms = [
        {name: f"{array.dtype.newbyteorder('=')} {array.shape}" for name, array in arrays.items()}
        for arrays in (expected, observed)
    ]
    return "" if forms[0] == forms[1] else ascii(f"expected {forms[0]}, got {forms[1]}")[1:-1]


def compare(expected: Any, tolerance: Any, observed: Any, signed_zero: bool) -> tuple[int, str]:
    """Return how many elements are wrong, and in words the worst element."""
    wrong, most, worst = 0, -1.0, ""
    for name, array in expected.items():
        e, got = array.astype(np.float64), observed[name].astype(np.float64)
        with np.errstate(all="ignore"):
            off = np.abs(got - e)
            off[(got == e) | (np.isnan(got) & np.isnan(e))] = 0
            ratio = off / tolerance[name].astype(np.float64)
        never = ~np.isfinite(off)
        if signed_zero:
            never |= (e == 0) & (got == 0) & (np.signbit(e) != np.signbit(got))
        ratio[off == 0] = 0
        ratio[never | ~(ratio >= 0)] = np.inf
        wrong += int((ratio > 1).sum())
        if ratio.size and ratio.max() > most:
            most = ratio.max()
            at = np.unravel_index(ratio.argmax(), ratio.shape)
            place, digits = ", ".join(str(int(i)) for i in at), 17 if array.itemsize == 8 else 9
            worst = (
                f"{name}[{place}]: expected {e[at]:.{digits}g}, got {got[at]:.{digits}g}; "
                f"off by {off[at]:.3g}, tolerance {tolerance[name][at]:.3g}"
            )
    return wrong, worst


def answer_of(command: list[str], header: str, data: bytes, seconds: float) -> dict[str, Any]:
    """Return the outputs that a program gives for one question of the protocol.

    Raises ImportError where the program does not start or says no hello, ChildProcessError where it
    ends badly or too late before its answer does, and ValueError for an answer that breaks the protocol.
    """
    import signal
    import subprocess

    asked, pipe, bad = header.encode() + data, subprocess.PIPE, ""
    try:
        ended = subprocess.run(command, input=asked, stdout=pipe, timeout=seconds, check=False)
        answer = ended.stdout
        if code := ended.returncode:
            names = {-one: one.name for one in signal.Signals}
            died = f"died of {names.get(code, code)}"
            bad = f"the program {died if code < 0 else f'ended with exit status {code}'}"
    except OSError as error:
        raise ImportError(f"the program does not start: {error}") from error
    except subprocess.TimeoutExpired as late:  # perhaps it answered, and waits for more
        answer, bad = late.stdout or b"", f"the program did not answer in {seconds:g} s"
    if not answer.startswith(b"grucible "):
        why = f"the program does not say hello: {answer[:200]!r}"
        raise ImportError(f"{why}; {bad}" if bad else why)
    hello, head, data = [*answer.split(b"\nend\n", 2), b"", b""][:3]
    whole = answer.count(b"\nend\n") >= 2
    if bad and not whole:
        raise ChildProcessError(bad)
    if not whole or not head.startswith(b"ok"):
        raise ValueError(f"no outputs, or a header without end: {hello[:100]!r} {head[:200]!r}")
    lines = head.decode(errors="backslashreplace").split("\n")
    if {line for line in lines if line.startswith("question ")} - {*header.splitlines()}:
        raise ValueError("the answer is to another question")
    outputs: dict[str, Any] = {}
    for line in lines:
        if line.startswith("output "):
            _, name, dtype, shape, size = line.split(" ")
            if name in outputs:
                raise ValueError(f"two outputs are called {name!a}")
            if bad and len(data) < int(size):
                raise ChildProcessError(bad)
            axes = [] if shape == "scalar" else [int(axis) for axis in shape.split("x")]
            outputs[name] = np.frombuffer(data[: int(size)], dtype).reshape(axes)
            data = data[int(size) :]
    return outputs

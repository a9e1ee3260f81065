"""What every script holds: comparing outputs with what is expected, and saying the verdict.

It judges as `check/judging/compare.py` does. Nothing here uses more than numpy, for the lines themselves
stand in scripts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...vectors.difference import difference


def bfloat16(numbers: Sequence[float]) -> Any:
    """The bits of bfloat16 numbers, as uint16."""
    return (np.array(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def wide(array: Any) -> Any:
    """An array in float64, which holds every number; uint16 is the bits of bfloat16."""
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def bits(array: Any) -> Any:
    """The array, of bfloat16 its bits."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def named(names: Sequence[str], outputs: Sequence[Any]) -> dict[str, Any]:
    """The outputs by their names."""
    if len(outputs) != len(names):
        raise RuntimeError(f"gave {len(outputs)} outputs; expected {', '.join(names)}")
    return dict(zip(names, outputs, strict=True))


def misshapen(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> str:
    """What is wrong with shapes and dtypes; "" if nothing."""
    for name, array in expected.items():
        wanted, got = (f"{one.dtype} {one.shape}" for one in (array, observed[name]))
        if got != wanted:
            return f"{name}: expected {wanted}, got {got}".replace("uint16", "bfloat16")
    return ""


def compared(expected: Any, tolerance: Any, got: Any, signed_zero: bool) -> tuple[Any, Any]:
    """How far each element is off, and that by its tolerance."""
    e, o = wide(expected), wide(got)
    off = difference(o, e)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = off / tolerance.astype(np.float64)
    ratio[off == 0] = 0
    ratio[~(ratio >= 0)] = np.inf  # infinitely off
    if signed_zero:
        ratio[(e == 0) & (o == 0) & (np.signbit(e) != np.signbit(o))] = np.inf
    return off, ratio


def held(
    expected: Mapping[str, Any],
    tolerance: Mapping[str, Any],
    observed: Mapping[str, Any],
    signed_zero: bool,
) -> tuple[int, str]:
    """How many elements are wrong, and the worst in words."""
    wrong, most, said = 0, -1.0, ""
    for name, wanted in expected.items():
        got = observed[name]
        off, ratio = compared(wanted, tolerance[name], got, signed_zero)
        wrong += int((ratio > 1).sum())
        if ratio.size and ratio.max() > most:
            most = ratio.max()
            at = np.unravel_index(ratio.argmax(), ratio.shape)
            place, digits = ", ".join(str(int(i)) for i in at), 17 if wanted.itemsize == 8 else 9
            said = (
                f"{name}[{place}]: expected {wide(wanted)[at]:.{digits}g}, got {wide(got)[at]:.{digits}g}; "
                f"off by {off[at]:.3g}, tolerance {tolerance[name][at]:.3g}"
            )
    return wrong, said


def verdict(
    ask: Callable[[], Mapping[str, Any]],
    accepted: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    signed_zero: bool = False,
    say: Callable[[str], object] = print,
) -> int:
    """The exit status, after the worst element and the verdict were said."""
    expected = accepted[0][0]
    try:
        observed = {name: bits(np.asarray(array)) for name, array in ask().items()}
    except BaseException as error:
        logging.getLogger().exception("no outputs")
        unusable = isinstance(error, ImportError)
        said = "not run" if unusable else getattr(error, "verdict", "refused")
        say(f"{said}: {type(error).__name__}: {ascii(' '.join(str(error).split())[:300])[1:-1]}")
        return 2 if unusable else 1
    if other := misshapen(expected, observed):
        say(f"{other}: WRONG\nwrong: an output has another shape or dtype")
        return 1
    wrong, said = min(held(*pair, observed, signed_zero) for pair in accepted)
    number = sum(array.size for array in expected.values())
    if wrong:
        say(
            f"{said}: WRONG\nwrong: {wrong} of {number} elements are off by more than their tolerance"
        )
        return 1
    say(f"{said}\nright: all of {number} elements are within their tolerance")
    return 0

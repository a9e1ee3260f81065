"""What a script holds that calls a function: its outputs, held to what was asked for.

It takes and refuses what `check/observed/source.py` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Malformed(Exception):
    """An answer that is not what was asked for."""

    verdict = "error"


def returned(given: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs in the machine's byte order; Malformed where they are not those that are wanted."""
    if not isinstance(given, Mapping):
        names = ", ".join(wanted)
        raise Malformed(f"returned a {type(given).__name__}; expected a dict with {names}")
    outputs = {str(name): native(np.array(array)) for name, array in given.items()}
    if set(outputs) != set(wanted):
        names = ", ".join(outputs) or "nothing"
        raise Malformed(f"returned {names}; expected {', '.join(wanted)}")
    for name, of in wanted.items():
        got = outputs[name]
        if got.shape != of.shape or got.dtype != of.dtype:
            raise Malformed(f"{name} is {got.dtype} {got.shape}; expected {of.dtype} {of.shape}")
    return outputs


def native(array: Any) -> Any:
    """The same numbers in the machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

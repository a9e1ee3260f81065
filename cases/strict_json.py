"""JSON that is refused where Python's reader would guess: a key stands twice, a number is none of JSON's, or
too large."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NoReturn


def strict_json(text: str | bytes, key: str = "a key") -> Any:
    """The value of a JSON text. Raises ValueError for what is none, for a key that stands twice in an
    object (the message calls it `key`), for NaN and Infinity, and for a number beyond float64; RecursionError
    for what is nested too deep."""

    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
            raise ValueError(f"{key} stands there twice: {twice[:80]!r}")
        return found

    return json.loads(
        text, object_pairs_hook=each_once, parse_float=_within_float64, parse_constant=_refused
    )


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _within_float64(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:80]} is beyond float64")
    return value

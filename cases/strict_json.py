"""Strict JSON: no key twice, no NaN, no number beyond float64; infinities are texts."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NoReturn

MOST_PARTS = 9_000_000
"""Maximum commas, colons and opening brackets of a text; the manifest of all cases has 5 million."""


def strict_json(text: str | bytes, key: str = "a key") -> Any:
    """Read the value of a JSON text.

    Raises ValueError for a text that is no JSON, for a key that an object has twice (`key` is the message's
    word for it), for NaN and Infinity, numbers beyond float64, deep nesting, and too many parts.
    """
    data = text.encode() if isinstance(text, str) else text
    if sum(map(data.count, (b",", b":", b"{", b"["))) > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS:,} parts")

    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
            raise ValueError(f"{key} stands there twice: {twice[:80]!r}")
        return found

    try:
        return json.loads(
            text, object_pairs_hook=each_once, parse_float=_within_float64, parse_constant=_refuse
        )
    except UnicodeDecodeError:
        raise ValueError("it is no text") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def format_json(value: Any) -> str:
    """Write plain data as a JSON text of several lines. Raises ValueError for an infinity or NaN."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def encode_number(value: float) -> float | str:
    """Prepare a number for JSON: an infinity or NaN becomes the text "inf", "-inf" or "nan"."""
    return value if math.isfinite(value) else str(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _within_float64(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:80]} is beyond float64")
    return value

"""Data as text that a page holds: JSON, compressed, in base64, which no markup can hide in."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import Any

import numpy as np

from ....cases.console import escape
from ....cases.dtypes import Array


def packed(value: Any) -> str:
    """The JSON of a value, compressed by gzip, in base64. Equal values give equal texts."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def short(number: float) -> float | str:
    """A number to four digits; an infinity or NaN as a text, for JSON has neither."""
    return float(f"{number:.4g}") if math.isfinite(number) else str(number)


def ratio(number: float) -> float | str:
    """A ratio to the tolerance to four digits, and on the side of 1 where it is."""
    told = short(number)
    return 1.001 if number > 1 and told == 1.0 else told


def numbers(array: Array) -> str:
    """The elements of an array, each with the fewest digits that tell it from its neighbours."""
    return " ".join(map(str, array.ravel()))


def few_digits(array: Array) -> str:
    """The elements of an array to four digits: ratios, on the side of 1 where they are, and tolerances."""
    return " ".join(str(ratio(float(number))) for number in array.ravel().astype(np.float64))


class Texts:
    """Texts by number: each stands once, escaped as it is printed."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._number.setdefault(escape(text), len(self._number))

    @property
    def all(self) -> list[str]:
        """The texts, in the order of their numbers."""
        return list(self._number)

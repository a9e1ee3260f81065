"""What the types of all that a stranger's file holds have in common: few errors, and a bounded size.

pydantic makes an error of some thousand bytes for each element that is wrong. So lists have `FIRST_WRONG`,
which ends them at the first; mappings have no such thing in every version that serves, and have few keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, FailFast, model_validator

from .errors import GrucibleError
from .strict_json import strict_json

MOST_KEYS = 1000
"""A mapping may have so many keys; an operator has some ten tensors."""
MOST_PARTS = 3_000_000
"""So many commas may be in a JSON text, and half as many brackets. The manifest of all shipped cases has 1.9
million, and as many colons."""
_MOST_COLONS = 2_750_000
"""What is read takes up to 220 bytes for a key; a dict of 2.8 million keys is made twice as large."""
_MOST_TEXT = 64 << 20
"""So many bytes a JSON text may take in memory, where every character is as wide as the widest one: a text of
46 MB, the manifest of all shipped cases, took 200 MB for one character of 4 bytes, and its values as much."""
_TWO_BYTES, _FOUR_BYTES = 0xC4, 0xF0
"""From these bytes on UTF-8 begins characters that take 2 and 4 bytes each in memory."""


class _FailFast(FailFast):
    """pydantic's own, which has no hash and so cannot stand in a union."""

    def __hash__(self) -> int:
        return id(self)


FIRST_WRONG = _FailFast()


def few_keys(value: Any) -> Any:
    """The value; ValueError for a mapping of more than MOST_KEYS keys."""
    if isinstance(value, dict) and len(value) > MOST_KEYS:
        raise ValueError(f"has {len(value):,} keys; expected at most {MOST_KEYS:,}")
    return value


FewKeys = BeforeValidator(few_keys)


class ClosedModel(BaseModel):
    """A model that allows no other fields: each would be an error, so they are few."""

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: Any) -> Any:
        return few_keys(value)


def json_value(path: Path, raw: bytes) -> Any:
    """The value of a JSON text. Raises ValueError for what `strict_json` refuses, GrucibleError for too many
    parts."""
    check_parts(path, raw)
    try:
        return strict_json(raw)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def check_parts(
    path: Path, raw: bytes, most_commas: int = MOST_PARTS, most_colons: int = _MOST_COLONS
) -> None:
    """Raise GrucibleError where a JSON text has more commas, colons or brackets than it may, is too large for
    the width of its characters, or is not in UTF-8."""
    if b"\0" in raw:
        raise GrucibleError(f"{path}: holds a byte 0; expected JSON in UTF-8")
    if (size := len(raw) * (width := _width(raw))) > _MOST_TEXT:
        raise GrucibleError(
            f"{path}: takes {size >> 20} MiB with {width} bytes for a character; expected at most "
            f"{_MOST_TEXT >> 20}; make one of fewer cases"
        )
    keys, brackets = raw.count(b":"), raw.count(b"{") + raw.count(b"[")
    if raw.count(b",") > most_commas or keys > most_colons or brackets > MOST_PARTS // 2:
        raise GrucibleError(
            f"{path}: has more parts than any export or test or report; make one of fewer cases"
        )


def _width(raw: bytes) -> int:
    """How many bytes a character of a JSON text takes at most in memory, in it or in its values."""
    widest = 0 if raw.isascii() else int(np.frombuffer(raw, np.uint8).max())
    if widest >= _FOUR_BYTES or b"\\ud" in raw or b"\\uD" in raw:  # half of an escaped pair
        return 4
    return 2 if widest >= _TWO_BYTES or b"\\u" in raw else 1

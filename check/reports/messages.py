"""Messages of a runtime that say the same."""

from __future__ import annotations

import re

from ...cases.dtypes import FLOAT_TYPES, INTEGER_TYPES

VARYING = re.compile(rf"\b(?:{'|'.join([*FLOAT_TYPES, *INTEGER_TYPES])})\b|\d+(?:\.\d+)?")


def masked(message: str) -> str:
    """A message without its numbers and dtypes."""
    return VARYING.sub("#", message)

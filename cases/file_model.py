"""Reading JSON files of strangers: a bounded number of parts, and few errors from pydantic.

pydantic makes an error of some thousand bytes for each element that is wrong. So lists end at the first
error (`FIRST_WRONG`), and mappings have few keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, BeforeValidator, FailFast, model_validator

from .errors import GrucibleError
from .strict_json import strict_json

MOST_KEYS = 1000
"""Maximum keys of a mapping; an operator has some ten tensors."""
MOST_PARTS = 9_000_000
"""Maximum commas, colons and brackets of a JSON text; the manifest of all shipped cases has 5 million."""


class _FailFast(FailFast):
    """pydantic's own, which has no hash and so cannot stand in a union."""

    def __hash__(self) -> int:
        return id(self)


FIRST_WRONG = _FailFast()


def _limit_keys(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > MOST_KEYS:
        raise ValueError(f"has {len(value):,} keys; expected at most {MOST_KEYS:,}")
    return value


FewKeys = BeforeValidator(_limit_keys)


class ClosedModel(BaseModel):
    """A model of mappings with few keys, for models that allow no other fields."""

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: Any) -> Any:
        return _limit_keys(value)


def json_value(path: Path, raw: bytes) -> Any:
    """Read a JSON text.

    Raises ValueError for what `strict_json` refuses, and GrucibleError for too many parts.
    """
    check_parts(path, raw)
    try:
        return strict_json(raw)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def check_parts(path: Path, raw: bytes, most: int = MOST_PARTS) -> None:
    """Raise GrucibleError where a JSON text has so many parts that reading it takes gigabytes."""
    if sum(map(raw.count, (b",", b":", b"{", b"["))) > most:
        raise GrucibleError(
            f"{path}: has more parts than any export or test or report; make one of fewer cases"
        )

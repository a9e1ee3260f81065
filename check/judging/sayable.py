"""What an expectation may say: wherever it comes from, a YAML file or a program, the rules are these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ...cases.question import names_invalid
from ...gen.tolerances.classes import CLASSES

MOST_GLOB = 400
"""So many characters a glob may have: the longest id of ours has some 150."""
HOW = ("observed", "message", "diagnosis")
"""The fields that say what is expected; each is a text or several texts."""
UNEXPLAINED = "unexplained"
"""The `diagnosis` of wrong numbers that nothing explains."""
_MOST_NAME = 300
_NEAR = 0.5


def texts(value: Any) -> tuple[Any, ...]:
    """What a field of HOW holds, one by one: a text is one, and so is what is no collection."""
    return (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)


def unsayable(one: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first of an expectation's fields that says what it may not, and what is wrong there; None if all
    may stand."""
    for field in ("cases", "reason", "link", *HOW):
        value = one[field]
        if field == "link" and value == "":
            continue
        parts = texts(value) if field in HOW else [value]
        if not all(isinstance(part, str) and part.strip() for part in parts):
            return field, f"{value!r}; expected a text"
    if len(one["cases"]) > MOST_GLOB:
        return "cases", f"has more than {MOST_GLOB} characters"
    for field in ("observed", "diagnosis"):
        if one[field] and names_invalid(one["cases"]):
            return field, "is not said of invalid questions, which have no answer"
    return _unknown(one)


def _unknown(one: Mapping[str, Any]) -> tuple[str, str] | None:
    """A field that names no class of arithmetic or no misreading that there is, and what is wrong there."""
    classes = dict.fromkeys(c.name for found in CLASSES.values() for c in found)
    for name in texts(one["observed"]):
        if name not in classes:
            near = _nearest(name, classes)
            expected = f"expected one of {', '.join(classes)}"
            return "observed", f"there is no class {name!r}{near}; {expected}"
    for name in texts(one["diagnosis"]):
        if name != UNEXPLAINED and not is_misreading(name):
            near = _nearest(name, _variants())
            return (
                "diagnosis",
                f"there is no misreading {name!r}{near}; `grucible score` lists them",
            )
    return None


def is_misreading(name: str) -> bool:
    """Whether an expectation can name a misreading so: a variant has the name, and it is not too long."""
    from ...gen.variants.known import variant_called  # the catalogue, slow to import

    if len(name) > _MOST_NAME:
        return False
    try:
        variant_called(name)
    except (LookupError, ValueError, ArithmeticError):
        return False
    return True


def _variants() -> list[str]:
    from ...gen.variants.catalogue import CATALOGUE
    from ...gen.variants.known import UNLISTED

    return [*CATALOGUE, *UNLISTED]


def _nearest(name: str, names: Sequence[str] | dict[str, None]) -> str:
    near = get_close_matches(name[:_MOST_NAME], list(names), 1, _NEAR)
    return f"; did you mean {near[0]!r}?" if near else ""

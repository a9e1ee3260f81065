"""Reading a list of expectations: YAML, each field checked, with the line of what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...cases.specs.yaml_source import Document, parse, read_text
from ..judging.expectations import TOO_MANY, Expectation, Unsayable, one_too_many
from ..judging.sayable import HOW

FIELDS = ("cases", "reason", "link", *HOW)


def load_expectations(path: Path) -> list[Expectation]:
    """The expectations in a YAML list of {cases: glob, reason, …}; SpecError if it is not one."""
    return expectations_of(parse(str(path), read_text(path, list), list))


def expectations_of(document: Document) -> list[Expectation]:
    """The expectations of a YAML document that is a list; SpecError, with the line, for what is none."""
    found = [_expectation(document, index, entry) for index, entry in enumerate(document.value)]
    if (index := one_too_many(found)) is not None:
        raise document.error((index,), TOO_MANY)
    return found


def _expectation(document: Document, index: int, entry: Any) -> Expectation:
    if not isinstance(entry, dict):
        raise document.error((index,), "expected a mapping with cases, reason and link")
    for field, value in entry.items():
        if field not in FIELDS:
            raise document.error(
                (index, field), f"is not a field here; expected {', '.join(FIELDS)}"
            )
        of_several = field in HOW and isinstance(value, list) and value
        if not (isinstance(value, str) or of_several):
            raise document.error((index, field), f"{value!r}; expected a text")
    for field in ("cases", "reason"):
        if field not in entry:
            raise document.error((index, field), "is missing")
    try:
        return Expectation(**entry, place=document.place((index,)))
    except Unsayable as error:
        raise document.error((index, error.field), error.said) from None

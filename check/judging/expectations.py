"""Known findings: a list of cases that may fail, each with its reason and a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ...cases.specs.yaml_source import parse, read_text


@dataclass(frozen=True)
class Expectation:
    """The cases whose id matches the glob `cases` may fail, for this reason."""

    cases: str
    reason: str
    link: str = ""


def load_expectations(path: Path) -> list[Expectation]:
    """The expectations in a YAML list of {cases: glob, reason, link}; SpecError if it is not one."""
    document = parse(str(path), read_text(path), list)
    found = []
    for index, entry in enumerate(document.value):
        if not isinstance(entry, dict):
            raise document.error((index,), "expected a mapping with cases, reason and link")
        for field, value in entry.items():
            if field not in ("cases", "reason", "link"):
                raise document.error(
                    (index, field), "is not a field here; expected cases, reason, link"
                )
            if not isinstance(value, str) or not value.strip():
                raise document.error((index, field), f"{value!r}; expected a text")
        for field in ("cases", "reason"):
            if field not in entry:
                raise document.error((index, field), "is missing")
        found.append(Expectation(**entry))
    return found


def expectation_for(case_id: str, expectations: Sequence[Expectation]) -> Expectation | None:
    """The first expectation that names the case."""
    return next((e for e in expectations if fnmatchcase(case_id, e.cases)), None)

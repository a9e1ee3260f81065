"""What the user says of cases beforehand: those that may fail, and those that must be supported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...cases.errors import GrucibleError
from ...cases.selection import matches
from ...cases.specs.yaml_source import parse, read_text


@dataclass(frozen=True)
class Expectation:
    """A known finding: the cases whose id matches the glob `cases` may fail, for this reason."""

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
    return next((e for e in expectations if matches(case_id, e.cases)), None)


def must_support(case_id: str, require: Sequence[str]) -> bool:
    """Whether a glob of `require` matches the case: unsupported is a failure then."""
    return any(matches(case_id, glob) for glob in require)


def check_require(require: Sequence[str], case_ids: Iterable[str]) -> None:
    """Raise GrucibleError for a glob of `require` that matches no case: it would demand nothing."""
    ids = list(case_ids)
    for glob in require:
        if not any(matches(case_id, glob) for case_id in ids):
            raise GrucibleError(
                f"no case that is judged matches --require {glob!r}; "
                "see the ids with: grucible cases --list"
            )

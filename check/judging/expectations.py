"""What the user says of cases beforehand: those that may fail, and those that must be supported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...cases.errors import GrucibleError
from ...cases.question import INVALID
from ...cases.selection import is_glob, matches
from ...cases.specs.yaml_source import parse, read_text

MOST_GLOB = 400
"""So many characters a glob may have: the longest id of ours has some 150."""
MOST_GLOBS = 1000
"""So many expectations may be of more than one case: each is held against every case."""


@dataclass(frozen=True)
class Expectation:
    """A known finding: the cases whose id matches the glob `cases` may fail, for this reason."""

    cases: str
    reason: str
    link: str = ""


def of_invalid(expectation: Expectation) -> bool:
    """Whether an expectation is of invalid questions: its glob names their theme. One that does not, and
    matches some all the same, is about numbers."""
    return f"/{INVALID}/" in expectation.cases


def load_expectations(path: Path) -> list[Expectation]:
    """The expectations in a YAML list of {cases: glob, reason, link}; SpecError if it is not one."""
    document = parse(str(path), read_text(path), list)
    found, globs = [], 0
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
        if len(entry["cases"]) > MOST_GLOB:
            raise document.error((index, "cases"), f"has more than {MOST_GLOB} characters")
        if is_glob(entry["cases"]):
            globs += 1
        if globs > MOST_GLOBS:
            raise document.error(
                (index,), f"is the glob number {globs}; expected at most {MOST_GLOBS}"
            )
    return found


class Expectations:
    """Expectations, to be looked up by case. Those that name one case are found at once."""

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._of_one: dict[str, tuple[int, Expectation]] = {}
        self._of_many: list[tuple[int, Expectation]] = []
        for place, one in enumerate(expectations):
            if is_glob(one.cases):
                self._of_many.append((place, one))
            else:
                self._of_one.setdefault(one.cases, (place, one))

    def of(self, case_id: str) -> Expectation | None:
        """The first expectation that names the case."""
        exact = self._of_one.get(case_id)
        for place, one in self._of_many:
            if exact and exact[0] < place:
                break
            if matches(case_id, one.cases):
                return one
        return exact[1] if exact else None


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

"""Reading a list of expectations: YAML, each field checked, with the line of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ...cases.selection import is_glob
from ...cases.specs.yaml_source import Document, parse, read_text
from ...gen.tolerances.classes import CLASSES
from ..judging.expectations import Expectation, of_invalid

MOST_GLOB = 400
"""So many characters a glob may have: the longest id of ours has some 150."""
MOST_GLOBS = 1000
"""So many expectations may be of more than one case: each is held against every case."""
FIELDS = ("cases", "reason", "link", "observed", "message", "diagnosis")
HOW = ("observed", "message", "diagnosis")
"""The fields that say what is expected; each is a text or a list of texts."""
UNEXPLAINED = "unexplained"
"""The `diagnosis` of wrong numbers that nothing explains."""
_MOST_NAME = 300
_NEAR = 0.5


def load_expectations(path: Path) -> list[Expectation]:
    """The expectations in a YAML list of {cases: glob, reason, …}; SpecError if it is not one."""
    return expectations_of(parse(str(path), read_text(path, list), list))


def expectations_of(document: Document) -> list[Expectation]:
    """The expectations of a YAML document that is a list; SpecError, with the line, for what is none."""
    found, globs = [], 0
    for index, entry in enumerate(document.value):
        found.append(_expectation(document, index, entry))
        globs += is_glob(entry["cases"])
        if globs > MOST_GLOBS:
            raise document.error(
                (index,), f"is the glob number {globs}; expected at most {MOST_GLOBS}"
            )
    return found


def _expectation(document: Document, index: int, entry: Any) -> Expectation:
    if not isinstance(entry, dict):
        raise document.error((index,), "expected a mapping with cases, reason and link")
    for field, value in entry.items():
        if field not in FIELDS:
            raise document.error(
                (index, field), f"is not a field here; expected {', '.join(FIELDS)}"
            )
        empty_link = field == "link" and value == ""
        texts = value if field in HOW and isinstance(value, list) and value else [value]
        if not empty_link and not all(isinstance(one, str) and one.strip() for one in texts):
            raise document.error((index, field), f"{value!r}; expected a text")
    for field in ("cases", "reason"):
        if field not in entry:
            raise document.error((index, field), "is missing")
    if len(entry["cases"]) > MOST_GLOB:
        raise document.error((index, "cases"), f"has more than {MOST_GLOB} characters")
    how = {field: _texts(entry.get(field, ())) for field in HOW}
    made = Expectation(
        entry["cases"],
        entry["reason"],
        entry.get("link", ""),
        **how,
        place=document.place((index,)),
    )
    _check_how(document, index, made)
    return made


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_how(document: Document, index: int, one: Expectation) -> None:
    """Raise SpecError for a class of arithmetic or a misreading that there is none of, and for either where
    the glob is of invalid questions."""
    classes = dict.fromkeys(c.name for found in CLASSES.values() for c in found)
    for field in ("observed", "diagnosis"):
        if getattr(one, field) and of_invalid(one):
            raise document.error(
                (index, field), "is not said of invalid questions, which have no answer"
            )
    for name in one.observed:
        if name not in classes:
            near = _nearest(name, classes)
            raise document.error(
                (index, "observed"),
                f"there is no class {name!r}{near}; expected one of {', '.join(classes)}",
            )
    for name in one.diagnosis:
        if name != UNEXPLAINED and not is_misreading(name):
            near = _nearest(name, _variants())
            raise document.error(
                (index, "diagnosis"),
                f"there is no misreading {name!r}{near}; `grucible score` lists them",
            )


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

"""Case specs, each one theme of one operator: finding them, reading them from YAML."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..console import shorten
from ..errors import SpecError
from ..files import MOST_NAMES, files_below
from ..operators import OPERATORS
from ..question import why_no_theme
from .spec_model import Covering, Listing, Product, SpecModel, spec_model
from .yaml_source import Document, Location, parse, read_text

SHIPPED = Path(__file__).parents[1]
SCHEMA = "spec.schema.json"
"""The file that marks the root of a tree of specs: of the shipped ones, in a checkout or installed."""

MOST_TRIED = 200_000
"""Maximum combinations of a product, or pairs of a covering array, counted for each `exclude` entry again."""


@dataclass(frozen=True)
class CaseSpecFile:
    """A loaded case spec: `path` is where its vector file goes, relative, without suffix."""

    path: str
    document: Document
    model: SpecModel

    @property
    def theme(self) -> str:
        """The last part of the path; it names the theme in case ids."""
        return self.path.rpartition("/")[2]


def load_spec(file: Path, relative: str) -> CaseSpecFile:
    """Load the case spec in `file`; `relative` is its path without suffix, below its root.

    Raises SpecError with file, line, field, value and what is allowed.
    """
    if why := why_no_theme(relative.rpartition("/")[2]):
        raise SpecError(f"{file}: {why}; rename the file")
    document = parse(str(file), read_text(file))
    operator = document.value.get("operator")
    if not isinstance(operator, str) or operator not in OPERATORS:
        problem = "is missing" if operator is None else f"{operator!r} is unknown"
        raise document.error(("operator",), f"{problem}; expected one of {', '.join(OPERATORS)}")
    try:
        model = spec_model(operator).model_validate(document.value)
    except ValidationError as error:
        raise _first_error(document, error) from None
    spec = CaseSpecFile(relative, document, model)
    _check_counts(spec)
    return spec


def _check_counts(spec: CaseSpecFile) -> None:
    """Raise SpecError, which names the entry, where many combinations may leave few cases or none."""
    for index, entry in enumerate(spec.model.cases):
        match entry:
            case Listing():
                continue
            case Product(product=values):
                tried = math.prod(map(len, values.values()))
            case Covering(covering=values):
                pairs = itertools.combinations(map(len, values.values()), 2)
                tried = sum(a * b for a, b in pairs)
        tried *= 1 + len(entry.exclude)
        if tried > MOST_TRIED:
            counted = f"asks for {tried:,} combinations, counted for each exclude entry again"
            most = f"expected at most {MOST_TRIED:,}"
            raise spec.document.error(("cases", index), f"{counted}; {most}")


def find_specs(paths: tuple[Path, ...] = ()) -> list[CaseSpecFile]:
    """Load the case specs at `paths`, files or directories; with none, the shipped ones."""
    found: dict[str, Path] = {}
    for path in paths or (SHIPPED,):
        for file, relative in _files(path):
            other = found.setdefault(relative, file)
            if other.resolve() != file.resolve():
                raise SpecError(f"{file}: would make the same vector file as {other}; rename one")
    return [load_spec(file, relative) for relative, file in found.items()]


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Find the spec files at `path`, each with its path below the root of its specs, without suffix."""
    own, files = path.parent, [path]
    if path.is_dir():
        own, files = path, sorted(files_below(path, ".yaml", ".yml", most=MOST_NAMES))
    if not files:
        raise SpecError(f"{path}: holds no case spec (*.yaml)")
    for file in files:
        place = file.resolve()
        root = next((p for p in place.parents if (p / SCHEMA).exists()), own.resolve())
        inside = place if place.is_relative_to(root) else file.parent.resolve() / file.name
        name = Path(os.path.relpath(inside, root)).with_suffix("").as_posix()
        if not name.isprintable() or name.startswith("../"):
            raise SpecError(f"{file}: names its vector file {name!r}; expected a printable name")
        yield file, name


def _first_error(document: Document, error: ValidationError) -> SpecError:
    """Make the error of the first thing that the model refuses."""
    first = error.errors()[0]
    location: Location = tuple(first["loc"])
    if location[:1] == ("cases",) and len(location) > 2:
        location = (*location[:2], *location[3:])  # without the tag of the kind of entry
    own = {
        "extra_forbidden": "is not a field here; see those there are with: grucible cases --schema",
        "missing": "is missing",
        "keyword": first["msg"],
        "value_error": str(first.get("ctx", {}).get("error")),
    }
    expected = first["msg"].removeprefix("Input should be ")
    value = shorten(repr(first.get("input")), 60)
    sentence = f"{value}; expected {expected[:1].lower()}{expected[1:]}"
    return document.error(location, own.get(first["type"], sentence))

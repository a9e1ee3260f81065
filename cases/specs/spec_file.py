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

MOST_CASES = 30_000
"""Maximum cases of one spec; all that are shipped are 19,605, and a second makes some 18,000."""
MOST_COMBINATIONS = 100_000
"""Maximum combinations of a product, or pairs of a covering array, of which `exclude` may leave few."""
MOST_EXCLUDED = 2_000_000
"""Maximum comparisons of `exclude` entries with combinations; they take some 0.6 s."""


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
    """Raise SpecError, which names the entry, where a spec asks for more than is made of one."""
    total = 0
    for index, entry in enumerate(spec.model.cases):
        excluded = len(getattr(entry, "exclude", ()))
        match entry:
            case Listing(list=listed):
                made = tried = len(listed)
            case Product(product=values):
                made = tried = math.prod(map(len, values.values()))
            case Covering(covering=values, rows=rows):
                pairs = itertools.combinations(map(len, values.values()), 2)
                made, tried = len(rows), sum(a * b for a, b in pairs)
        total += 0 if excluded else made * len(spec.model.dtypes)
        for count, most, of in (
            (tried, MOST_COMBINATIONS, "combinations"),
            (tried * excluded, MOST_EXCLUDED, "tests of exclude entries"),
            (total, MOST_CASES, "cases"),
        ):
            if count > most:
                too_many = f"asks for {count:,} {of}; expected at most {most:,} in a spec"
                raise spec.document.error(("cases", index), too_many)


def find_specs(paths: tuple[Path, ...] = ()) -> list[CaseSpecFile]:
    """Load the case specs at `paths`, files or directories; with none, the shipped ones."""
    found: dict[str, tuple[Path, CaseSpecFile]] = {}
    for path in paths or (SHIPPED,):
        for file, relative in _files(path):
            if relative in found and found[relative][0].resolve() != file.resolve():
                other = found[relative][0]
                raise SpecError(f"{file}: would make the same vector file as {other}; rename one")
            found.setdefault(relative, (file, load_spec(file, relative)))
    return [spec for _, spec in found.values()]


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
    first = error.errors()[0]
    location: Location = tuple(first["loc"])
    if location[:1] == ("cases",) and len(location) > 2:
        location = (*location[:2], *location[3:])  # without the tag of the kind of entry
    match first["type"]:
        case "extra_forbidden":
            sentence = "is not a field here; see those there are with: grucible cases --schema"
        case "missing":
            sentence = "is missing"
        case "keyword":
            sentence = first["msg"]
        case "value_error":
            sentence = str(first["ctx"]["error"])
        case _:
            found = shorten(repr(first.get("input")), 60)
            expected = first["msg"].removeprefix("Input should be ")
            sentence = f"{found}; expected {expected[:1].lower()}{expected[1:]}"
    return document.error(location, sentence)

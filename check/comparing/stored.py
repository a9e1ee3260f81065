"""A report that `grucible check` wrote as JSON, read again: whoever wrote it, every field is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ...cases.errors import GrucibleError
from ...cases.file_model import FIRST_WRONG, FewKeys, json_value
from ...gen.tolerances.classes import CLASSES
from ...vectors.block_reader import TIERS
from ..judging.case_result import DECIDING

MOST_BYTES = 48 << 20
"""So large a report may be: that of 20,000 cases has some 10 MB."""
MOST_CASES, MOST_FINDINGS = 200_000, 10_000
"""So many cases may be in a report, or invalid questions, and so many findings."""
_MOST_ALTERNATIVES = 1000
_MOST_SAID = 300

Text = Annotated[str, Field(max_length=1000)]
Long = Annotated[str, Field(max_length=1 << 20)]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Number = Annotated[float, Field(ge=0.0)] | Literal["inf", "nan"]
"""A ratio of an error to its tolerance."""


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)


class Runtime(_Stored):
    """What was judged."""

    name: Text
    version: Text


class Worst(_Stored):
    """The worst element of a dtype."""

    ratio: Number


class StoredGrade(_Stored):
    """What was seen of a dtype."""

    required: Text | Annotated[dict[Text, float | None], FewKeys]
    observed: Text | None
    compared: Count
    worst: Worst


def _known(grades: dict[str, StoredGrade]) -> dict[str, StoredGrade]:
    """The grades, if they are of dtypes that vectors have, and of classes of theirs."""
    for dtype, grade in grades.items():
        if dtype not in CLASSES:
            raise ValueError(f"{dtype} is no dtype of vectors")
        if grade.observed and grade.observed not in {one.name for one in CLASSES[dtype]}:
            raise ValueError(f"{grade.observed} is no class of arithmetic of {dtype} vectors")
    return grades


class StoredFinding(_Stored):
    """An explanation of failures."""

    names: Annotated[list[Text], FIRST_WRONG, Field(min_length=1, max_length=100)]
    about: Long
    explains: Count
    where: Long = ""
    certain: bool = True
    alternatives: Annotated[
        list[Annotated[list[Text], FIRST_WRONG, Field(max_length=100)]],
        FIRST_WRONG,
        Field(max_length=_MOST_ALTERNATIVES),
    ] = []


class StoredCase(_Stored):
    """What was found of a case."""

    id: Annotated[str, Field(min_length=1, max_length=10_000)]
    tier: Literal[TIERS]  # type: ignore[valid-type]
    verdict: Literal["passed", "failed", "unsupported", "missing", "error"]
    message: Long = ""

    @property
    def decides(self) -> bool:
        """Whether its tier counts for the verdict."""
        return self.tier in DECIDING


class StoredRefusal(_Stored):
    """What became of an invalid question."""

    id: Text
    outcome: Literal["refused", "obvious", "garbage", "crash", "unasked"]
    decides: bool

    @property
    def wrong(self) -> bool:
        """Whether it was accepted and must not be."""
        return self.decides and self.outcome not in ("refused", "unasked")


class StoredReport(_Stored):
    """A report, as far as two of them are compared; version 2 has all of it."""

    grucible_report: Literal[2, 3]
    verdict: Literal["conforms", "conforms where supported", "does not conform", "incomplete"]
    interrupted: bool
    runtime: Runtime
    arithmetic: Annotated[dict[Text, StoredGrade], FewKeys, AfterValidator(_known)]
    diagnosis: Annotated[list[StoredFinding], FIRST_WRONG, Field(max_length=MOST_FINDINGS)]
    unexplained: Count
    cases: Annotated[list[StoredCase], FIRST_WRONG, Field(max_length=MOST_CASES)]
    refusals: Annotated[list[StoredRefusal], FIRST_WRONG, Field(max_length=MOST_CASES)] = []

    @property
    def by_id(self) -> dict[str, StoredCase]:
        """The cases by their ids."""
        return {case.id: case for case in self.cases}


def stored_report(path: Path) -> StoredReport:
    """The report in a file. Raises GrucibleError, in one line, for what is none."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise GrucibleError(f"{path}: is no regular file; expected a report")
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise GrucibleError(f"{path}: is larger than {MOST_BYTES >> 20} MiB; no report is")
    try:
        report = StoredReport.model_validate(_object(path, raw))
    except ValueError as error:
        why = _first(error) if isinstance(error, ValidationError) else str(error)[:_MOST_SAID]
        raise GrucibleError(
            f"{path}: is no report that `grucible check --report json=FILE` writes: {why}"
        ) from None
    if len(report.by_id) != len(report.cases):
        raise GrucibleError(f"{path}: has a case twice; no report of `grucible check` does")
    if len({one.id for one in report.refusals}) != len(report.refusals):
        raise GrucibleError(
            f"{path}: has an invalid question twice; no report of `grucible check` does"
        )
    return report


def _object(path: Path, raw: bytes) -> dict[str, Any]:
    """The object of a JSON text; ValueError where it is something else. The model is not given the text: in
    its errors it would copy the whole for each field that is missing."""
    try:
        told = json_value(path, raw)
    except ValueError as error:
        raise ValueError(f"Invalid JSON: {error}") from None
    if not isinstance(told, dict):
        raise ValueError("it should be an object")
    return told


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"].partition(" or instance of ")[0]
    said = " ".join(f"{place + ': ' if place else ''}{message}".split())
    return said[:_MOST_SAID]

"""Stored JSON reports of `grucible check`, which may be a stranger's: what is read of them, and refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..cases.console import say
from ..cases.errors import GrucibleError
from ..cases.files import read_limited
from ..cases.operators.values import FIRST_WRONG
from ..cases.selection import literal, selected
from ..cases.strict_json import strict_json
from ..vectors.block import TIERS
from .judging.case_result import DECIDING, CaseVerdict
from .refusals import Outcome
from .report import CORE
from .runtimes.runtime import registered_runtimes

MAX_BYTES = 48 << 20
"""Maximum size of a report; one of 20,000 cases has some 10 MB."""
MAX_TEXT = 300
"""Maximum characters shown of a message; a report may be a stranger's."""
_WRONG = ("failed", "error", "missing")

_IS_HERE = re.compile(r"[\w./][\w./-]*:\w+|exec: *\./\w[\w.-]*", re.ASCII)
"""A runtime that is a function, or a program in the working directory: the user has it, or nothing runs."""

Text = Annotated[str, Field(max_length=10_000)]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Number = Annotated[float, Field(ge=0.0)] | Literal["inf", "nan"]
"""A ratio of an error to its tolerance."""


def _limit_keys(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > 1000:
        raise ValueError("has more than 1,000 keys")
    return value


FewKeys = BeforeValidator(_limit_keys)
"""A check that bounds a mapping's errors: pydantic takes some thousand bytes for each."""


class StoredPart(BaseModel):
    """A part of a stored report, read strictly; other fields are left out."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)


class StoredGrade(StoredPart):
    """What was found of a dtype."""

    required: Text | Annotated[dict[Text, float | None], FewKeys]
    observed: Text | None
    compared: Count
    ratio: Number = Field(validation_alias=AliasPath("worst", "ratio"))
    worst_id: Text = Field("", validation_alias=AliasPath("worst", "id"))

    @property
    def demand(self) -> str:
        """What is required, in words."""
        if isinstance(self.required, str):
            return self.required
        given = self.required.items()
        return " ".join(f"{name} {value:g}" for name, value in given if value is not None)


class StoredFinding(StoredPart):
    """What explains failures."""

    names: Annotated[list[Text], FIRST_WRONG, Field(min_length=1)]
    about: str
    explains: Count
    where: str = ""
    certain: bool = True
    alternatives: Annotated[list[list[Text]], FIRST_WRONG] = []

    def __str__(self) -> str:
        where = f", {self.where}" if self.where else ""
        return f"{'' if self.certain else 'perhaps: '}{self.about}{where}"[:MAX_TEXT]


class ComparedCase(StoredPart):
    """A case."""

    id: Annotated[Text, Field(min_length=1)]
    tier: Literal[TIERS]  # type: ignore[valid-type]
    verdict: CaseVerdict
    message: str = ""
    where: str = ""
    expected: Annotated[dict[Text, Text], FewKeys] | None = None
    must_support: bool = False
    diagnosis: Annotated[list[Text], FIRST_WRONG] = []
    unexplained: bool = False

    @property
    def wrong(self) -> bool:
        """Whether it made the runtime not conform, or the verdict incomplete."""
        refused = self.must_support and self.verdict == "unsupported"
        return (self.verdict in _WRONG or refused) and self.tier in DECIDING and not self.expected


class StoredFollowed(StoredPart):
    """The cases that follow a reading of a ledger's entry; None is the stored one."""

    reading: Text | None
    cases: Count


class StoredReadings(StoredPart):
    """The readings of a ledger's entry that cases follow."""

    followed: Annotated[list[StoredFollowed], FIRST_WRONG]

    def __str__(self) -> str:
        each = sorted(one.reading or "as stored" for one in self.followed)
        return " or ".join(each)[:MAX_TEXT]


class StoredRefusal(StoredPart):
    """An invalid question."""

    id: Text
    outcome: Outcome
    decides: bool


class StoredModel(StoredPart):
    """The user's model whose GRUs were judged."""

    saved: Text = ""


class StoredReport(StoredPart):
    """The part of a report that is compared; version 2 has all of it, too."""

    grucible_report: Literal[2, 3]
    verdict: Literal["conforms", "conforms where supported", "does not conform", "incomplete"]
    interrupted: bool
    stopped: bool = False
    runtime: Annotated[dict[Text, Text], FewKeys]
    asked: Text = ""
    vectors_path: Text = Field(CORE, validation_alias=AliasPath("vectors", "path"))
    arithmetic: Annotated[dict[Text, StoredGrade], FewKeys]
    diagnosis: Annotated[list[StoredFinding], FIRST_WRONG]
    unexplained: Count
    readings: Annotated[dict[Text, StoredReadings], FewKeys] = {}
    cases: Annotated[list[ComparedCase], FIRST_WRONG]
    refusals: Annotated[list[StoredRefusal], FIRST_WRONG] = []
    model: StoredModel | None = None

    @property
    def pasted(self) -> str:
        """The `--runtime` to print in a command: a command line that a stranger wrote is not for pasting."""
        known = self.asked in [point.name for point in registered_runtimes()]
        return self.asked if known or _IS_HERE.fullmatch(self.asked) else "NAME" * bool(self.asked)

    @property
    def side(self) -> dict[str, Any]:
        """What a comparison says of the report itself."""
        about = self.model_dump(include={"runtime", "verdict", "interrupted", "stopped"})
        return about | {"cases": len(self.cases)}


Stored = TypeVar("Stored", bound=StoredReport)


def read_report(path: Path, kind: type[Stored]) -> Stored:
    """Read what a `kind` of reading needs of a report. Raises GrucibleError, in one line, for no report."""
    return parse_report(read_limited(path, MAX_BYTES), kind, str(path))


def parse_report(data: bytes, kind: type[Stored], name: str) -> Stored:
    """Parse a report, as `read_report` does; `name` is its file's."""
    try:
        report = kind.model_validate(strict_json(data))
        for what, listed in (("a case", report.cases), ("an invalid question", report.refusals)):
            if len({one.id for one in listed}) != len(listed):
                raise ValueError(f"has {what} twice")
    except ValueError as error:
        why = first_error(error)
    else:
        return report
    raise GrucibleError(
        f"{name}: is no report that `grucible check --report json=FILE` writes: {why}"
    )


def failed_before(path: Path | None, select: Sequence[str], vectors: Path | None) -> Sequence[str]:
    """List globs of the selected cases that failed unexpectedly in a report; `select` if none did.

    Without a report it is `select`, too. Raises GrucibleError for a model's report without its vectors.
    """
    if path is None:
        return select
    report = read_report(path, StoredReport)
    if report.model and not vectors:
        kept = "what `grucible model … --save FILE.h5` kept"
        raise GrucibleError(f"{path}: is of a model; give {kept}: check FILE.h5 --last-failed …")
    wrong = [one.id for one in report.cases if one.wrong]
    if found := tuple(literal(one) for one in wrong if selected(one, select)):
        return found
    say(f"{path}: no selected case failed in it, but as expected; all are asked", err=True)
    return select


def first_error(error: Exception) -> str:
    """Say in a line what is wrong with a file: the first error, and its place."""
    why = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        why = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        why = why.partition(" or instance of ")[0]
    return " ".join(why.split())[:MAX_TEXT]

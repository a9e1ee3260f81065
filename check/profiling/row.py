"""What was found of one feature in one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...cases.selection import PLAIN, PLAIN_SIZES
from ..judging.case_result import CaseResult
from ..refusals.refusal import Refusal

Status = Literal["right", "refused", "wrong", "crashed", "malformed", "missing"]

AGAIN = "asked again"
"""The feature of answering a question right that was answered right before."""


@dataclass(frozen=True)
class Row:
    """One feature of an operator in one dtype.

    It is *right* where every case is within the tolerances of some class, and shows no mistake that others
    show, and `arithmetic` is the coarsest that a case needs; *refused* where the runtime declares it
    unsupported or raises an error; *wrong* where it gives numbers that no arithmetic does; *crashed* where
    it dies or does not answer; *malformed* where outputs have other names, shapes or dtypes; *missing*
    where it was not asked any more. `misreading` says what the wrong numbers look like, "" where nothing
    does. `message` is what the runtime said, or which element is off.
    """

    operator: str
    feature: str
    dtype: str
    status: Status
    cases: tuple[str, ...]
    arithmetic: str = ""
    misreading: str = ""
    message: str = ""


@dataclass(frozen=True)
class Profile:
    """All that was found of a runtime: of features, and of questions that it must refuse."""

    runtime: str
    version: str
    rows: Sequence[Row]
    refusals: Sequence[Refusal] = ()


def feature_of(case_id: str) -> str:
    """The feature that a case is about: the last part of its id, behind its theme if that is none of ours."""
    _, theme, _, what = case_id.split("/", 3)
    return what if theme in (PLAIN, PLAIN_SIZES) else f"{theme}/{what}"


def row_of(result: CaseResult, misreading: str) -> Row:
    """The row of one case; `misreading` is what a diagnosis says of it, if anything."""
    status = _status(result)
    if status == "right" and misreading:
        status = "wrong"
    return Row(
        operator=result.operator,
        feature=feature_of(result.id),
        dtype=result.dtype,
        status=status,
        cases=(result.id,),
        arithmetic=result.arithmetic if status == "right" else "",
        misreading=misreading if status == "wrong" else "",
        message=_message(result, status),
    )


def _message(result: CaseResult, status: Status) -> str:
    """What the runtime said; of wrong numbers, which element is off."""
    if status == "right":
        return ""
    return f"{result.where}: {result.message}" if status == "wrong" else result.message


def _status(result: CaseResult) -> Status:
    if result.verdict in ("passed", "failed"):
        return "right" if result.arithmetic else "wrong"
    if result.verdict == "missing":
        return "missing"
    if result.fault and result.fault.kind != "raised":
        return result.fault.kind
    return "refused"

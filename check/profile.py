"""Profiling a runtime: the plain questions, one feature at a time, and what became of each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..cases.operators import OPERATORS
from ..cases.operators.readings import without_readings
from ..cases.selection import FEATURES, PLAIN, PLAIN_SIZES
from ..gen.tolerances.classes import CLASSES
from ..vectors.vector_set import open_set
from .again import MOST_CRASHES, ask_again
from .judging.case_result import CaseResult
from .judging.criterion import chosen_criteria
from .observed.pool import RuntimePool
from .observed.source import FromRuntime, Source
from .refusals import Refusal, refusals
from .report import Report
from .verdict import Demand, judge

Status = Literal["right", "wrong", "refused", "crashed", "malformed", "missing"]
AGAIN = "asked again"
"""The feature of giving right answers again, when questions are asked again."""
REFUSING_SECONDS = 2.0
"""Maximum seconds for a question that must be refused; some runtimes never answer it."""
_STOPPED = f"nothing more is asked, for {MOST_CRASHES} of what had been right crashed"
_NOT_AS_BEFORE = "not what it gave before: it keeps state, or leaves memory unwritten"
_WITH_OTHERS = "wrong with other rows of the batch, or in another order"
_OTHERS = 2
"""Maximum further explanations that are shown, where no case tells them from the first."""
_COARSER = ("float64=float32",)
"""The criterion of float64: it shows other mistakes even where float64 is computed in float32."""


@dataclass(frozen=True)
class Row:
    """One feature of an operator in one dtype.

    It is *right* if every case is within the tolerances of some class, and shows no mistake that others show;
    `arithmetic` is then the coarsest class that a case needs. It is *refused* if the runtime declares it
    unsupported or raises an error, *wrong* if the numbers are right in no class, *crashed* if the runtime
    dies or does not answer, *malformed* if outputs have other names, shapes or dtypes, and *missing* if it
    was not asked any more. `misreading` says what wrong numbers look like, or "". `message` is the runtime's
    message, or says which element is off.
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
    """What was found of a runtime: a row for each feature, and the questions that it must refuse."""

    runtime: str
    version: str
    rows: Sequence[Row]
    refusals: Sequence[Refusal] = ()


def profile(
    source: RuntimePool | FromRuntime,
    vectors: Path | None = None,
    select: Sequence[str] = FEATURES,
    advance: Callable[[int], None] = lambda _: None,
    refusing: RuntimePool | None = None,
) -> Profile:
    """Find what the runtime behind `source` makes of each feature of vectors (None: the core).

    Each selected case gives a row. Those of theme `plain` that are right are asked again in the first
    dtype, to show kept state and unwritten memory. Where `default` is among an operator's features, the
    runtime is also asked the questions that it must refuse, in the first dtype; they go to `refusing`, the
    same runtime, where it is given. `advance(n)` is called when n more cases are judged. Raises GrucibleError
    for vectors that cannot be used, and where nothing is selected.
    """
    opened = open_set(vectors, select)
    report = judge(opened, source, Demand(chosen_criteria(_COARSER), again=False), advance)

    def order(one: CaseResult) -> tuple[Any, ...]:
        return one.operator, OPERATORS[one.operator].dtypes().index(one.dtype), one.plainness

    rows = [make_row(one, _misreading(report, one)) for one in sorted(report.results, key=order)]
    asked = {row.operator: True for row in rows if row.feature == "default"}
    for operator in dict.fromkeys(row.operator for row in rows):
        plain = [r for r in rows if r.operator == operator and f"/{PLAIN}/" in r.cases[0]]
        right = [row for row in plain if row.status == "right"]
        ids = [row.cases[0] for row in right if row.dtype == right[0].dtype]
        if ids:
            again, crashes = _ask_again(source, vectors, ids, advance)
            rows += again
            asked[operator] = asked.get(operator, False) and crashes < MOST_CRASHES
    refused = [
        one
        for operator, wanted in asked.items()
        for one in refusals(refusing or source, [operator], OPERATORS[operator].dtypes()[:1])
        if wanted
    ]
    return Profile(source.name, source.version, rows, refused)


def profile_of(
    name: str,
    vectors: Path | None,
    select: Sequence[str],
    timeout: float,
    memory: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Profile:
    """Return the profile of the runtime called `name`, in one process, so that the order is known.

    `timeout` limits the seconds for a question, `memory` the bytes of address space. Without `select`, all
    features are asked. Raises RuntimeNotUsable where the runtime does not load, and what `profile` raises.
    """
    soon = min(timeout, REFUSING_SECONDS)
    with (
        contextlib.closing(RuntimePool(name, timeout, 1, memory)) as source,
        contextlib.closing(RuntimePool(name, soon, 1, memory)) as refusing,
    ):
        _ = refusing.name  # it loads now, which may take longer than a question
        return profile(source, vectors, select or FEATURES, advance, refusing)


def make_row(result: CaseResult, misreading: str) -> Row:
    """Make the row of one case; `misreading` is what a diagnosis says of it, if anything."""
    status: Status = "refused"
    if result.verdict in ("passed", "failed"):
        status = "right" if result.arithmetic and not misreading else "wrong"
    elif result.verdict == "missing":
        status = "missing"
    elif result.fault and result.fault.kind != "raised":
        status = "crashed" if result.fault.no_answer else "malformed"
    _, theme, _, what = result.id.split("/", 3)
    message = f"{result.where}: {result.message}" if status == "wrong" else result.message
    return Row(
        operator=result.operator,
        feature=what if theme in (PLAIN, PLAIN_SIZES) else f"{theme}/{what}",
        dtype=result.dtype,
        status=status,
        cases=(result.id,),
        arithmetic=result.arithmetic if status == "right" else "",
        misreading=misreading if status == "wrong" else "",
        message="" if status == "right" else message,
    )


def _misreading(report: Report, result: CaseResult) -> str:
    """Return what a wrong answer looks like, in the words of its operator.

    Returns "" where nothing explains the answer, or where it holds a class of arithmetic and shows no mistake
    that the diagnosis finds with certainty.
    """
    finding = report.diagnosis.by_case.get(result.id)
    if finding is None or finding.kind == "arithmetic":
        return ""
    certain = {name for one in report.diagnosis.findings if one.certain for name in one.names}
    if result.arithmetic and (
        finding.kind != "misreading" or not certain.issuperset(finding.names)
    ):
        return ""
    meant, sentences = replace(finding, operator=result.operator), []
    for names in (finding.names, *finding.alternatives[:_OTHERS]):
        sentences.append(meant.sentence(without_readings(names)))
    words = "; or, as far as these cases tell: ".join(sentences)
    doubts = [one.names for one in report.diagnosis.findings if not one.certain]
    perhaps = "perhaps: " if finding.names in doubts else ""
    return f"{perhaps}{words}{', ' * bool(finding.where)}{finding.where}"


def _ask_again(
    source: Source, vectors: Path | None, ids: Sequence[str], advance: Callable[[int], None]
) -> tuple[list[Row], int]:
    """Ask questions that were answered right again in one process.

    Returns the row of the worst answer, none if the runtime is gone, and the number of crashes.
    """
    answers, opened = list[Row](), open_set(vectors, ids)
    blocks = [opened.one(case_id).block for case_id in ids]
    for found, rows in ask_again(source, blocks, chosen_criteria()):
        why = "" if found.arithmetic else _WITH_OTHERS if rows else _NOT_AS_BEFORE
        answers.append(make_row(found, why))
        advance(1)
    crashes = sum(row.status == "crashed" for row in answers)
    if not answers:
        return [], MOST_CRASHES
    worst = max(answers, key=_badness)
    message = f"{worst.message}; {_STOPPED}" if crashes >= MOST_CRASHES else worst.message
    cases = worst.cases if worst.status != "right" else tuple(ids)
    return [replace(worst, feature=AGAIN, cases=cases, message=message)], crashes


def _badness(row: Row) -> tuple[int, int]:
    """Make a sort key that puts wrong answers last, and among right ones the coarsest."""
    order: tuple[Status, ...] = ("right", "missing", "refused", "malformed", "crashed", "wrong")
    classes = [one.name for one in CLASSES[row.dtype]]
    return order.index(row.status), classes.index(row.arithmetic) if row.arithmetic else 0

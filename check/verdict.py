"""The verdict: does a runtime conform to the vectors?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..cases.dtypes import Array
from ..cases.errors import GrucibleError
from ..vectors.reader import find_vectors
from .diagnosis.contradictions import Passed, contradicted
from .diagnosis.diagnose import Diagnosis, diagnose
from .diagnosis.failing import FailingBlock
from .judging.block import judge_block
from .judging.case_result import CaseResult
from .judging.criterion import Criterion, chosen_criteria
from .judging.expectations import Expectation, check_require, expectation_for, must_support
from .judging.grade import Grade
from .observed.observations import Slice, observations
from .observed.source import FromRuntime, Source
from .report import Report
from .runtimes.runtime import Runtime, RuntimeFunction


def verify(
    vectors: str | Path | None = None,
    runtime: RuntimeFunction | None = None,
    *,
    arithmetic: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    require: Sequence[str] = (),
    diagnosis: bool = True,
) -> Report:
    """Judge `runtime`, a function from a question to outputs, by the vectors at a path.

    Without a path, by the core vectors. The runtime is called in this process. `arithmetic` holds
    texts `[DTYPE=]CLASS`; without it and the tolerances, each dtype's own class is required. `select` and
    `require` hold globs of case ids: the cases to judge, and those of which unsupported is a failure.
    Raises GrucibleError for vectors that cannot be used, and for criteria and globs that are none.
    """
    if runtime is None:
        raise TypeError("verify() needs runtime=, a function from a question to outputs")
    name = getattr(runtime, "__name__", type(runtime).__name__)
    source = FromRuntime(Runtime(name, str(getattr(runtime, "version", "")), runtime))
    path = None if vectors is None else Path(vectors)
    criteria = chosen_criteria(arithmetic, rtol, atol, ulp)
    return judge(path, source, criteria, select, expectations, require=require, diagnosis=diagnosis)


def judge(
    vectors: Path | None,
    source: Source,
    criteria: Mapping[str, Criterion],
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    *,
    require: Sequence[str] = (),
    diagnosis: bool = True,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """The report on what `source` observed of the vectors; `advance(n)` as cases are judged.

    Without `diagnosis`, failures are not explained.
    """
    files = find_vectors(vectors)
    results: list[CaseResult] = []
    grades: dict[str, Grade] = {}
    evidence = _Evidence()
    for part in observations(files, source, select, advance):
        dtype = part.block.dtype
        grade = grades.setdefault(dtype, Grade(dtype, criteria[dtype]))
        found = judge_block(part.relative, part.block, part.observed, grade)
        results += [_foretold(result, expectations, require) for result in found]
        if diagnosis:
            evidence.see(part, found, criteria[dtype])
    if not results:
        raise GrucibleError(f"no case is selected by {' '.join(f'--select {s!r}' for s in select)}")
    check_require(require, (result.id for result in results))
    return Report(
        runtime=source.name,
        runtime_version=source.version,
        vectors=str(vectors) if vectors else "the core vectors",
        files=len(files),
        grades=grades,
        results=results,
        expectations=tuple(expectations),
        diagnosis=evidence.diagnosis(),
    )


def _foretold(
    result: CaseResult, expectations: Sequence[Expectation], require: Sequence[str]
) -> CaseResult:
    """The result with what the user said of the case beforehand."""
    if not expectations and not require:
        return result
    return replace(
        result,
        expected=expectation_for(result.id, expectations),
        must_support=must_support(result.id, require),
    )


class _Evidence:
    """What a diagnosis works on: the deciding cases that failed, and those that passed."""

    def __init__(self) -> None:
        self._failing: list[FailingBlock] = []
        self._passed: list[Passed] = []
        self._held: dict[str, str] = {}

    def see(self, part: Slice, results: Sequence[CaseResult], criterion: Criterion) -> None:
        """Take in a slice: of what failed its inputs too, which the slice may lack."""
        rows = {"failed": list[int](), "passed": list[int]()}
        for row, result in enumerate(results):
            if result.decides and result.verdict in rows:
                rows[result.verdict].append(row)
        if rows["failed"]:
            at = _rows(part, rows["failed"])
            first = int(at.min())
            block = part.stored.read(first, int(at.max()) + 1).rows(at - first)
            outputs = {name: a[rows["failed"]] for name, a in part.observed.outputs.items()}
            self._failing.append(FailingBlock(block, outputs, criterion))
            self._held |= {results[row].id: results[row].arithmetic for row in rows["failed"]}
        if rows["passed"]:
            self._passed.append(Passed(part.file, part.block.path, _rows(part, rows["passed"])))

    def diagnosis(self) -> Diagnosis:
        """What explains the failures."""
        return diagnose(self._failing, self._held, lambda names: contradicted(self._passed, names))


def _rows(part: Slice, rows: Sequence[int]) -> Array:
    """Which rows of the whole block some rows of a slice are."""
    places = {case_id: row for row, case_id in enumerate(part.stored.ids)}
    return np.array([places[part.block.ids[row]] for row in rows])

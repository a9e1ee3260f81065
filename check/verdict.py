"""The verdict: does a runtime conform to the vectors?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..cases.errors import GrucibleError
from ..vectors.block_reader import StoredBlock
from ..vectors.case import Block
from ..vectors.reader import find_vectors
from .diagnosis.diagnose import Diagnosis, diagnose
from .diagnosis.failing import Seen
from .judging.block import judge_block
from .judging.case_result import CaseResult
from .judging.criterion import Criterion, chosen_criteria
from .judging.expectations import Expectation
from .judging.grade import Grade
from .observed.observations import observations
from .observed.source import FromRuntime, Observed, Source
from .report import Report
from .runtimes.runtime import Run, Runtime


def verify(
    vectors: str | Path | None = None,
    runtime: Run | None = None,
    *,
    arithmetic: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    diagnosis: bool = True,
) -> Report:
    """Judge `runtime`, a function from a case to its outputs, by the vectors at a path.

    Without a path, by the core vectors. The runtime is called in this process. `arithmetic` holds
    texts `[DTYPE=]CLASS`; without it and the tolerances, each dtype's own class is required. Raises
    GrucibleError for vectors that cannot be used, and for criteria that are none.
    """
    if runtime is None:
        raise TypeError("verify() needs runtime=, a function from a case to its outputs")
    name = getattr(runtime, "__name__", type(runtime).__name__)
    source = FromRuntime(Runtime(name, str(getattr(runtime, "version", "")), runtime))
    path = None if vectors is None else Path(vectors)
    criteria = chosen_criteria(arithmetic, rtol, atol, ulp)
    return judge(path, source, criteria, select, expectations, diagnosis=diagnosis)


def judge(
    vectors: Path | None,
    source: Source,
    criteria: Mapping[str, Criterion],
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    advance: Callable[[int], None] = lambda _: None,
    *,
    diagnosis: bool = True,
) -> Report:
    """The report on what `source` observed of the vectors; `advance(n)` as cases are judged.

    Without `diagnosis`, failures are not explained.
    """
    files = find_vectors(vectors)
    results: list[CaseResult] = []
    seen: list[Seen] = []
    grades: dict[str, Grade] = {}
    for relative, stored, block, observed in observations(files, source, select, advance):
        grade = grades.setdefault(block.dtype, Grade(block.dtype, criteria[block.dtype]))
        found = judge_block(relative, block, observed, grade, expectations)
        results += found
        if diagnosis:
            seen.append(_seen(stored, block, observed, found))
    if not results:
        raise GrucibleError(f"no case is selected by {' '.join(f'--select {s!r}' for s in select)}")
    return Report(
        source.name,
        source.version,
        str(vectors) if vectors else "the core vectors",
        len(files),
        grades,
        results,
        tuple(expectations),
        _diagnosis(seen, criteria, results),
    )


def _seen(
    stored: StoredBlock, block: Block, observed: Observed, results: Sequence[CaseResult]
) -> Seen:
    """What a diagnosis needs of the rows of a block that were judged."""
    failed = [row for row, r in enumerate(results) if r.decides and r.verdict == "failed"]
    passed = {r.id for r in results if r.verdict == "passed"}
    probed = stored.probed(0, len(stored)) if passed else {}
    rows = np.array([case_id in passed for case_id in stored.ids])
    contradicted = Counter({name: int(caught[rows].sum()) for name, caught in probed.items()})
    if not failed:
        return Seen(None, {}, contradicted)
    places = {case_id: row for row, case_id in enumerate(stored.ids)}
    whole = stored.read(0, len(stored))  # with the inputs, which `block` may lack
    return Seen(
        whole.rows(np.array([places[block.ids[row]] for row in failed])),
        {name: array[failed] for name, array in observed.outputs.items()},
        contradicted,
    )


def _diagnosis(
    seen: Sequence[Seen], criteria: Mapping[str, Criterion], results: Sequence[CaseResult]
) -> Diagnosis:
    held = {r.id: r.arithmetic for r in results if r.verdict == "failed"}
    return diagnose(seen, criteria, held)

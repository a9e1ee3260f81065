"""The verdict: does a runtime conform to the vectors?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..cases.errors import GrucibleError
from ..cases.expand import selected
from ..vectors.case import Array, Block
from ..vectors.digest import block_paths
from ..vectors.reader import find_vectors, open_vectors
from .compare import Comparison, compare
from .expectations import Expectation, expectation_for
from .observe import FromRuntime, Observed, Source
from .runtime import Run, Runtime
from .tolerance import Tolerance, chosen_tolerances

CaseVerdict = Literal["passed", "failed", "unsupported", "missing", "error"]
DECIDING = ("required", "ambiguous")
STORED = "stored"


@dataclass(frozen=True)
class CaseResult:
    """What was found of one case.

    The worst element is the one of the largest `worst_ratio` = |observed - expected| / admitted;
    `where` names it, e.g. `Y[0, 1, 2, 5]`, `worst_abs` and `worst_ulp` are its difference. `reading`
    is, for an ambiguous case, the reading that was followed.
    """

    id: str
    tier: str
    dtype: str
    verdict: CaseVerdict
    worst_ratio: float = 0.0
    worst_abs: float = 0.0
    worst_ulp: float = 0.0
    where: str = ""
    reading: str = ""
    message: str = ""
    expected: Expectation | None = None

    @property
    def decides(self) -> bool:
        """Whether the case's tier counts for the verdict."""
        return self.tier in DECIDING


@dataclass(frozen=True)
class Report:
    """What was found of all selected cases, and the verdict it gives."""

    runtime: str
    runtime_version: str
    vectors: str
    files: int
    tolerances: Mapping[str, Tolerance]
    results: Sequence[CaseResult]
    expectations: Sequence[Expectation] = field(default_factory=tuple)

    @cached_property
    def counts(self) -> Counter[str]:
        """How many deciding cases have each verdict."""
        return Counter(result.verdict for result in self.results if result.decides)

    @property
    def verdict(self) -> str:
        """`does not conform`, `incomplete` or `conforms`."""
        if self.counts["failed"] or self.counts["error"]:
            return "does not conform"
        if self.counts["missing"] or not self.counts["passed"]:
            return "incomplete"
        return "conforms"

    @property
    def unexpected(self) -> list[CaseResult]:
        """The deciding cases that failed, or gave an error, and were not expected to."""
        return [
            r
            for r in self.results
            if r.decides and r.verdict in ("failed", "error") and not r.expected
        ]

    @property
    def expected_failures(self) -> list[CaseResult]:
        """The deciding cases that failed, or gave an error, as expected."""
        return [
            r for r in self.results if r.decides and r.verdict in ("failed", "error") and r.expected
        ]

    @property
    def unexpected_passes(self) -> list[CaseResult]:
        """The deciding cases that passed although a failure was expected."""
        return [r for r in self.results if r.decides and r.verdict == "passed" and r.expected]

    @property
    def exit_status(self) -> int:
        """0: conforms, or every failure was expected and nothing is missing; 1: otherwise."""
        return int(bool(self.unexpected or self.counts["missing"]) or self._nothing_compared)

    @property
    def _nothing_compared(self) -> bool:
        return not (self.counts["passed"] or self.counts["failed"] or self.counts["error"])


def verify(
    vectors: str | Path | None = None,
    runtime: Run | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
) -> Report:
    """Judge `runtime`, a function from a case to its outputs, by the vectors at a path.

    Without a path, by the core vectors. The runtime is called in this process. Raises GrucibleError
    for vectors that cannot be used.
    """
    if runtime is None:
        raise TypeError("verify() needs runtime=, a function from a case to its outputs")
    name = getattr(runtime, "__name__", type(runtime).__name__)
    source = FromRuntime(Runtime(name, str(getattr(runtime, "version", "")), runtime))
    path = None if vectors is None else Path(vectors)
    return judge(path, source, chosen_tolerances(rtol, atol, ulp), select, expectations)


def judge(
    vectors: Path | None,
    source: Source,
    tolerances: Mapping[str, Tolerance],
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """The report on what `source` observed of the vectors; `advance(n)` as cases are judged."""
    files = find_vectors(vectors)
    results: list[CaseResult] = []
    for block, observed in observations(files, source, select, advance):
        results += _judge_block(block, observed, tolerances[block.dtype], expectations)
    if not results:
        raise GrucibleError(f"no case is selected by {' '.join(f'--select {s!r}' for s in select)}")
    return Report(
        source.name,
        source.version,
        str(vectors) if vectors else "the core vectors",
        len(files),
        tolerances,
        results,
        tuple(expectations),
    )


def observations(
    files: Iterable[tuple[Path, str]],
    source: Source,
    select: Sequence[str],
    advance: Callable[[int], None] = lambda _: None,
) -> Iterable[tuple[Block, Observed]]:
    """The selected cases of the vector files, in slices of blocks, with what was observed of them.

    Every file's content is verified against its digest first.
    """
    for file, relative in files:
        with open_vectors(file, relative) as vectors:
            vectors.verify_content()
            source.check_blocks(relative, block_paths(vectors.file))
            for stored in vectors.blocks():
                source.check_ids(relative, stored.path, stored.ids)
                for whole in stored.slices(inputs=source.needs_inputs):
                    keep = np.array([selected(i, select) for i in whole.ids] if select else [True])
                    if keep.any():
                        block = whole if keep.all() else whole.rows(keep)
                        yield block, source.observe(relative, block)
                        advance(len(block))


def _judge_block(
    block: Block, observed: Observed, tolerance: Tolerance, expectations: Sequence[Expectation]
) -> list[CaseResult]:
    signed_zero = block.tier == "nonportable"

    def against(outputs: Mapping[str, Array]) -> Comparison:
        return compare(
            dict(outputs), observed.outputs, tolerance, block.dtype, signed_zero=signed_zero
        )

    stored = _Rows(against(block.outputs), STORED if block.readings else "", block.outputs)
    others = [_Rows(against(outputs), name, outputs) for name, outputs in block.readings.items()]
    results = []
    for row, case_id in enumerate(block.ids):
        expected = expectation_for(case_id, expectations) if expectations else None
        status: Any = observed.status[row]
        if status != "ok":
            told = observed.messages[row]
            results.append(
                CaseResult(
                    case_id, block.tier, block.dtype, status, message=told, expected=expected
                )
            )
            continue
        followed = stored
        if not stored.passed[row]:
            followed = next((other for other in others if other.passed[row]), stored)
        results.append(_result(block, observed, row, followed, expected))
    return results


class _Rows:
    """A comparison with the answers of one reading, as Python values: quicker to go through by row."""

    def __init__(self, found: Comparison, reading: str, answers: Mapping[str, Array]) -> None:
        self.reading, self.answers = reading, answers
        self.passed: list[bool] = found.passed.tolist()
        worst = (found.ratio, found.difference, found.ulps)
        self.worst: list[tuple[float, float, float]] = list(
            zip(*(array.tolist() for array in worst), strict=True)
        )
        names = list(answers)
        self.output: list[str] = [names[number] for number in found.output.tolist()]
        self.element: list[int] = found.element.tolist()


def _result(
    block: Block, observed: Observed, row: int, found: _Rows, expected: Expectation | None
) -> CaseResult:
    passed, name = found.passed[row], found.output[row]
    index, where = _place(name, block.outputs[name].shape[1:], found.element[row])
    message = ""
    if not passed:
        wanted, got = found.answers[name][row][index], observed.outputs[name][row][index]
        message = f"expected {wanted!s}, got {got!s}"
    return CaseResult(
        block.ids[row],
        block.tier,
        block.dtype,
        "passed" if passed else "failed",
        *found.worst[row],
        where,
        found.reading if passed else "",
        message,
        expected,
    )


@lru_cache(maxsize=4096)
def _place(name: str, shape: tuple[int, ...], element: int) -> tuple[tuple[int, ...], str]:
    """The index of a flat element, and what a report calls it."""
    index = tuple(int(i) for i in np.unravel_index(element, shape))
    return index, f"{name}[{', '.join(map(str, index))}]"

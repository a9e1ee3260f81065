"""The verdict: does a runtime conform to the vectors?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..cases.console import format_own_error
from ..cases.errors import GrucibleError, several, texts
from ..cases.selection import nothing_selected
from ..vectors.find import case_tiers, find_vectors
from .diagnosis.contradictions import Passed, Passing
from .diagnosis.diagnose import diagnose
from .diagnosis.failing import Failing
from .diagnosis.finding import Diagnosis
from .expecting import apply_expectations, check_expectations
from .judging.case_result import ANSWERED, DECIDING, CaseResult
from .judging.criterion import Criterion, check_chains, check_classes, chosen_criteria
from .judging.expectations import Expectation, check_require, must_support
from .judging.grade import Grade
from .judging.growth import Growth, see_growth
from .judging.judge import judge_block
from .judging.one_reading import one_reading
from .judging.traits import KnownTraits, Traits
from .observed.observations import Slice, observations
from .observed.origin import Origin
from .observed.source import Answering, Ending, FromRuntime, Source
from .refusals.refusal import Refusal
from .report import CORE, Report
from .runtimes.runtime import RuntimeFunction, describe_runtime


def verify(
    vectors: str | Path | None = None,
    runtime: RuntimeFunction | None = None,
    *,
    arithmetic: str | Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    select: str | Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    require: str | Sequence[str] = (),
    diagnosis: bool = True,
    strict: bool = False,
    allow_stale: bool = False,
) -> Report:
    """Judge `runtime`, a function from a question to outputs, by the vectors at a path.

    Without a path, by the core vectors. The runtime is called in this process. `arithmetic` holds
    texts `[DTYPE=]CLASS`; without it and the tolerances, each dtype's own class is required. `select` and
    `require` hold globs of case ids: the cases to judge, and those of which unsupported is a failure. One of
    these texts may be given by itself. Where it is `strict`, what must be refused is asked too, and accepting
    it is a failure. Expectations that are stale make its exit status 1, unless `allow_stale`.
    Raises GrucibleError for vectors that cannot be used, and for criteria and globs that are none, and
    TypeError for arguments of other types.
    """
    if runtime is None:
        raise TypeError("verify() needs runtime=, a function from a question to outputs")
    if not callable(runtime):
        raise TypeError(f"runtime is of type {type(runtime).__name__}; expected a function")
    source = FromRuntime(
        describe_runtime(getattr(runtime, "__name__", type(runtime).__name__), runtime)
    )
    path = None if vectors is None else Path(vectors)
    criteria = chosen_criteria(texts("arithmetic", arithmetic), rtol, atol, ulp)
    known = several("expectations", expectations, Expectation, "a grucible.Expectation")
    # what the user set is for the runtime, and outputs may be anything
    with np.errstate(all="ignore"):
        return judge(
            path, source, criteria, texts("select", select), known,
            require=texts("require", require), diagnosis=diagnosis, strict=strict, allow_stale=allow_stale,
        )  # fmt: skip


def judge(
    vectors: Path | None,
    source: Source,
    criteria: Mapping[str, Criterion],
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    *,
    require: Sequence[str] = (),
    diagnosis: bool = True,
    interruptible: bool = False,
    recompute_share: float = 0.0,
    strict: bool = False,
    allow_stale: bool = False,
    asked: str = "",
    outputs: str = "",
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """The report on what `source` observed of the vectors; `advance(n)` as cases are judged.

    Without `diagnosis`, failures are not explained. Where it is `interruptible`, Ctrl-C gives the report on
    what has been compared, if anything. `recompute_share` (0 to 1) of the answers is evaluated anew. Where
    it is `strict`, the source, a runtime, is asked what it must refuse, after all cases. `asked` is what the
    user called the runtime, or `outputs` the outputs.
    """
    check_expectations(expectations, diagnosed=diagnosis)
    if require:
        tiers = case_tiers(vectors, select)
        check_require(require, ((one, tier in DECIDING) for one, tier in tiers))
    files = find_vectors(vectors, select)
    seen = _Seen(criteria, require, diagnosis, recompute_share)
    interrupted = False
    try:
        for part in observations(files, source, select, advance):
            seen.see(part)
        if isinstance(source, Ending):
            seen.see_the_end(source)
        if strict:
            seen.ask_what_must_be_refused(source, select)
    except KeyboardInterrupt:
        if not (interruptible and seen.results):
            raise
        interrupted = True
        seen.failing.clear()  # who interrupts does not wait for a diagnosis
    if not seen.results and not seen.refusals:
        raise nothing_selected(select)
    report = _explained(vectors, source, seen, interruptible, interrupted)
    found = apply_expectations(report, expectations, vectors, select)
    return replace(found, allow_stale=allow_stale, asked=asked, outputs=outputs)


def _explained(
    vectors: Path | None, source: Source, seen: _Seen, interruptible: bool, interrupted: bool
) -> Report:
    """The report on all that was seen; without what explains it, where Ctrl-C comes meanwhile."""
    try:
        return _report(vectors, source, seen, interrupted=interrupted)
    except KeyboardInterrupt:
        if not (interruptible and seen.results):
            raise
        seen.failing.clear()
        return _report(vectors, source, seen, interrupted=True)


def _report(vectors: Path | None, source: Source, seen: _Seen, *, interrupted: bool) -> Report:
    """The report on all that was seen, with what explains the failures."""
    held = {r.id: r.arithmetic for r in seen.results if r.verdict == "failed"}
    failing = seen.failing
    replies = source.replies if isinstance(source, Answering) and not interrupted else None
    try:
        found = diagnose(
            failing.parts, held, Passing(seen.passed, seen.criteria), failing.left_out, replies
        )
    except (GrucibleError, OSError):
        raise  # a runtime or a file: the user can mend it
    except Exception as error:  # ours: the verdict stands without what explains it
        found = _broken_off(failing, error)
    results, mixed = one_reading(seen.results)
    deviating = sum(now is not before for now, before in zip(results, seen.results, strict=True))
    return Report(
        runtime=source.name,
        runtime_version=source.version,
        vectors=str(vectors) if vectors else CORE,
        origins=seen.origins,
        recomputed=seen.recomputed,
        grades=seen.grades,
        results=results,
        diagnosis=found.with_mixed(mixed, deviating) if seen.diagnosis else found,
        interrupted=interrupted,
        failing=failing.parts,
        growth=seen.growth,
        refusals=seen.refusals,
    )


def _broken_off(failing: Failing, error: Exception) -> Diagnosis:
    """The diagnosis of failures that ended by an error of its own: nothing explains them."""
    ids = [case_id for part in failing.parts for case_id in part.block.ids]
    ids += [case_id for _, case_id in failing.left_out]
    told = f"the diagnosis broke off, and the verdict stands: {format_own_error(error)}"
    return Diagnosis((), len(ids), frozenset(ids), (told,), broke_off=told)


@dataclass
class _Seen:
    """What was found of the cases that have been compared."""

    criteria: Mapping[str, Criterion]
    require: Sequence[str]
    diagnosis: bool
    recompute_share: float
    results: list[CaseResult] = field(default_factory=list)
    failing: Failing = field(default_factory=Failing)
    passed: list[Passed] = field(default_factory=list)
    grades: dict[str, Grade] = field(default_factory=dict)
    growth: dict[str, Growth] = field(default_factory=dict)
    traits: KnownTraits = field(default_factory=KnownTraits)
    origins: dict[str, Origin] = field(default_factory=dict)
    recomputed: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    def see(self, part: Slice) -> None:
        """Judge the cases of a slice, by answers of which some are evaluated anew first."""
        if self.recompute_share:
            from .judging.recompute import recompute  # the exact evaluation, slow to import

            first = not self.recomputed
            self.recomputed += recompute(part, self.recompute_share, one_at_least=first)
        self.origins[part.relative] = part.origin
        dtype = part.block.dtype
        grade = self.grades.setdefault(dtype, Grade(dtype, self.criteria[dtype]))
        check_classes(part.file, part.block)
        if part.origin != "published":
            check_chains(part.file, part.block)
        found = judge_block(part.relative, part.block, part.observed, grade)
        see_growth(self.growth.setdefault(dtype, Growth()), part, found, self.criteria[dtype])
        self.results += [
            _demanded(one, traits, self.require)
            for one, traits in zip(found, self.traits.of(part.stored, part.rows), strict=True)
        ]
        if self.diagnosis:
            _keep_failing(self.failing, part, found, self.criteria[dtype])
            self.passed += _passed(part, found)

    def see_the_end(self, source: Ending) -> None:
        """Let the source end: what goes wrong then is an error of the last case that was answered."""
        wrong = source.finish()
        for place, one in enumerate(self.results):
            if one.id in wrong and one.verdict in ANSWERED:
                said = wrong[one.id]
                self.results[place] = CaseResult(
                    one.id, one.operator, one.tier, one.dtype, "error", message=said.message,
                    fault=said.fault, must_support=one.must_support, traits=one.traits,
                )  # fmt: skip

    def ask_what_must_be_refused(self, source: Source, select: Sequence[str]) -> None:
        """Ask the invalid questions of the operators and dtypes that the cases have; of all without cases."""
        if not isinstance(source, Answering):
            raise GrucibleError("what must be refused is asked of a runtime; outputs are only read")
        from .refusals.asking import refusals

        operators = {result.operator for result in self.results}
        dtypes = {result.dtype for result in self.results}
        self.refusals = refusals(source, operators, dtypes, select)


def _demanded(result: CaseResult, traits: Traits, require: Sequence[str]) -> CaseResult:
    """The result with what the case asks for, and whether it must be supported."""
    return replace(result, traits=traits, must_support=must_support(result.id, require))


def _keep_failing(
    failing: Failing, part: Slice, results: Sequence[CaseResult], criterion: Criterion
) -> None:
    """Keep the deciding cases of a slice that failed, with their inputs, which the slice may lack."""
    failed = [row for row, r in enumerate(results) if r.decides and r.verdict == "failed"]
    if not failed:
        return
    at = part.rows[failed]
    first = int(at.min())
    whole = part.stored.read(first, int(at.max()) + 1)
    outputs = {name: array[failed] for name, array in part.observed.outputs.items()}
    failing.add(whole.rows(at - first), outputs, criterion)


def _passed(part: Slice, results: Sequence[CaseResult]) -> Iterator[Passed]:
    """The deciding cases of a slice that passed."""
    rows = [row for row, r in enumerate(results) if r.decides and r.verdict == "passed"]
    if rows:
        yield Passed(part.file, part.block.path, part.rows[rows])

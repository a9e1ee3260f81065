"""The verdict: whether a runtime conforms to the vectors."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..cases.console import format_own_error, say
from ..cases.errors import GrucibleError, VectorFileError
from ..cases.selection import WHOLE, Ids, options_of, selected
from ..vectors.vector_set import VectorSet
from .again import Again
from .diagnosis.asked import Asked, list_asked
from .diagnosis.contradictions import Passed, Passing
from .diagnosis.diagnose import diagnose
from .diagnosis.failing import Failing
from .diagnosis.finding import NOT_THE_MODULE, Diagnosis, Finding
from .diagnosis.large import with_large
from .expecting import apply_expectations
from .judging.case_result import DECIDING, CaseResult, find_traits
from .judging.criterion import Criterion, check_classes, chosen_criteria
from .judging.expectations import Expectation, Expectations
from .judging.grade import Grade, Growth, see_growth
from .judging.judge import judge_block, one_reading
from .observed.observations import Origin, Slice, observe, origin
from .observed.outputs_file import FromFiles
from .observed.source import Source
from .refusals import Refusal, refusals
from .report import CORE, Report
from .unanswered import say_where_unanswered

_UNFORESEEN = secrets.SystemRandom()
"""The source of chance for the cases that are evaluated anew: a file's author must not foresee them."""


@dataclass(frozen=True)
class Demand:
    """What the user demands of outputs.

    `criteria` has the criterion of each dtype. Unsupported is a failure for cases that a glob of `require`
    matches. With `strict`, questions that must be refused are asked too, and accepting one is a failure.
    Stale expectations make the exit status 1, unless `allow_stale`. The share `recompute` (0 to 1) of the
    answers is evaluated anew. Without `diagnose`, failures are not explained; without `again`, no case that
    passed is asked again. After `maxfail` unexpected failures, no more is asked. A `partial` demand leaves
    cases out. `layers` has the layer of a model that each case belongs to, by id: one may be wrong alone.
    `differs` says, by id, how an exported file is not its module there: that explains a failure.
    """

    criteria: Mapping[str, Criterion] = field(default_factory=chosen_criteria)
    expectations: Sequence[Expectation] = ()
    require: Sequence[str] = ()
    diagnose: bool = True
    strict: bool = False
    allow_stale: bool = False
    recompute: float = 0.0
    maxfail: int | None = None
    partial: bool = False
    again: bool = True
    layers: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)

    def check(self, vectors: VectorSet) -> None:
        """Raise GrucibleError for a demand that the cases of `vectors` cannot meet or fail.

        With `strict`, a glob may match questions that must be refused, and no case.
        """
        Expectations(self.expectations)
        if not self.strict:
            vectors.check_globs()
        for one in () if self.diagnose else self.expectations:
            if one.diagnosis:
                place = f"{one.place}: " if one.place else ""
                raise GrucibleError(
                    f"{place}expects diagnosis {one.diagnosis[0]} of {one.cases!r}, and nothing is "
                    "diagnosed; leave --no-diagnose out"
                )
        tiers = vectors.whole.tiers.items() if self.require else ()
        deciding = Ids(case_id for case_id, tier in tiers if tier in DECIDING)
        for glob in () if self.partial else self.require:
            if not deciding.matching(glob):
                raise GrucibleError(
                    f"--require {glob!r} would demand nothing: no case that is judged and decides matches; "
                    "see the ids with: grucible cases --list"
                )


def judge(
    vectors: VectorSet,
    source: Source,
    demand: Demand,
    advance: Callable[[int], None] = lambda _: None,
    begin: Callable[[str], None] = lambda _: None,
    *,
    interruptible: bool = False,
) -> Report:
    """Judge what `source` answers to the cases of `vectors`.

    Call `advance(n)` when n more are answered, and `begin(words)` before other work that may take long.
    If `interruptible`, Ctrl-C or a GrucibleError ends the judging with a report on the cases compared so far,
    if any; the error is the report's `broken_by`.
    """
    demand.check(vectors)
    demand = replace(demand, again=demand.again and not isinstance(source, FromFiles))
    seen, found, interrupted, broken = Seen(demand), Diagnosis(), False, None
    # the user's settings are for the runtime, and outputs may be anything
    with np.errstate(all="ignore"):
        try:
            for part in observe(vectors, source, advance):
                seen.see(part)
                if seen.stopped:
                    break
            if demand.again and not seen.stopped:
                begin("asking some cases again")
                seen.again.ask(source, demand.criteria)
            if demand.strict and not seen.stopped:
                begin("asking what must be refused")
                # of the cases' operators and dtypes, or of all without cases
                parts = [case_id.split("/") for case_id in vectors.whole.ids]
                operators, dtypes = {one[0] for one in parts}, {one[2] for one in parts}
                seen.refusals = refusals(source, operators, dtypes, vectors.select, vectors.shard)
            if failures := sum(one.verdict == "failed" for one in seen.results):
                begin(f"explaining {failures} failure{'s' * (failures > 1)}")
            found = explain(source, seen)
        except (KeyboardInterrupt, GrucibleError) as error:
            if not (interruptible and seen.results):
                raise
            interrupted, broken = True, error if isinstance(error, GrucibleError) else None
        if not seen.results and vectors.shard != WHOLE and vectors.whole.ids:
            why = f"--shard {vectors.shard} has no case of these; divide them into fewer parts"
            raise GrucibleError(why)
        if not seen.results and not seen.refusals:
            raise vectors.nothing_selected()
        report = seen.report(vectors, source, found, interrupted)
        left_out, failed = seen.stopped or demand.partial, demand.partial and not seen.stopped
        report = replace(report, broken_by=broken, stopped=left_out, last_failed=failed)
        return apply_expectations(report, demand.expectations, vectors.path, vectors.select)


def explain(source: Source, seen: Seen) -> Diagnosis:
    """Look for what explains what went wrong; an error of our own here does not change the verdict."""
    classes = {r.id: r.arithmetic for r in seen.results if r.verdict == "failed"}
    failing, layers = seen.failing, seen.demand.layers
    wrong = {layers.get(case_id) for case_id in classes}
    passed = [one for layer, some in seen.passed.items() if layer in wrong for one in some]
    passing = Passing(passed, seen.demand.criteria)
    try:
        found = diagnose(
            failing.parts, classes, passing, failing.left_out,
            lambda questions: list(source.answer(questions)),
        )  # fmt: skip
        found = with_large(found, failing.large, passing)
        differing = {*seen.differing}
        known = {one: (layers[one], seen.demand.differs[one]) for one in layers if one in differing}
        for layer, how in dict.fromkeys(known.values()):
            ids = [one for one in known if known[one] == (layer, how)]
            about, kind = f"the file's {how}", NOT_THE_MODULE
            more = Finding((kind,), kind, about, len(ids), len(ids), f"in layer {layer}")
            found = found.with_more([more], len(ids), dict.fromkeys(ids, more))
        return replace(found, unanswered=say_where_unanswered(seen.results, seen.asks))
    except (GrucibleError, OSError):
        raise  # about a runtime or a file, which the user can mend
    except Exception as error:
        ids = [case_id for part in failing.parts for case_id in part.block.ids]
        ids += [case_id for _, case_id in failing.left_out]
        why = f"the diagnosis broke off, and the verdict stands: {format_own_error(error)}"
        say(f"grucible: {why}", err=True)
        return Diagnosis((), len(ids), frozenset(ids), (why,), broke_off=why)


@dataclass
class Seen:
    """What was found of the cases that have been compared."""

    demand: Demand
    results: list[CaseResult] = field(default_factory=list)
    failing: Failing = field(default_factory=Failing)
    passed: dict[str | None, list[Passed]] = field(default_factory=dict)
    """The places of the cases that passed, by layer; None where there are no layers."""
    again: Again = field(default_factory=Again)
    asks: dict[str, Asked] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    """The ids of the failing cases that `Demand.differs` explains."""
    grades: dict[str, Grade] = field(default_factory=dict)
    growth: dict[str, Growth] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    recomputed: int = 0
    unexpected: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    @cached_property
    def _known(self) -> Expectations:
        return Expectations(self.demand.expectations)

    @property
    def stopped(self) -> bool:
        """Whether as many cases failed as are waited for."""
        return self.demand.maxfail is not None and self.unexpected >= self.demand.maxfail

    def see(self, part: Slice) -> None:
        """Judge the cases of a slice, after a share of their answers was evaluated anew."""
        if self.demand.recompute:
            first = not self.recomputed
            self.recomputed += _recompute(part, self.demand.recompute, one_at_least=first)
        file, block = part.file, part.block
        if file.relative not in self.origins:
            self.origins[file.relative] = origin(file)
            self.digests[file.relative] = f"{file.content_sha256} {file.tolerance_sha256}"
        criterion, require = self.demand.criteria[block.dtype], self.demand.require
        grade = self.grades.setdefault(block.dtype, Grade(block.dtype, criterion))
        check_classes(file.path, block)
        found = judge_block(file.relative, block, part.observed, grade)
        see_growth(self.growth.setdefault(block.dtype, Growth()), part, found, criterion)
        results = [
            replace(one, traits=traits, must_support=bool(require) and selected(one.id, require))
            for one, traits in zip(found, find_traits(block), strict=True)
        ]
        self.results += results
        self.unexpected += sum(one.wrong and not self._known.of(one.id) for one in results)
        if self.demand.again:
            self.again.see(block, found)
        if self.demand.diagnose:
            self._keep(part, found, criterion)

    def _keep(self, part: Slice, results: Sequence[CaseResult], criterion: Criterion) -> None:
        """Keep, for the diagnosis, the deciding cases that failed, and the places of those that passed."""
        deciding = [(row, r.verdict) for row, r in enumerate(results) if r.decides]
        if deciding:
            asks = list_asked(part.block, np.ones(len(part.block), bool))
            self.asks |= dict(zip(part.block.ids, asks, strict=True))
        passed = [row for row, verdict in deciding if verdict == "passed"]
        of = self.demand.layers.get
        for layer in dict.fromkeys(of(part.block.ids[row]) for row in passed):
            rows = part.rows[[row for row in passed if of(part.block.ids[row]) == layer]]
            self.passed.setdefault(layer, []).append(Passed(part.file, part.block.path, rows))
        wrong = [row for row, verdict in deciding if verdict == "failed"]
        failed = [row for row in wrong if part.block.ids[row] not in self.demand.differs]
        self.differing += [part.block.ids[row] for row in wrong if row not in failed]
        if failed:
            outputs = {name: array[failed] for name, array in part.observed.outputs.items()}
            self.failing.add(part.block.rows(np.array(failed)), outputs, criterion)

    def report(
        self, vectors: VectorSet, source: Source, found: Diagnosis, interrupted: bool
    ) -> Report:
        """Make the report, in which `found` explains the failures."""
        results, mixed = one_reading(self.results)
        deviating = sum(now is not one for now, one in zip(results, self.results, strict=True))
        before, results = results, self.again.apply(results)
        changed = {one.id for one, was in zip(results, before, strict=True) if one is not was}
        if self.demand.diagnose:
            found = self.again.explain(found.with_mixed(mixed, deviating), changed)
        for one, was in zip(results, self.results, strict=True):
            if one is not was:  # other cases or answers made it fail
                self.grades[one.dtype].holds.subtract(was.holds)
        return Report(
            runtime=source.name,
            runtime_version=source.version,
            vectors=str(vectors.path) if vectors.path else CORE,
            shard=vectors.shard,
            select=[value for _, value in options_of(vectors.select)],
            origins=self.origins,
            digests=self.digests,
            recomputed=self.recomputed,
            grades=self.grades,
            results=results,
            diagnosis=found,
            asked_again=self.again.asked,
            growth=self.growth,
            refusals=self.refusals,
            allow_stale=self.demand.allow_stale,
            interrupted=interrupted,
            failing=() if interrupted else self.failing.parts,
        )


def _recompute(part: Slice, share: float, *, one_at_least: bool) -> int:
    """Evaluate `share` of the cases of a slice anew, chosen at random; return the number of cases.

    Raises VectorFileError for the first case whose stored answer differs from the new one.
    """
    from ..gen.posed import differing  # the exact evaluation, slow to import

    rows = [row for row in range(len(part.block)) if _UNFORESEEN.random() < share]
    rows = rows or [0] * one_at_least
    block = part.block.rows(np.array(rows, int))
    for row, why in sorted(differing(block).items()) if rows else ():
        raise VectorFileError(
            f"{part.file.path}: {block.ids[row]}: {why}; do not judge by this file, generate it again"
        )
    return len(rows)

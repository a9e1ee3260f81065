"""Explaining cases too large for variants by some of their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...gen.variants.known import variant_called
from .contradictions import Passing
from .diagnose import diagnose
from .failing import FailingBlock
from .finding import Diagnosis, Finding, Names, in_order


def with_large(
    found: Diagnosis, large: Sequence[tuple[FailingBlock, FailingBlock]], passing: Passing
) -> Diagnosis:
    """Explain large cases that nothing explains yet; `large` has a few steps of each, and many."""
    more: dict[Names, list[tuple[str, Finding]]] = {}
    for few, many in large:
        [case_id] = few.block.ids
        if case_id in found.unexplained_ids and (
            one := _explain(few, many, passing, found.findings)
        ):
            more.setdefault(one.names, []).append((case_id, one))
    if not more:
        return found
    findings = list(found.findings)
    for names, cases in more.items():
        known = [one for one in findings if one.names == names and not one.where]
        findings = [one for one in findings if one not in known]
        one = known[0] if known else replace(cases[0][1], explains=0, of=found.failed)
        findings.append(replace(one, explains=one.explains + len(cases)))
    by_case = {case_id: one for cases in more.values() for case_id, one in cases}
    return replace(
        found,
        findings=in_order(findings),
        unexplained_ids=found.unexplained_ids - by_case.keys(),
        by_case={**found.by_case, **by_case},
        not_tried=found.not_tried - len(by_case),
    )


def _explain(
    few: FailingBlock, many: FailingBlock, passing: Passing, known: Sequence[Finding]
) -> Finding | None:
    """Find what is known of other cases, or what a few steps do, if many steps do it.

    Where among these steps it is so says nothing of the case.
    """
    return next((one for one in _candidates(few, passing, known) if _does(many, one)), None)


def _candidates(few: FailingBlock, passing: Passing, known: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings that are known; then look for others, which takes long."""
    yield from known
    yield from diagnose([few], {}, passing).findings


def _does(many: FailingBlock, one: Finding) -> bool:
    """Say whether each of many steps does what a finding says of a step."""
    if not one.certain or one.where or one.kind not in ("misreading", "approximation"):
        return False
    variants = [variant_called(name) for name in one.names]
    within = all(v.within_a_step and "@" not in v.name for v in variants)
    return within and bool((many.distances([variants]) <= 1.0).all())

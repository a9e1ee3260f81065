"""Explaining cases too large for variants by some of their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from ...gen.variants.known import variant_called
from .contradictions import Passing
from .diagnose import diagnose
from .failing import FailingBlock
from .finding import Diagnosis, Finding, Names, in_order

FRUITLESS = 2
"""Maximum searches without a result; each takes seconds, and large cases mostly fail for the same reason."""


def with_large(
    found: Diagnosis, large: Sequence[tuple[FailingBlock, FailingBlock]], passing: Passing
) -> Diagnosis:
    """Explain large cases that nothing explains yet; `large` has a few steps of each, and many."""
    more: dict[Names, list[tuple[str, Finding]]] = {}
    known, fruitless = list(found.findings), 0
    for few, many in large:
        [case_id] = few.block.ids
        if case_id not in found.unexplained_ids:
            continue
        anew = _searched(few, passing) if fruitless < FRUITLESS else ()
        one = next((one for one in chain(known, anew) if _does(many, one)), None)
        if one is None:
            fruitless += 1
        else:  # where among these steps says nothing of the case
            known.append(replace(one, where=""))
            more.setdefault(one.names, []).append((case_id, known[-1]))
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


def _searched(few: FailingBlock, passing: Passing) -> Iterator[Finding]:
    """Find what a few steps do, which takes long."""
    yield from diagnose([few], {}, passing).findings


def _does(many: FailingBlock, one: Finding) -> bool:
    """Say whether each of many steps does what a finding says of a step."""
    if not one.certain or one.kind not in ("misreading", "approximation"):
        return False
    variants = [variant_called(name) for name in one.names]
    within = all(v.within_a_step and "@" not in v.name for v in variants)
    return within and bool((many.distances([variants]) <= 1.0).all())

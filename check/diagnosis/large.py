"""Explaining cases too large for variants by some of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...gen.variants.known import variant_called
from ..judging.criterion import Criterion
from .contradictions import Passing
from .diagnose import diagnose
from .failing import FailingBlock
from .finding import Diagnosis, Finding, Names, in_order


def with_large(
    found: Diagnosis, large: Sequence[FailingBlock], criteria: Mapping[str, Criterion]
) -> Diagnosis:
    """Explain large cases that nothing explains yet, of each of which `large` has some steps."""
    more: dict[Names, list[tuple[str, Finding]]] = {}
    for part in large:
        [case_id] = part.block.ids
        if case_id in found.unexplained_ids and (one := _explain(part, criteria)):
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


def _explain(part: FailingBlock, criteria: Mapping[str, Criterion]) -> Finding | None:
    """Find what every step of `part` does; where among these steps it does so says nothing of the case."""
    for one in diagnose([part], {}, Passing((), criteria)).findings:
        step = one.kind in ("misreading", "approximation") and all(
            variant_called(name).within_a_step and "@" not in name for name in one.names
        )
        if one.certain and step and not one.where:
            return one
    return None

"""What a diagnosis found, as a person reads it: in the report's first line, and below."""

from __future__ import annotations

from collections.abc import Iterator

from ...cases.console import say
from ...cases.operators.known import OPERATORS
from ..diagnosis.finding import Diagnosis, Finding
from .wrapping import wrapped

_TOLD = 2
"""So many findings are told in the first line."""


def say_broken_off(diagnosis: Diagnosis) -> None:
    """A line on standard error where a diagnosis broke off; nothing where it did not."""
    if diagnosis.broke_off:
        say(f"grucible: {diagnosis.broke_off}", err=True)


def diagnosis_in_short(diagnosis: Diagnosis) -> str:
    """The diagnosis as the end of the first line: what is certain, if it explains all."""
    found = diagnosis.findings
    if not found or not all(finding.certain for finding in found):
        return "; what may explain it, see below" if found else ""
    count = len(found)
    if diagnosis.unexplained or count > _TOLD:
        explained = diagnosis.failed - diagnosis.unexplained
        share = f"{explained} of {diagnosis.failed}" if diagnosis.unexplained else "all"
        findings = "one finding" if count == 1 else f"{count} findings together"
        return f"; {share} failures are explained by {findings}, see below"
    return "; all failures are explained by: " + "; and by: ".join(
        _placed(one.in_short, one) for one in found
    )


def _placed(text: str, finding: Finding) -> str:
    """What a finding says, with where it is so."""
    return f"{text}, {finding.where}" if finding.where else text


def sentence(finding: Finding) -> str:
    """What a finding says, with where it is so, and whether it is certain."""
    return f"{'' if finding.certain else 'perhaps: '}{_placed(finding.about, finding)}"


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """What explains the failures, what explains others as well, and what is left."""
    if not diagnosis.failed:
        return
    yield ""
    several = (
        ", of which one may count under several findings" if len(diagnosis.findings) > 1 else ""
    )
    yield f"diagnosis of {diagnosis.failed} failure{'s' * (diagnosis.failed > 1)}{several}:"
    for finding in diagnosis.findings:
        yield from wrapped(f"{finding.explains:6}  {sentence(finding)}", indent=0, more=8)
        for note in notes(finding):
            yield from wrapped(note, indent=8, cut=False)
        yield from (f"        {link}" for link in finding.links[:2])
    if diagnosis.unexplained:
        yield f"{diagnosis.unexplained:6}  unexplained"
        if diagnosis.not_tried:
            told = f"{diagnosis.not_tried} of them too large to be explained, or not looked at"
            yield from wrapped(told, indent=8)
        for hint in diagnosis.hints:
            yield from wrapped(hint, indent=8)


def notes(finding: Finding) -> Iterator[str]:
    """What is to be known of a finding besides: what else explains as much, where it is not so, and that the
    texts are silent."""
    if finding.alternatives:
        yield f"or, as far as these cases tell: {_listing(finding)}"
    if finding.not_everywhere:
        yield f"not everywhere: {finding.contradicted} cases that would show it passed"
    if finding.silent:
        page = f"cases/{OPERATORS[finding.operator].owner}/LEDGER.md"
        entries = ", ".join(finding.silent)
        yield f"({entries} in {page}: the text is silent, and the owner's runtime decides)"


def _listing(finding: Finding) -> str:
    told = [_placed(finding.sentence(names), finding) for names in finding.alternatives[:3]]
    shown = "; ".join(told)
    more = len(finding.alternatives) - 3
    return f"{shown}; and {more} more" if more > 0 else shown

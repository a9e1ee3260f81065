"""Explanations in words: the finding of each, and of each case the simplest that explains it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...cases.operators.readings import SILENT
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import variant_called
from .finding import ACCEPTED, Explanation, Finding, Names
from .search import Search


def finding_by_case(
    search: Search,
    rows: Sequence[tuple[str, str]],
    findings: Sequence[Finding],
    found: Sequence[Explanation],
    besides: Sequence[tuple[Finding, Array]],
) -> dict[str, Finding]:
    """Find for each case, by id, the simplest that explains it: the fewest variants, preferably of a finding.

    `besides` are findings without variants, with their cases.
    """
    known = {name for finding in findings for name in finding.names}
    uncertain = {finding.names for finding in findings if not finding.certain}

    def order(one: Explanation) -> tuple[int, bool, int]:
        return (len(one.names), not known.issuperset(one.names), -one.explains)

    by_case: dict[str, Finding] = {}
    for one in sorted(found, key=order):
        ids = {rows[row][1] for row in np.flatnonzero(one.mask).tolist()} - by_case.keys()
        if ids:
            finding = finding_of(search, one, found)
            certain = finding.certain and one.names not in uncertain
            by_case |= dict.fromkeys(ids, replace(finding, certain=certain))
    for finding, mask in besides:
        for row in np.flatnonzero(mask).tolist():
            by_case.setdefault(rows[row][1], finding)
    return by_case


def finding_of(search: Search, one: Explanation, found: Sequence[Explanation]) -> Finding:
    """Put an explanation in words, with others of those found that explain the same cases as well."""
    variants = one.variants
    listed = all(name in CATALOGUE for name in one.names)
    alternatives = tuple(
        other.names
        for other in found
        if other.names != one.names
        and not (listed and any(name not in CATALOGUE for name in other.names))
        and len(other.names) == len(one.names)
        and other.where == one.where
        and (other.mask == one.mask).all()
        and other.contradicted <= one.contradicted
        and other.near <= 4.0 * one.near + 1e-3
    )
    operators = [part.block.operator for part in search.parts for _ in range(len(part))]
    explained = [operators[row] for row in np.flatnonzero(one.mask)]
    whole = [o for o in explained if all(v.means_something_for(OPERATORS[o]) for v in variants)]
    operator = (whole or explained)[0]
    alternatives = _saying_something_else(one.names, alternatives, operator)
    about = "; and ".join(
        f"{v.about_for(OPERATORS[operator])}{ACCEPTED if v.kind == 'reading' else ''}"
        for v in variants
    )
    return Finding(
        names=one.names,
        kind=variants[0].kind,
        about=about,
        explains=one.explains,
        of=len(one.mask),
        where=one.where,
        certain=one.certain,
        links=tuple(dict.fromkeys(link for v in variants for link in v.links)),
        alternatives=alternatives,
        contradicted=one.contradicted,
        operator=operator,
        silent=_silent((one.names, *alternatives), {OPERATORS[o].owner for o in explained}),
    )


def _saying_something_else(
    names: Names, alternatives: Sequence[Names], operator: str
) -> tuple[Names, ...]:
    """List the alternatives whose sentences are not those of `names` or of an earlier one."""
    found: dict[frozenset[str], Names] = {}
    for each in (names, *alternatives):
        sentences = frozenset(variant_called(one).about_for(OPERATORS[operator]) for one in each)
        found.setdefault(sentences, each)
    return tuple(found.values())[1:]


def _silent(explained: Sequence[Names], owners: Collection[str]) -> tuple[str, ...]:
    """List the ledger entries of all misreadings, if the texts of all `owners` are silent on each."""
    variants = [variant_called(name) for names in explained for name in names]
    entries = [variant.ledger for variant in variants if variant.kind != "reading"]
    silent = all(entry in SILENT[owner] for entry in entries for owner in owners)
    return tuple(dict.fromkeys(entries)) if silent else ()

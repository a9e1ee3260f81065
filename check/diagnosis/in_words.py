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
from .explanations import Explanation
from .finding import ACCEPTED, Finding, Names
from .search import Search


def finding_by_case(
    search: Search,
    rows: Sequence[tuple[str, str]],
    findings: Sequence[Finding],
    found: Sequence[Explanation],
    besides: Sequence[tuple[Finding, Array]],
) -> dict[str, Finding]:
    """By id, the simplest that explains a case: the fewest variants, and of equally few those that the
    findings name, then those that explain most; `besides`, what is no variant of the step, with its cases.

    What others contradict is none of the findings. It may be right all the same of a case that asks for one
    thing alone: reverse is ignored, say, though bidirectional is computed. But what the findings say may
    be so is no more certain of a case.
    """
    known = {name for finding in findings for name in finding.names}
    others = _contradicted(search, found)
    some = [one for one in others if known.issuperset(one.names)]
    uncertain = {finding.names for finding in findings if not finding.certain}
    order = sorted(
        [*found, *some],
        key=lambda one: (len(one.names), not known.issuperset(one.names), -one.explains),
    )
    order += sorted(others, key=lambda one: -one.explains)
    by_case: dict[str, Finding] = {}
    for one in order:
        new = [
            rows[row][1] for row in np.flatnonzero(one.mask).tolist() if rows[row][1] not in by_case
        ]
        if new:
            finding = finding_of(search, one, found)
            if one.names in uncertain:
                finding = replace(finding, certain=False)
            by_case |= dict.fromkeys(new, finding)
    for finding, mask in besides:
        for row in np.flatnonzero(mask).tolist():
            by_case.setdefault(rows[row][1], finding)
    return by_case


def _contradicted(search: Search, found: Sequence[Explanation]) -> list[Explanation]:
    """The misreadings of the catalogue that explain some case, and are said of none for others pass."""
    said = {one.names for one in found}
    return [
        Explanation(names, far <= 1.0, 1.0, certain=False)
        for names, far in search.distances.items()
        if len(names) == 1
        and names not in said
        and names[0] in CATALOGUE
        and CATALOGUE[names[0]].kind == "misreading"
        and (far <= 1.0).any()
    ]


def finding_of(search: Search, one: Explanation, found: Sequence[Explanation]) -> Finding:
    """What an explanation says, with what others of those found explain as well."""
    variants = [variant_called(name) for name in one.names]
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
    if one.names in search.loose and not one.stepwise:
        tight = search.loose[one.names]
        how = "in coarse arithmetic" if one.certain else "besides smaller errors"
        about += f", some of it {how}" if tight else f", {how}"
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
    """The alternatives that do not say what `names` or an earlier one say, perhaps in another order."""
    said: dict[frozenset[str], Names] = {}
    for each in (names, *alternatives):
        sentences = frozenset(variant_called(one).about_for(OPERATORS[operator]) for one in each)
        said.setdefault(sentences, each)
    return tuple(said.values())[1:]


def _silent(explained: Sequence[Names], owners: Collection[str]) -> tuple[str, ...]:
    """The ledger entries of the misreadings in all explanations, if each is a point that the texts of
    all `owners` are silent on."""
    variants = [variant_called(name) for names in explained for name in names]
    entries = [variant.ledger for variant in variants if variant.kind != "reading"]
    said = {entry for entry in entries if any(entry not in SILENT[owner] for owner in owners)}
    return () if said else tuple(dict.fromkeys(entries))

"""Diagnosis: the fewest misreadings that explain what failed.

A case is explained by a variant of the GRU if what was observed is what the variant gives, within
the tolerance, and not what was asked for (`failing`). `search` tries the variants of the catalogue;
`beyond` takes what they leave one step at a time, and finds numbers and places. Chosen are the fewest
that explain what any of them does (`explanations`), and what is left is held against coarser arithmetic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...cases.operators.silent_points import SILENT
from ...gen.variants.known import variant_called
from .arithmetic import arithmetic_findings, sound
from .beyond import candidates
from .contradictions import Passing
from .curves import HELPED, fitted_curve, in_words, suspected
from .explanations import Explanation, all_masks, believed, explanations, fewest
from .failing import FailingBlock
from .finding import ACCEPTED, Diagnosis, Finding, Names, names_of
from .hints import hints
from .local import Explained, Local, all_of
from .repeated import Replies, depends_on_earlier
from .search import Search

NARROWED = ("float64", "float32")
"""The dtype, and the class of arithmetic, of cases that need no other explanation than that."""
OF_STEPS = 64
"""Trying something on the steps of all cases may take this part of what trying anything on cases may."""
FITTED, FITTED_STATES = 3, 24
"""A number that is fitted must explain so many cases, or so many states."""
BASES = 3
"""So much of what was found is gone on with where two mistakes come together."""
ROUNDS, TRIED = 3, 8
"""How often the unexplained are sampled to look beyond the catalogue, and how many candidates are tried."""


def diagnose(
    parts: Sequence[FailingBlock],
    arithmetic: Mapping[str, str],
    passing: Passing,
    left_out: Sequence[tuple[str, str]] = (),
    replies: Replies | None = None,
) -> Diagnosis:
    """What explains the failing cases of `parts`; `left_out` are the dtypes and ids of more that failed.

    `arithmetic` is, by id, the best class of arithmetic that a failing case holds; `passing` are the cases
    that passed. What nothing explains is asked again, where `replies` says how.
    """
    rows = [(part.block.dtype, case_id) for part in parts for case_id in part.block.ids]
    rows += left_out
    if not rows:
        return Diagnosis()
    held = [arithmetic.get(case_id, "") for _, case_id in rows]
    which = ~np.array([sound(dtype, name) for (dtype, _), name in zip(rows, held, strict=True)])
    coarse = np.array([bool(name) for name in held])
    search = Search(parts, which)
    local = Local(parts, passing, len(rows), search.explaining // OF_STEPS)
    narrow = [(kind, name) == NARROWED for (kind, _), name in zip(rows, held, strict=True)]
    placed = _searched(search, local, which, coarse, np.array(narrow))
    found = explanations(search, placed, passing, which)
    chosen = believed(fewest(found), found, parts, which)
    explained = all_masks([one for one in chosen if one.certain], len(rows))
    findings = []
    in_doubt = ~explained | ~which
    for finding, cases in arithmetic_findings(rows, held, in_doubt, passing.counts, local):
        findings.append(finding)
        explained |= cases
    if (curved := _curved(search, local, which & ~explained, passing)) is not None:
        findings.append(curved[0])
        explained |= curved[1]
    chosen = [one for one in chosen if one.certain or (one.mask & ~explained).any()]
    findings += [_finding(search, one, found) for one in chosen]
    explained |= all_masks(chosen, len(rows))
    findings.sort(key=lambda finding: (not finding.certain, -finding.explains))
    left = ~explained
    seen_whole = not left[len(rows) - len(left_out) :].any()
    return Diagnosis(
        findings=findings,
        failed=len(rows),
        unexplained=int(left.sum()),
        hints=_known(parts, left, passing, local, replies) if seen_whole else [],
        by_case=_by_case(search, rows, findings, found),
        not_tried=int((left & search.passed_over).sum()),
    )


def _known(
    parts: Sequence[FailingBlock],
    left: Array,
    passing: Passing,
    local: Local,
    replies: Replies | None,
) -> list[str]:
    """What is known of the cases that nothing explains."""
    again = depends_on_earlier(parts, left, replies) if replies and left.any() else ""
    return [*([again] if again else []), *hints(parts, left, passing, local)]


def _searched(
    search: Search, local: Local, which: Array, coarse: Array, narrow: Array
) -> list[Explained]:
    """Try the catalogue, what is beyond it, and several at once; what explains steps in places alone.

    All (n,): `which` are to be explained, `coarse` hold a class of arithmetic, `narrow` that of float32.
    """
    search.singles()
    search.beyond()
    placed = _one_step_at_a_time(search, local, which & ~narrow)
    done = all_of(placed, len(which))
    search.together(which & ~coarse & ~done)
    search.loosely(which & ~coarse & ~done)
    return placed


def _one_step_at_a_time(search: Search, local: Local, which: Array) -> list[Explained]:
    """What explains the steps of failing cases that nothing explains as a whole."""
    placed: dict[Names, Explained] = {}
    bases = search.best(BASES)
    for _ in range(ROUNDS):
        left = which & ~search.explained & ~all_of(placed.values(), len(which))
        found = [one.variants for one in candidates(search.sampled(left), bases)]
        new = [variants for variants in found if names_of(variants) not in placed][:TRIED]
        if not new:
            break
        tried = [one for one in map(local.explained, new) if one is not None and _told(one)]
        search.on_all([one.variants for one in tried])
        placed |= {one.names: one for one in tried}
        order = _in_order(placed.values())
        mine = [v for one in order for v in one.variants if not v.arithmetic]
        bases = list({v.name: v for v in (*mine, *search.best(BASES))}.values())[:BASES]
    order = _in_order(placed.values())
    search.found = list({v.name: v for one in order for v in one.variants}.values())
    if placed:
        search.passed_over |= local.passed_over
    return order


def _curved(
    search: Search, local: Local, left: Array, passing: Passing
) -> tuple[Finding, Array] | None:
    """That a function was computed as another one, if that takes the error of the cases that are left."""
    steps = [
        one.only(np.flatnonzero(left[start + one.stack.rows]))
        for start, one in local.steps
        if left[start + one.stack.rows].any()
    ]
    found = fitted_curve(steps, suspected(search.parts, left, passing.blocks))
    if found is None:
        return None
    variant, asked = found
    explained = left & local.helped(variant, HELPED)
    if not explained.any():
        return None
    finding = Finding(
        names=(variant.name,),
        kind="misreading",
        about=in_words(asked, variant, steps),
        explains=int(explained.sum()),
        of=len(left),
        operator=search.parts[0].block.operator,
    )
    return finding, explained


def _in_order(placed: Iterable[Explained]) -> list[Explained]:
    return sorted(placed, key=lambda one: (not one.certain, bool(one.where), -int(one.cases.sum())))


def _told(one: Explained) -> bool:
    """Whether it is more than a number that was made to fit: that explains FITTED cases, or many states."""
    fitted = any("=" in variant.name for variant in one.variants)
    return not fitted or int(one.cases.sum()) >= FITTED or one.states >= FITTED_STATES


def _by_case(
    search: Search,
    rows: Sequence[tuple[str, str]],
    findings: Sequence[Finding],
    found: Sequence[Explanation],
) -> dict[str, Finding]:
    """By id, the simplest that explains a case: the fewest variants, and of equally few those that the
    findings name, then those that explain most.

    What others contradict is none of the findings. It may be right all the same of a case that asks for one
    thing alone: reverse is ignored, say, though bidirectional is computed.
    """
    known = {name for finding in findings for name in finding.names}
    order = sorted(
        found, key=lambda one: (len(one.names), not known.issuperset(one.names), -one.explains)
    )
    by_case: dict[str, Finding] = {}
    for one in order:
        new = [
            rows[row][1] for row in np.flatnonzero(one.mask).tolist() if rows[row][1] not in by_case
        ]
        if new:
            by_case |= dict.fromkeys(new, _finding(search, one, found))
    return by_case


def _finding(search: Search, one: Explanation, found: Sequence[Explanation]) -> Finding:
    variants = [variant_called(name) for name in one.names]
    alternatives = tuple(
        other.names
        for other in found
        if other.names != one.names
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
    about = "; and ".join(
        f"{v.about_for(OPERATORS[operator])}{ACCEPTED if v.kind == 'reading' else ''}"
        for v in variants
    )
    if one.names in search.loose:
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


def _silent(explained: Sequence[Names], owners: Collection[str]) -> tuple[str, ...]:
    """The ledger entries of the misreadings in all explanations, if each is a point that the texts of
    all `owners` are silent on."""
    variants = [variant_called(name) for names in explained for name in names]
    entries = [variant.ledger for variant in variants if variant.kind != "reading"]
    said = {entry for entry in entries if any(entry not in SILENT[owner] for owner in owners)}
    return () if said else tuple(dict.fromkeys(entries))

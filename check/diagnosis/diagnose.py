"""Diagnosis: the fewest misreadings that explain what failed.

Coarser arithmetic comes first, then what was never written (`unwritten`). A case is explained by a variant
of the GRU if what was observed is what the variant gives, within the tolerance, and not what was asked for
(`failing`). `search` tries the variants of the catalogue; `beyond` takes what they leave one step at a time,
and finds numbers and places. Chosen are the fewest that explain what any of them does (`explanations`), and
what is certain of them is tested against all cases that passed, and those that failed otherwise (`proof`).
What is left is compared with curves that are added to a function (`curves`). What is known of the rest stands
in `hints`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import UNLISTED, has_number
from ...gen.variants.restricted import DIRECTIONS, can_be_in_direction, in_direction
from ...gen.variants.variant import Variant
from .arithmetic import arithmetic_findings
from .beyond import candidates
from .contradictions import Passing
from .curves import find_other_function
from .explanations import explanations
from .failing import FailingBlock, any_of, by_part, elements
from .finding import (
    PARTLY,
    Diagnosis,
    Explanation,
    Finding,
    Names,
    finding_by_case,
    finding_of,
    in_order,
    names_of,
)
from .hints import Replies, answered_otherwise, hints
from .local import Local
from .proof import Proof
from .search import Search
from .unwritten import unwritten

FITTED_CASES, FITTED_STATES = 3, 24
"""Minimum cases, or states, that a fitted number explains: it has one degree of freedom, and rounding blurs
it."""
FEWEST_NUMBERS = 8
"""Minimum different numbers of fewer cases that make anything certain; shrunk cases tell little apart."""
MOST_OTHERS = 3
"""Maximum others that explain the same as well as what is uncertain; more of them name no mistake."""
MOST_TOGETHER = 8
"""Maximum variants of those found that are tried together."""
LOCAL_PARTS, LOCAL_ROWS, LOCAL_TRIED = 6, 2, 64
"""Maximum blocks, and cases of each, taken one step at a time; the work of each, in variants of it."""
MOST_BASES = 3
"""Maximum variants of those found to which a second mistake is sought, one step at a time."""
ROUNDS, TRIED = 2, 8
"""Maximum samples of the unexplained that are looked at beyond the catalogue in vain; as in `search`.
Maximum candidates of each that are tested against all cases; the best come first."""


def diagnose(
    parts: Sequence[FailingBlock],
    arithmetic: Mapping[str, str],
    passing: Passing,
    left_out: Sequence[tuple[str, str]] = (),
    replies: Replies | None = None,
) -> Diagnosis:
    """Find what explains the failing cases of `parts`.

    `left_out` are the dtypes and ids of more that failed. `arithmetic` is, by id, the best class of
    arithmetic that a failing case holds; `passing` are the cases that passed. What nothing explains is
    asked again, where `replies` says how.
    """
    rows = [(part.block.dtype, case_id) for part in parts for case_id in part.block.ids]
    rows += left_out
    if not rows:
        return Diagnosis()
    classes = [arithmetic.get(case_id, "") for _, case_id in rows]
    coarse = np.array([bool(name) for name in classes])
    coarser = list(arithmetic_findings(parts, rows, classes, passing.counts))
    which = ~any_of((cases for _, cases in coarser), len(rows))
    search = Search(parts, which)
    local = Local(parts, passing, len(rows))
    placed = _searched(search, local, coarse)
    if not passing.blocks:
        search.rivals([(v,) for v in UNLISTED.values()])
    found = explanations(search, placed, passing, which)
    chosen = Proof(parts, passing, local, which).chosen(found)
    if len(rows) < FITTED_CASES and _numbers(parts) < FEWEST_NUMBERS and not passing.blocks:
        chosen = [replace(one, certain=False) for one in chosen]
    chosen, notes = _asked_again(parts, chosen, replies)
    explained = ~which | any_of((one.mask for one in chosen if one.certain), len(rows))
    fitting = any_of((one.mask for one in chosen), len(rows))
    curved = find_other_function(local, ~explained, explained | fitting, passing)
    explained |= any_of((cases for _, cases in curved), len(rows))
    each = list[tuple[Finding, Array]]()
    least = max(1.0, PARTLY * len(rows))
    chosen = [one for one in chosen if one.certain or (one.mask & ~explained).sum() >= least]
    for one in _united(chosen):
        finding = finding_of(parts, one, found)
        if finding.certain or len(finding.alternatives) <= MOST_OTHERS:
            each.append((finding, one.mask))
            explained |= one.mask
    left = ~explained
    if not left[len(rows) - len(left_out) :].any():
        notes = notes or answered_otherwise(parts, left, replies)
        notes = [*notes, *hints(parts, left, passing, local)]
    each += [*curved, *coarser]
    return Diagnosis(
        findings=in_order(finding for finding, _ in each),
        failed=len(rows),
        unexplained_ids=frozenset(rows[row][1] for row in np.flatnonzero(left)),
        hints=notes,
        by_case=finding_by_case(rows, each),
        not_tried=int((left & search.passed_over).sum()),
    )


def _united(chosen: Sequence[Explanation]) -> list[Explanation]:
    """Make one of explanations that say the same of different cases: of outputs, and of steps alone."""
    united: dict[tuple[object, ...], Explanation] = {}
    for one in chosen:
        key = (one.names, one.where, one.certain)
        same = united.get(key)
        united[key] = replace(same, mask=same.mask | one.mask) if same else one
    return [*united.values()]


def _numbers(parts: Sequence[FailingBlock]) -> int:
    """Count the different numbers that were observed: an output repeats others, and zeros."""
    return sum(np.unique(elements(part.observed, 1)).size for part in parts)


def _asked_again(
    parts: Sequence[FailingBlock], chosen: Sequence[Explanation], replies: Replies | None
) -> tuple[list[Explanation], list[str]]:
    """Ask again what explanations explain in some place alone; return a hint, too.

    If a case gives other numbers then, the place may be a time: the explanation is uncertain.
    """
    found, notes = list(chosen), list[str]()
    for number, one in enumerate(chosen):
        asked = one.certain and one.where
        if asked and (other := answered_otherwise(parts, one.mask, replies)):
            found[number], notes = replace(one, certain=False, where=""), other
    return found, notes


def _searched(search: Search, local: Local, coarse: Array) -> list[Explanation]:
    """Try the catalogue, what is beyond it, and several at once; list what explains steps.

    `coarse` (n,) says which cases hold a class of arithmetic: several misreadings may hide in that.
    """
    filled: dict[bool, list[tuple[Variant, ...]]] = {False: [], True: []}
    for one in unwritten(search.parts):
        filled[any(has_number(v.name) for v in one)].append(one)
    search.each(filled[False])  # NaN, which nothing else gives
    search.which = which = search.which.copy()
    for part, mine in by_part(search.parts, which):
        mine &= part.holds_numbers
    search.each([(v,) for v in CATALOGUE.values() if v.kind in ("misreading", "approximation")])
    search.each([(v,) for v in UNLISTED.values() if not v.within_a_step])  # steps tell the others
    search.each(filled[True])  # what has another cause may be one number, too
    search.together(coarse, search.best(MOST_TOGETHER), 4)
    placed = _one_step_at_a_time(search, local)
    besides = coarse | _by_steps(placed, len(which))
    if search.left(besides).any():
        some = [v for v in search.best(MOST_TOGETHER) if can_be_in_direction(v)]
        search.each([(in_direction(v, place),) for v in some for place in DIRECTIONS])
    search.together(besides, search.best(MOST_TOGETHER), 4)
    listed = [v for v in CATALOGUE.values() if v.kind in ("misreading", "reading")]
    search.together(besides, [*search.best(MOST_TOGETHER), *listed], 3)
    return placed


def _one_step_at_a_time(search: Search, local: Local) -> list[Explanation]:
    """Find what explains the steps of failing cases that nothing explains as a whole."""
    placed: dict[Names, Explanation] = {}
    known = set[Names]()
    bases = _before_outputs(search.best(MOST_BASES))
    search.sampled[:] = False
    fruitless = 0
    while fruitless < ROUNDS:
        left = search.left(_by_steps(placed.values(), local.count))
        if not left.any():
            break
        others = left & ~search.sampled
        sample = search.sample(
            others if others.any() else left, LOCAL_PARTS, LOCAL_ROWS, LOCAL_TRIED
        )
        found = candidates(sample, bases)
        new = [variants for variants in found if names_of(variants) not in known][:TRIED]
        known |= set(map(names_of, new))
        search.each([one for one in new if not any(has_number(v.name) for v in one)])
        if not (left & search.unexplained).any():
            break
        tried = [one for one in map(local.explained, new) if one is not None and _told(one)]
        fruitless += not tried
        search.on_all([one.variants for one in tried])
        placed |= {one.names: one for one in tried if all(v.within_a_step for v in one.variants)}
        order = _best_first(placed.values())
        mine = [v for one in order for v in one.variants if not v.arithmetic]
        bases = _before_outputs([*mine, *search.best(MOST_BASES)])
    order = _best_first(placed.values())
    search.found = list({v.name: v for one in order for v in one.variants}.values())
    return order


def _before_outputs(variants: Iterable[Variant]) -> list[Variant]:
    """List the first variants that leave outputs as they are computed, each once."""
    inside = (v for v in variants if not (v.outputs or v.last))
    return list({v.name: v for v in inside}.values())[:MOST_BASES]


def _by_steps(placed: Iterable[Explanation], count: int) -> Array:
    """(count,) Find the cases of which steps are explained with certainty."""
    return any_of((one.mask for one in placed if one.certain), count)


def _best_first(placed: Iterable[Explanation]) -> list[Explanation]:
    return sorted(placed, key=lambda one: (not one.certain, bool(one.where), -one.explains))


def _told(one: Explanation) -> bool:
    """Say whether it is more than chance: certain without a number, or of many cases or states."""
    sure = one.certain and not any(map(has_number, one.names))
    return sure or one.explains >= FITTED_CASES or one.states >= FITTED_STATES

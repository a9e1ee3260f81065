"""Diagnosis: the fewest misreadings that explain what failed.

A case is explained by a variant of the GRU if what was observed is what the variant gives, within
the tolerance, and not what was asked for (`failing`). `search` tries variants; chosen here are the
fewest that explain what any of them does, and what is left is held against coarser arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...cases.operators.silent_points import SILENT
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...gen.variants.catalogue import CATALOGUE
from ...vectors.case import REQUIRED
from ..judging.one_reading import Mixed
from .failing import FailingBlock
from .hints import hints
from .search import Names, Search

_ACCEPTED = " (an accepted reading)"


@dataclass(frozen=True)
class Finding:
    """One explanation: `explains` of the `of` failing cases.

    `names` are those of the variants that explain together, or of the class of arithmetic; `kind` is
    misreading, approximation, reading or arithmetic. `alternatives` name variants that no failing
    case tells from them; `contradicted` counts the cases that would have shown it and passed.
    `operator` is that of a case it explains: sentences are in its words. `silent` names the ledger entries
    of what it gets wrong, if the texts are silent on all of that: the owner's runtime alone says so.
    """

    names: Names
    kind: str
    about: str
    explains: int
    of: int
    links: tuple[str, ...] = ()
    alternatives: tuple[Names, ...] = ()
    contradicted: int = 0
    operator: str = ""
    silent: tuple[str, ...] = ()

    @property
    def in_short(self) -> str:
        """What it says of mistakes: without the accepted readings that are followed besides."""
        besides = "; and ".join(
            f"{CATALOGUE[name].about_for(OPERATORS[self.operator])}{_ACCEPTED}"
            for name in self.names
            if name in CATALOGUE and CATALOGUE[name].kind == "reading"
        )
        if not besides:
            return self.about
        return self.about.replace(f"; and {besides}", "").replace(f"{besides}; and ", "")

    def sentence(self, names: Names) -> str:
        """What the variants called `names` say, in the operator's words."""
        operator = OPERATORS[self.operator]
        return " and ".join(CATALOGUE[one].about_for(operator) for one in names)


@dataclass(frozen=True)
class Diagnosis:
    """The findings, those that explain most first, how many failing cases none explains, and what
    those have in common. `by_case` has, by id, the simplest explanation of a case. `not_tried` of the
    unexplained were too large to be explained, or not looked at, or not for all that explains others."""

    findings: Sequence[Finding] = ()
    failed: int = 0
    unexplained: int = 0
    hints: Sequence[str] = ()
    by_case: Mapping[str, Finding] = field(default_factory=dict)
    not_tried: int = 0

    def with_mixed(self, mixed: Sequence[Mixed], cases: int) -> Diagnosis:
        """The diagnosis with the `cases` that failed because readings were not one."""
        if not mixed:
            return self
        failed = self.failed + cases
        more = [
            Finding(
                names=one.other or one.most,
                kind="reading",
                about=one.about,
                explains=one.deviating,
                of=failed,
                operator=one.operator,
            )
            for one in mixed
        ]
        before = [replace(finding, of=failed) for finding in self.findings]
        findings = sorted([*before, *more], key=lambda finding: -finding.explains)
        return replace(self, findings=findings, failed=failed)


def diagnose(
    parts: Sequence[FailingBlock],
    arithmetic: Mapping[str, str],
    contradicted: Callable[[Collection[str]], Mapping[str, int]],
    left_out: Sequence[tuple[str, str]] = (),
) -> Diagnosis:
    """What explains the failing cases of `parts`; `left_out` are the dtypes and ids of more that failed.

    `arithmetic` is, by id, the best class of arithmetic that a failing case holds; `contradicted` counts,
    for the variants of some names, the cases that would have caught them and passed.
    """
    rows = [(part.block.dtype, case_id) for part in parts for case_id in part.block.ids]
    rows += left_out
    if not rows:
        return Diagnosis()
    held = [arithmetic.get(case_id, "") for _, case_id in rows]
    sound = np.array([_sound(dtype, name) for (dtype, _), name in zip(rows, held, strict=True)])
    coarse = np.array([bool(name) for name in held])
    search = Search(parts, ~sound)
    search.singles()
    search.together(~coarse)
    search.loosely(~coarse)
    passed = contradicted({name for names in search.distances for name in names})
    chosen = _fewest(search.distances, passed, ~sound)
    findings = [_finding(search, names, passed, ~sound) for names in chosen]
    by_case = _by_case(search, rows, findings, ~sound)
    explained = np.zeros(len(rows), bool)
    for names in chosen:
        explained |= search.distances[names] <= 1.0
    findings += _arithmetic(rows, held, ~explained | sound)
    findings.sort(key=lambda finding: -finding.explains)
    left = ~(explained | coarse)
    common = [] if left[len(rows) - len(left_out) :].any() else hints(parts, left)
    not_tried = int((left & search.passed_over).sum())
    return Diagnosis(findings, len(rows), int(left.sum()), common, by_case, not_tried)


def _by_case(
    search: Search, rows: Sequence[tuple[str, str]], findings: Sequence[Finding], which: Array
) -> dict[str, Finding]:
    """By id, the simplest that explains a case of `which`: the fewest variants, and of equally few those that
    the findings name, then those that explain most.

    What others contradict is none of the findings. It may be right all the same of a case that asks for one
    thing alone: reverse is ignored, say, though bidirectional is computed.
    """
    known = {name for finding in findings for name in finding.names}
    masks = {names: (d <= 1.0) & which for names, d in search.distances.items()}
    order = sorted(masks, key=lambda n: (len(n), not known.issuperset(n), -int(masks[n].sum())))
    found: dict[str, Finding] = {}
    for names in order:
        new = [
            rows[row][1]
            for row in np.flatnonzero(masks[names]).tolist()
            if rows[row][1] not in found
        ]
        if new:
            found |= dict.fromkeys(new, _finding(search, names, {}, which))
    return found


def _sound(dtype: str, name: str) -> bool:
    """Whether a case that holds the class `name` is as good as its dtype must be by default: it failed
    by a criterion that is tighter."""
    names = [one.name for one in CHAINS[dtype][0]]
    return name in names[: names.index(REQUIRED[dtype]) + 1]


def _fewest(
    distances: Mapping[Names, Array], passed: Mapping[str, int], which: Array
) -> list[Names]:
    """The fewest explanations that together explain what all of them do, of the cases `which`.

    Of equally many, those with fewer variants, with fewer cases that contradict them, that explain more
    cases, and nearer. What explains less than half, and passed more often than it explains, is a coincidence.
    """
    masks = {names: (distance <= 1.0) & which for names, distance in distances.items()}
    masks = {
        names: mask
        for names, mask in masks.items()
        if mask.sum() > which.sum() / 2 or mask.sum() > _contradicted(names, passed)
    }
    if not masks:
        return []
    order = sorted(masks, key=lambda names: _rank(names, masks[names], distances[names], passed))
    whole = np.any(list(masks.values()), axis=0)
    for size in (1, 2, 3):
        tried = order[: (len(order), 60, 24)[size - 1]]
        for chosen in combinations(tried, size):
            if (np.any([masks[names] for names in chosen], axis=0) == whole).all():
                return list(chosen)
    return list(_greedily(order, masks, whole))


def _greedily(
    order: Sequence[Names], masks: Mapping[Names, Array], whole: Array
) -> Iterator[Names]:
    left = whole.copy()
    while left.any():
        best = max(order, key=lambda names: int((masks[names] & left).sum()))
        yield best
        left &= ~masks[best]


def _cost(names: Names, distance: Array, passed: Mapping[str, int]) -> tuple[float, ...]:
    near = distance[distance <= 1.0]
    return (len(names), _contradicted(names, passed), float(np.median(near)))


def _rank(
    names: Names, mask: Array, distance: Array, passed: Mapping[str, int]
) -> tuple[float, ...]:
    variants, contradicted, near = _cost(names, distance, passed)
    return (variants, contradicted, -int(mask.sum()), near)


def _contradicted(names: Names, passed: Mapping[str, int]) -> int:
    return max(passed.get(name, 0) for name in names)


def _finding(search: Search, names: Names, passed: Mapping[str, int], which: Array) -> Finding:
    distance = search.distances[names]
    mask = (distance <= 1.0) & which
    variants = [CATALOGUE[name] for name in names]
    mine = _cost(names, distance, passed)
    alternatives = []
    for other, others in search.distances.items():
        if (
            other != names
            and len(other) == len(names)
            and (((others <= 1.0) & which) == mask).all()
        ):
            cost = _cost(other, others, passed)
            if cost[1] <= mine[1] and cost[2] <= 4.0 * mine[2] + 1e-3:
                alternatives.append(other)
    operators = [part.block.operator for part in search.parts for _ in range(len(part))]
    explained = [operators[row] for row in np.flatnonzero(mask)]
    whole = [o for o in explained if all(v.means_something_for(OPERATORS[o]) for v in variants)]
    operator = (whole or explained)[0]
    about = "; and ".join(
        f"{v.about_for(OPERATORS[operator])}{_ACCEPTED if v.kind == 'reading' else ''}"
        for v in variants
    )
    if names in search.loose:
        about += (
            ", some of it in coarse arithmetic" if search.loose[names] else ", in coarse arithmetic"
        )
    return Finding(
        names=names,
        kind=variants[0].kind,
        about=about,
        explains=int(mask.sum()),
        of=len(mask),
        links=tuple(dict.fromkeys(link for v in variants for link in v.links)),
        alternatives=tuple(alternatives),
        contradicted=_contradicted(names, passed),
        operator=operator,
        silent=_silent((names, *alternatives), {OPERATORS[one].owner for one in explained}),
    )


def _silent(explanations: Sequence[Names], owners: Collection[str]) -> tuple[str, ...]:
    """The ledger entries of the misreadings in all `explanations`, if each is a point that the texts of
    all `owners` are silent on."""
    variants = [CATALOGUE[name] for names in explanations for name in names]
    entries = [variant.ledger for variant in variants if variant.kind != "reading"]
    said = {entry for entry in entries if any(entry not in SILENT[owner] for owner in owners)}
    return () if said else tuple(dict.fromkeys(entries))


def _arithmetic(
    rows: Sequence[tuple[str, str]], held: Sequence[str], left: Array
) -> Iterator[Finding]:
    """Per dtype, the class of arithmetic that the cases that are left hold."""
    for dtype, classes in CLASSES.items():
        mine = [
            name
            for (kind, _), name, wanted in zip(rows, held, left, strict=True)
            if wanted and kind == dtype and name
        ]
        if not mine:
            continue
        coarsest = max((one for one in classes if one.name in mine), key=classes.index)
        about = f"{dtype} computed in {coarsest.name} arithmetic"
        if _sound(dtype, coarsest.name):
            about = f"{dtype} as good as {coarsest.name} arithmetic, but less than was demanded"
        elif coarsest.unit < max(coarsest.elementwise, coarsest.operands, coarsest.state):
            about += ", or an error as large as that admits"
        yield Finding((coarsest.name,), "arithmetic", about, len(mine), len(rows))

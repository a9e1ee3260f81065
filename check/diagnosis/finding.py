"""What explains failures, what a diagnosis says of it in words, and what is left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...cases.operators.readings import READINGS, SILENT
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import has_number, variant_called
from ...gen.variants.variant import Variant
from ..judging.judge import Mixed
from .failing import FailingBlock

Names = tuple[str, ...]
"""The names of variants that explain together."""
ACCEPTED = " (an accepted reading)"
ASKED_AGAIN = "asked-again"
"""The name, and the kind, of the finding that right cases go wrong when they are asked again."""
ON_MORE = "the answer depends on more than the question"
ON_ROWS = "a row's answer depends on more than that row"
"""What it means that questions, or their rows beside others, give other numbers when they are asked again."""
NOT_THE_MODULE = "not-the-module"
"""The name, and the kind, of the finding that an exported file has something else than its module."""
NO_VARIANTS = ("arithmetic", ASKED_AGAIN, NOT_THE_MODULE)
"""The kinds of findings whose names are not those of variants."""
PARTLY = 0.05
"""Maximum passing cases that contradict an explanation, by those it explains: a few pass by chance.
Minimum that one explains, by all that nothing certain does: less may be another mistake in part."""


def names_of(variants: Sequence[Variant]) -> Names:
    """List the names of variants, in their order."""
    return tuple(variant.name for variant in variants)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Variants that explain the cases of `mask` (n,) of those that failed.

    `near` is the median of the distances; `contradicted` of the passing cases would have shown it. `where`
    names the only cases or places that show it, "" for everywhere. It is `certain` unless other cases speak
    against it. What was found one step at a time gives `states` states that are wrong by themselves.
    """

    names: Names
    mask: Array
    near: float = 0.5
    contradicted: int = 0
    where: str = ""
    certain: bool = True
    states: int = 0

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of these names."""
        return tuple(map(variant_called, self.names))

    @property
    def explains(self) -> int:
        """How many cases it explains."""
        return int(self.mask.sum())

    @property
    def parts(self) -> int:
        """How many variants it has besides the first, and fitted numbers."""
        return len(self.names) - 1 + any(map(has_number, self.names))

    @property
    def rank(self) -> tuple[float, ...]:
        """A key that sorts the best first: what is certain, has few variants, and is least contradicted.

        Then what is so everywhere, explains more, is in the catalogue without a number, and is nearer.
        """
        unlisted = sum((name not in CATALOGUE) + has_number(name) for name in self.names)
        return (
            not self.certain,
            len(self.names),
            self.contradicted,
            bool(self.where) or any("@" in name for name in self.names),
            -self.explains,
            unlisted,
            self.near,
        )


@dataclass(frozen=True)
class Finding:
    """One explanation: it explains `explains` of the `of` failing cases.

    `names` are those of the variants that explain together, or of the class of arithmetic; `kind` is a
    variant's, or one of NO_VARIANTS. `where` says in which cases or places it is so, "" for everywhere. It is
    `certain` unless other cases speak against it. `alternatives` name variants that explain the same cases;
    `contradicted` counts the cases that passed and would have shown it. `operator` is that of a case it
    explains: sentences are in its words. `silent` names the ledger entries of what it gets wrong, if the
    texts are silent on all of that.
    """

    names: Names
    kind: str
    about: str
    explains: int
    of: int
    where: str = ""
    certain: bool = True
    links: tuple[str, ...] = ()
    alternatives: tuple[Names, ...] = ()
    contradicted: int = 0
    operator: str = ""
    silent: tuple[str, ...] = ()

    @property
    def not_everywhere(self) -> bool:
        """Whether many cases passed that would show it, and no place sets them apart."""
        return self.contradicted > PARTLY * self.explains and not self.where

    @property
    def in_short(self) -> str:
        """The mistakes in words, without the accepted readings that are followed besides."""
        besides = "; and ".join(
            f"{self.sentence((name,))}{ACCEPTED}" for name in self.names if name in READINGS
        )
        if not besides:
            return self.about
        return self.about.replace(f"; and {besides}", "").replace(f"{besides}; and ", "")

    def sentence(self, names: Names) -> str:
        """Put the variants called `names` in the operator's words."""
        operator = OPERATORS[self.operator]
        return " and ".join(variant_called(one).about_for(operator) for one in names)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: the certain ones first, then those that explain most."""
    return sorted(findings, key=lambda finding: (not finding.certain, -finding.explains))


@dataclass(frozen=True)
class Diagnosis:
    """The findings `in_order`, the ids of the failing cases that none explains, and hints on these.

    `by_case` has, by id, the finding that a case is counted under. `not_tried` of the unexplained were too
    large, or not looked at. `unanswered` says, by id, where cases are that gave no outputs, and those that
    were answered are not. `broke_off` is an error of grucible's own that ended the diagnosis, or "".
    """

    findings: Sequence[Finding] = ()
    failed: int = 0
    unexplained_ids: frozenset[str] = frozenset()
    hints: Sequence[str] = ()
    by_case: Mapping[str, Finding] = field(default_factory=dict)
    not_tried: int = 0
    unanswered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    broke_off: str = ""

    @property
    def unexplained(self) -> int:
        """How many failing cases nothing explains."""
        return len(self.unexplained_ids)

    def with_mixed(self, mixed: Sequence[Mixed], cases: int) -> Diagnosis:
        """Add the `cases` that failed because readings were not one."""
        more = [
            Finding(
                names=one.other or one.most,
                kind="reading",
                about=one.about,
                explains=one.deviating,
                of=cases,
                operator=one.operator,
            )
            for one in mixed
        ]
        return self.with_more(more, cases)

    def with_more(
        self, more: Sequence[Finding], cases: int, by_case: Mapping[str, Finding] | None = None
    ) -> Diagnosis:
        """Add findings on `cases` that failed besides; `by_case` are explanations of these by id."""
        failed = self.failed + cases
        findings = [replace(finding, of=failed) for finding in (*self.findings, *more)]
        known = {**self.by_case, **(by_case or {})}
        return replace(self, findings=in_order(findings), failed=failed, by_case=known)


def finding_by_case(
    rows: Sequence[tuple[str, str]], each: Iterable[tuple[Finding, Array]]
) -> dict[str, Finding]:
    """Find for each case, by id, the simplest finding that explains it, a certain one if there is one.

    `rows` are dtypes and ids; beside each finding stand its cases (n,).
    """
    by_case: dict[str, Finding] = {}
    for finding, mask in sorted(each, key=lambda one: (not one[0].certain, len(one[0].names))):
        for row in np.flatnonzero(mask).tolist():
            by_case.setdefault(rows[row][1], finding)
    return by_case


def finding_of(
    parts: Sequence[FailingBlock], one: Explanation, found: Sequence[Explanation]
) -> Finding:
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
    operators = [part.block.operator for part in parts for _ in range(len(part))]
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

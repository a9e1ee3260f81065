"""What a diagnosis says: its findings, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import has_number, variant_called
from ...gen.variants.variant import Variant
from ..judging.judge import Mixed

Names = tuple[str, ...]
"""The names of variants that explain together."""
ACCEPTED = " (an accepted reading)"
ASKED_AGAIN = "asked-again"
"""The name, and the kind, of the finding that right cases go wrong when they are asked again."""
NO_VARIANTS = ("arithmetic", ASKED_AGAIN)
"""The kinds of findings whose names are not those of variants."""
PARTLY = 0.05
"""Maximum passing cases that contradict an explanation, by those it explains: a few pass by chance."""


def names_of(variants: Sequence[Variant]) -> Names:
    """List the names of variants, in their order."""
    return tuple(variant.name for variant in variants)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Variants that explain the cases of `mask` (n,) of those that failed.

    `near` is the median of the distances; `contradicted` of the passing cases would have shown it. `where`
    names the only cases or places that show it, "" for everywhere. It is `certain` unless other cases speak
    against it. What was found one step at a time gives so many `states` that are wrong by themselves.
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
            bool(self.where),
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
            f"{self.sentence((name,))}{ACCEPTED}"
            for name in self.names
            if self.kind not in NO_VARIANTS and variant_called(name).kind == "reading"
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

    `by_case` has, by id, the simplest explanation of a case. `not_tried` of the unexplained were too large,
    or not looked at. `unanswered` says, by id, where cases are that gave no outputs, and answered cases are
    not. `broke_off` is an error of grucible's own that ended the diagnosis, or "".
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

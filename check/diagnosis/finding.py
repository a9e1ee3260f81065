"""What a diagnosis says: its findings, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...cases.operators.known import OPERATORS
from ...gen.variants.known import variant_called
from ...gen.variants.variant import Variant
from ..judging.one_reading import Mixed

Names = tuple[str, ...]
"""The names of variants that explain together."""
ACCEPTED = " (an accepted reading)"


def names_of(variants: Sequence[Variant]) -> Names:
    """The names of variants, in their order."""
    return tuple(variant.name for variant in variants)


@dataclass(frozen=True)
class Finding:
    """One explanation: `explains` of the `of` failing cases.

    `names` are those of the variants that explain together, or of the class of arithmetic; `kind` is
    misreading, approximation, reading or arithmetic. `where` says in which cases or places it is so, "" for
    everywhere. `alternatives` name variants that no failing case tells from them; `contradicted` counts the
    cases that would have shown it and passed. What is not `certain` may be so: it explains what failed, but
    not why other cases pass. `operator` is that of a case it explains: sentences are in its words. `silent`
    names the ledger entries of what it gets wrong, if the texts are silent on all of that: the owner's
    runtime alone says so.
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
    def in_short(self) -> str:
        """What it says of mistakes: without the accepted readings that are followed besides."""
        besides = "; and ".join(
            f"{self.sentence((name,))}{ACCEPTED}"
            for name in self.names
            if self.kind != "arithmetic" and variant_called(name).kind == "reading"
        )
        if not besides:
            return self.about
        return self.about.replace(f"; and {besides}", "").replace(f"{besides}; and ", "")

    def sentence(self, names: Names) -> str:
        """What the variants called `names` say, in the operator's words."""
        operator = OPERATORS[self.operator]
        return " and ".join(variant_called(one).about_for(operator) for one in names)


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

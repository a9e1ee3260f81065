"""The grouping of failures: by the mistake that explains them, and whether they are expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from ..cases.dtypes import FLOAT_TYPES
from ..cases.operators.readings import without_readings
from ..cases.question import Question
from ..cases.selection import AND, matches
from ..gen.variants.known import variant_called
from ..vectors.block import Block
from .diagnosis.failing import FailingBlock
from .diagnosis.finding import NO_VARIANTS, Diagnosis, Finding
from .expecting import apply_expectation, find_explaining
from .judging.case_result import CaseResult
from .judging.expectations import UNEXPLAINED, Expectation, of_invalid
from .shrink import Shrunk, whole_id

MOST_FINDINGS, KEPT, KEPT_BYTES = 64, 3, 1 << 20
"""Maximum findings, cases of each that are kept, and bytes of all but the smallest of these."""
MORE = "more kinds of failures, which are only counted"


@dataclass
class FuzzFinding:
    """One way in which a runtime went wrong, in `count` cases; a few small ones are kept.

    `diagnosis` is what explains wrong numbers, None where nothing does and for errors. `where` counts by
    operator and dtype; `expected` has for each the first expectation that is met there. It is `new` if
    none is.
    """

    about: str
    diagnosis: Finding | None
    new: bool
    count: int = 0
    cases: list[tuple[Block, CaseResult]] = field(default_factory=list)
    where: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: dict[tuple[str, str], Expectation] = field(default_factory=dict)
    shrunk: list[Shrunk] = field(default_factory=list)
    read: list[CaseResult] = field(default_factory=list)
    """What was found of cases whose blocks are not here: a report of them was read."""
    looks_like: dict[str, None] = field(default_factory=dict)
    """What explains shrunk cases, where nothing explains the larger ones."""
    hints: Sequence[str] = ()
    """What is true of the first cases that nothing explains."""
    unsteady: str = ""
    """Why a case could not be shrunk: perhaps it does not fail again."""

    @property
    def results(self) -> list[CaseResult]:
        """What was found of the smallest cases: the shrunk ones, if there are some."""
        shrunk = [one.result for one in self.shrunk]
        return shrunk or [result for _, result in self.cases] or self.read

    def merge(self, other: FuzzFinding) -> None:
        """Add the cases of the same finding from elsewhere."""
        self.count += other.count
        self.where.update(other.where)
        self.expected = other.expected | self.expected
        self.shrunk += other.shrunk
        self.read = [*self.read, *other.read][:KEPT]
        self.looks_like |= other.looks_like
        self.hints = self.hints or other.hints
        self.unsteady = self.unsteady or other.unsteady
        self.keep(other.cases)

    def keep(self, cases: Iterable[tuple[Block, CaseResult]]) -> None:
        """Keep cases if they are small, or the smallest."""
        self.cases += cases
        self.cases.sort(key=lambda kept: kept[0].nbytes)
        self.cases[1:] = [kept for kept in self.cases[1:KEPT] if kept[0].nbytes <= KEPT_BYTES]

    def questions(self) -> Iterator[Question]:
        """Yield the questions to keep: shrunk ones first, then those that were not shrunk."""
        yield from (one.question for one in self.shrunk)
        for block, _ in self.cases[len(self.shrunk) :]:
            yield replace(block.question(0), id=whole_id(block.ids[0]))


class Findings(dict[tuple[object, bool], FuzzFinding]):
    """Findings by a key and whether they are expected: by one of `expectations`, as fuzzing reads them."""

    def __init__(self, expectations: Sequence[Expectation] = ()) -> None:
        super().__init__()
        self._expected = [pair for one in expectations for pair in _readings(one)]

    @property
    def new(self) -> list[FuzzFinding]:
        """The findings that no expectation holds for, the most frequent first."""
        return sorted((one for one in self.values() if one.new), key=lambda one: -one.count)

    def add(
        self, key: object, about: str, block: Block | None, result: CaseResult,
        diagnosis: Finding | None = None, part: FailingBlock | None = None, count: int = 1,
    ) -> None:  # fmt: skip
        """Count a case that went wrong as one of the finding `key`; keep it if it is small.

        What is expected is a finding of its own.
        """
        place = result.operator, result.dtype
        known = self.get((key, True))
        expected = known.expected.get(place) if known and diagnosis else None
        if not (expected and {*without_readings(diagnosis.names)} <= {*expected.diagnosis}):  # type: ignore[union-attr]
            expected = self.expectation(result, diagnosis, part)
        if (key, expected is not None) not in self and len(self) >= MOST_FINDINGS:
            key, about, diagnosis = MORE, MORE, None
        one = self.setdefault(
            (key, expected is not None), FuzzFinding(about, diagnosis, expected is None)
        )
        one.count += count
        one.where[place] += count
        if expected:
            one.expected.setdefault(place, expected)
        one.keep([(block, result)] if block else [])
        one.read += [] if block else [result]

    def merge(self, other: Mapping[tuple[object, bool], FuzzFinding]) -> None:
        """Add findings from elsewhere to those of the same key."""
        for (key, expected), one in other.items():
            if (key, expected) not in self and len(self) >= MOST_FINDINGS:
                key, one = MORE, replace(one, about=MORE, diagnosis=None)
            if mine := self.get((key, expected)):
                mine.merge(one)
            else:
                self[key, expected] = one

    def expectation(
        self, result: CaseResult, diagnosis: Finding | None, part: FailingBlock | None
    ) -> Expectation | None:
        """Find the first expectation that holds for a failure of this operator and dtype, or several at once.

        What no diagnosis explains is expected if expected misreadings give it.
        """
        found = Diagnosis(by_case={result.id: diagnosis} if diagnosis else {})
        row = (part, 0) if part else None
        known = dict[str, Expectation]()
        for one in (one for glob, one in self._expected if matches(result.id, glob)):
            if apply_expectation(result, one, found, row).expected:
                return one
            known |= dict.fromkeys((n for n in one.diagnosis if n not in known), one)
        names = without_readings(diagnosis.names) if diagnosis else ()
        if part and known and not (names and known.keys() >= {*names}):
            names = find_explaining(known, part, 0)
        if not names or not known.keys() >= {*names}:
            return None
        reasons = dict.fromkeys(known[name].reason for name in names)
        return replace(known[names[0]], reason="; ".join(reasons), diagnosis=names)

    def take_known(
        self, part: FailingBlock, results: Mapping[str, CaseResult]
    ) -> Iterator[FailingBlock]:
        """Count the cases that a finding explains that is known; yield a part of the others, if any."""
        left = np.ones(len(part), bool)
        known = {key: one for (key, _), one in self.items()}
        for key, one in known.items():
            if one.diagnosis is None or not left.any():
                continue
            names = one.diagnosis.names
            if one.diagnosis.kind == "arithmetic":
                mine = np.array([names[0] in results[case_id].holds for case_id in part.block.ids])
            elif one.diagnosis.kind in NO_VARIANTS:
                continue
            else:
                try:
                    variants = [variant_called(name) for name in names]
                except (LookupError, ValueError):
                    continue
                mine = part.distances([variants], known=True)[0] <= 1.0
            for row in np.flatnonzero(mine & left).tolist():
                alone = part.rows(np.array([row]))
                self.add(
                    key, one.about, alone.block, results[part.block.ids[row]], one.diagnosis, alone
                )
            left &= ~mine
        if left.any():
            yield part.rows(left)


def singles(parts: Iterable[FailingBlock]) -> Iterator[FailingBlock]:
    """Yield the cases of parts one by one."""
    return (part.rows(np.array([row])) for part in parts for row in range(len(part)))


def _readings(one: Expectation) -> Sequence[tuple[str, Expectation]]:
    """List the globs of an expectation: as it is written and, if it says how cases fail, a wide one.

    Each has with it what is expected there. Any wrong numbers are expected only of what is written.
    """
    names = tuple(name for name in one.diagnosis if name != UNEXPLAINED)
    known = replace(one, diagnosis=names)
    wide = known.says_how and not of_invalid(one)
    return [(one.cases, one), *([(_widen(one.cases), known)] if wide else [])]


def _widen(glob: str) -> str:
    """Leave all out of a glob but operator and dtype: a known finding has any other ids here."""
    found = []
    for one in glob.split(AND):
        operator, *parts = one.split("/")
        dtype = (
            parts[-2]
            if len(parts) > 1 and any(fnmatchcase(d, parts[-2]) for d in FLOAT_TYPES)
            else "*"
        )
        found.append(f"{operator}/*/{dtype}/*" if parts else "*")
    return AND.join(found)

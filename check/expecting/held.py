"""Whether what went wrong is what was expected of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...cases.errors import GrucibleError
from ...gen.variants.known import variant_called
from ..diagnosis.failing import FailingBlock
from ..diagnosis.finding import Diagnosis
from ..judging.case_result import CaseResult
from ..judging.expectations import Expectation, Expectations, Instead, check_globs, says
from ..judging.sayable import UNEXPLAINED

_MOST_SAID = 200
_MOST_TRIED = 6
"""So many misreadings that are expected are tried, alone and together, on a case others were named for."""


class Held:
    """Holds cases that went wrong against what is expected of them.

    `diagnosis` says what explains them, and `failing` has those that failed with what was observed, so that
    a misreading that explains a case counts, though another one is named for all that failed together. Where
    nobody `looked` for what explains them, any misreading may.
    """

    def __init__(
        self,
        expectations: Sequence[Expectation],
        diagnosis: Diagnosis,
        failing: Sequence[FailingBlock],
        *,
        looked: bool = True,
    ) -> None:
        self._looked = looked
        self._known = Expectations(expectations)
        self._diagnosis = diagnosis
        self._failing = {
            case_id: (part, row) for part in failing for row, case_id in enumerate(part.block.ids)
        }

    def result(self, result: CaseResult) -> CaseResult:
        """The result with the expectation that names the case, or with what was seen instead of it."""
        one = self._known.of(result.id)
        if one is None:
            return result
        if not result.wrong or self._as_expected(result, one):
            return replace(result, expected=one)
        return replace(result, instead=Instead(one, self._seen(result)))

    def _as_expected(self, result: CaseResult, one: Expectation) -> bool:
        numbers = result.verdict == "failed"
        return (
            not one.says_how
            or not set(one.observed).isdisjoint(result.holds)
            or (not numbers and says(result.message, one.message))
            or (numbers and bool(one.diagnosis) and self._explained(result.id, one.diagnosis))
        )

    def _explained(self, case_id: str, expected: Sequence[str]) -> bool:
        """Whether wrong numbers are those of one of the misreadings, or of several of them together."""
        if UNEXPLAINED in expected or not self._looked:
            return True
        found = self._diagnosis.by_case.get(case_id)
        if found and any(set(one) <= set(expected) for one in (found.names, *found.alternatives)):
            return True
        if case_id not in self._failing:
            return False
        part, row = self._failing[case_id]
        variants = [variant_called(name) for name in expected[:_MOST_TRIED]]
        tried = [some for n in range(1, len(variants) + 1) for some in combinations(variants, n)]
        alone = part.rows(np.array([row]))
        return any((alone.distances(tried, loose=loose) <= 1.0).any() for loose in (False, True))

    def _seen(self, result: CaseResult) -> str:
        """How a case went wrong, in words."""
        if result.verdict == "unsupported":
            return f"unsupported, {_quoted(result.message)}"
        if result.verdict == "error":
            crashed = result.fault and result.fault.kind == "crashed"
            return f"{'a crash' if crashed else 'an error'}, {_quoted(result.message)}"
        found = self._diagnosis.by_case.get(result.id)
        if found:
            return f"diagnosis {' and '.join(found.names)}"
        if result.holds:
            return f"observed {result.arithmetic}"
        return f"wrong numbers, {_quoted(result.message)}"


def check_expectations(expectations: Sequence[Expectation], *, diagnosed: bool) -> None:
    """Raise GrucibleError for more globs than may be given and, where failures are not to be `diagnosed`, for
    an expectation that only a diagnosis could hold against what failed."""
    check_globs(expectations)
    for one in expectations:
        if one.diagnosis and not diagnosed:
            place = f"{one.place}: " if one.place else ""
            raise GrucibleError(
                f"{place}expects diagnosis {one.diagnosis[0]} of {one.cases!r}, and failures are not to be "
                "diagnosed; leave --no-diagnose out"
            )


def _quoted(message: str) -> str:
    words = " ".join(message.split())
    return f'"{words if len(words) <= _MOST_SAID else words[:_MOST_SAID] + "…"}"'

"""What a case that goes wrong does, so that a smaller one can be said to do the same."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cases.console import format_own_error
from ...cases.errors import GrucibleError
from ...cases.operators.known import OPERATORS
from ...gen.variants.known import variant_called
from ...gen.variants.variant import Variant
from ...gen.variants.work import too_large
from ...vectors.block import Block
from ..diagnosis.contradictions import Passing
from ..diagnosis.diagnose import diagnose
from ..diagnosis.failing import FailingBlock
from ..diagnosis.finding import Diagnosis
from ..diagnosis.local import Local
from ..judging.case_result import ANSWERED, CaseResult
from ..judging.criterion import Criterion
from ..judging.judge import judge_one
from ..observed.source import Observed, Source, at_the_end
from ..reports.text import mask

CLEARLY = 4.0
"""A smaller case is off by so many tolerances at least, or by as many as the first one."""


@dataclass(frozen=True)
class Failure:
    """What became of a case: its `result`, and the variants of the GRU that explain it, if any do."""

    result: CaseResult
    variants: tuple[Variant, ...] = ()

    @property
    def looks_like(self) -> str:
        """What explains it, in words."""
        operator = OPERATORS[self.result.operator]
        return "; and ".join(variant.about_for(operator) for variant in self.variants)


class Trials:
    """What a source says to a question, held against the exact answer, by the criteria of each dtype.

    Where the case is wrong in nothing but how the source ends, it ends after every question.
    """

    def __init__(self, source: Source, criteria: Mapping[str, Criterion]) -> None:
        self._source, self._criteria = source, criteria
        self._ends = False
        self.asked = 0
        """How many questions were asked."""
        self.broke_off = ""
        """What is said of an error of grucible's own, where one ended the search for what explains a case."""

    def failure(self, block: Block) -> Failure | None:
        """What is wrong with the case of a block of one, and what explains it; None where it passes, is
        unsupported, or does not decide."""
        result, observed = self._judged(block)
        if not _wrong(result):
            self._ends = True
            result, observed = self._ended(block, result, observed)
        if not _wrong(result):
            return None
        if result.verdict != "failed" or too_large(block.question(0)):
            return Failure(result)
        part = FailingBlock(block, observed.outputs, self._criteria[block.dtype])
        found = Diagnosis()
        with self._explaining():
            found = diagnose([part], {result.id: result.arithmetic}, Passing([]))
        finding = found.by_case.get(result.id)
        if finding is None or finding.kind == "arithmetic" or not finding.certain:
            return Failure(result)
        return Failure(result, tuple(map(variant_called, finding.names)))

    def same(self, block: Block, first: Failure) -> CaseResult | None:
        """The result of the case of a block of one, if it fails as the first one does: by the same kind of
        message, or off by the same variants, or, where none explains it, clearly off and in the same way
        finite."""
        result, observed = self._judged(block)
        return result if self._alike(block, result, observed, first) else None

    def ask_again(self, block: Block, first: Failure) -> None:
        """Raise GrucibleError where the case of a block of one does not fail as the first one does when it is
        asked again. Of an error any other will do: a death is told otherwise by who is asked next."""
        result, observed = self._judged(block)
        alike = self._alike(block, result, observed, first)
        either = self.broke_off or result.verdict == first.result.verdict == "error"
        if not (alike or (either and _wrong(result))):
            told = {"passed": "passed", "failed": "failed otherwise"}
            said = told.get(result.verdict, f"was {result.verdict}")
            raise GrucibleError(
                f"{result.id} failed once, and {said} when it was asked again: the answer depends on more "
                "than the question, and nothing is written"
            )

    def _alike(self, block: Block, result: CaseResult, observed: Observed, first: Failure) -> bool:
        before = first.result
        if not _wrong(result) or result.verdict != before.verdict:
            return False
        if result.verdict != "failed":
            kinds = [one.fault.kind if one.fault else "" for one in (result, before)]
            return kinds[0] == kinds[1] and mask(result.message) == mask(before.message)
        if result.worst_ratio < min(CLEARLY, before.worst_ratio):
            return False
        if math.isfinite(result.worst_abs) != math.isfinite(before.worst_abs):
            return False
        part = FailingBlock(block, observed.outputs, self._criteria[block.dtype])
        alike = not first.variants
        if first.variants:
            with self._explaining():
                alike = _explained(part, first.variants)
        return alike

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """While what explains a case is looked for: an error of grucible's own means that nothing is found,
        and what is known by then stands."""
        try:
            yield
        except (GrucibleError, OSError):
            raise  # a runtime or a file: the user can mend it
        except Exception as error:
            self.broke_off = (
                f"the diagnosis broke off, and what was found stands: {format_own_error(error)}"
            )

    def _judged(self, block: Block) -> tuple[CaseResult, Observed]:
        self.asked += 1
        observed = self._source.ask("", block)()
        result = judge_one(block, observed, self._criteria[block.dtype])
        return self._ended(block, result, observed) if self._ends else (result, observed)

    def _ended(
        self, block: Block, result: CaseResult, observed: Observed
    ) -> tuple[CaseResult, Observed]:
        """The same when the source has ended."""
        if result.verdict in ANSWERED:
            observed = at_the_end(self._source, block, observed)
            result = judge_one(block, observed, self._criteria[block.dtype])
        return result, observed


def _explained(part: FailingBlock, variants: tuple[Variant, ...]) -> bool:
    """Whether variants explain the one case of a part: as a whole, or one step at a time."""
    if part.distances([variants])[0, 0] <= 1.0:
        return True
    found = Local([part], Passing([]), 1, 4 * part.work).explained(variants)
    return found is not None and bool(found.cases[0])


def _wrong(result: CaseResult) -> bool:
    return result.decides and result.verdict in ("failed", "error")

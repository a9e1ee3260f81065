"""The judgment of one case by itself, for use in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..cases.console import escape
from ..cases.errors import GrucibleError, expected, texts
from ..cases.operators.readings import STORED, ReadingNames
from ..vectors.block import Block, block_of
from ..vectors.case import Answer, Case
from .judging.case_result import CaseResult, CaseVerdict
from .judging.criterion import Criterion, check_classes, chosen_criteria
from .judging.judge import judge_one
from .observed.source import ask_runtime, stack_replies
from .protocol.header import Reply
from .reports.findings import how_far_off
from .reports.text import wrap
from .runtimes.runtime import Runtime


class Verdict(str):
    """The word for a verdict, neither true nor false: compare it, or ask a judgment for `passed`."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise TypeError("a verdict is neither true nor false: assert judgment.passed")


@dataclass(frozen=True, repr=False)
class Judgment:
    """What was found of the outputs of one case.

    `verdict` is `passed`, `failed`, or `error` for outputs of other names, shapes or dtypes. `grade` is
    the best class of arithmetic whose tolerances hold, or ""; `required` does not change it.
    `where` names the worst element, e.g. `Y[0, 1, 2, 5]`: `difference` is |observed - expected| there,
    `ulps` the same in units in the last place, and `ratio` the same divided by the tolerance. `readings`
    are those under which an ambiguous case passes. `message` says what is wrong, and `show` is the command
    that leads to the cause, if it is known; NAME in it stands for a runtime.

    A judgment is neither true nor false: ask for `passed`.
    """

    id: str
    verdict: CaseVerdict
    required: str
    grade: str
    where: str
    ratio: float
    difference: float
    ulps: float
    readings: tuple[ReadingNames, ...]
    message: str
    result: CaseResult = field(compare=False)
    show: str = ""

    @property
    def passed(self) -> bool:
        """Whether every element is within its tolerance."""
        return self.verdict == "passed"

    @property
    def reading(self) -> ReadingNames | None:
        """The names of the followed reading, () for the stored one; None if the case does not pass."""
        return next(iter(self.readings), STORED) if self.passed else None

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        if not self.passed:
            return how_far_off(self.result)
        worst = f", {self.where} off by {self.difference:.3g}" if self.difference else ""
        return f"holds {self.grade or 'no class'}{worst}, {self.ratio:.2f} × tolerance"

    def text(self) -> str:
        """Format the case and what was found of it, as `grucible check` does, for the terminal."""
        lines = [self.id, *wrap(self.sentence, indent=2)]
        return "\n".join(map(escape, [*lines, f"  see: {self.show}"] if self.show else lines))

    def __bool__(self) -> bool:
        raise TypeError("a judgment is neither true nor false: assert judgment.passed")

    def __repr__(self) -> str:
        return f"<Judgment {escape(f'{self.id}: {self.verdict}, {self.sentence}')}>"


def judge(
    case: Case,
    outputs: Mapping[str, Any],
    *,
    arithmetic: str | Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
) -> Judgment:
    """Judge the outputs that a runtime returned for `case.question`: a mapping of names to arrays.

    The other arguments change what is required, as for `verify`. Outputs that are no mapping, or have other
    names, shapes or dtypes, are an error, as in `check`. Each case is judged by itself: only `verify` can say
    whether a runtime follows one reading of an ambiguous text in all cases.
    Raises GrucibleError for invalid criteria, and for a case made by hand that lacks tolerances, or answers
    of the shapes and dtypes that it asks for.
    """
    expected("case", case, Case, "a grucible.Case, as load_vectors gives them")
    _check_answers(case)
    criterion = chosen_criteria(texts("arithmetic", arithmetic), rtol, atol, ulp)[case.dtype]
    reply = ask_runtime(Runtime("", "", lambda _: outputs), case.question)
    return judged_reply(block_of(case), reply, criterion)


def _check_answers(case: Case) -> None:
    """Raise GrucibleError unless the stored answer is there, and each answer is what the question asks."""
    if STORED not in case.stored:
        raise GrucibleError(f"{case.id}: has no answer under (), which is the stored one")
    for reading, answer in case.stored.items():
        expected(f"answers[{reading}]", answer, Answer, "a grucible.Answer")
        for kind, arrays in {"outputs": answer.outputs, **answer.tolerances}.items():
            for name, asked in case.question.outputs.items():
                found = arrays.get(name)
                dtype = asked.dtype if kind == "outputs" else np.dtype(np.float32)
                if found is None or (found.shape, found.dtype) != (asked.shape, dtype):
                    raise GrucibleError(
                        f"{case.id}: answers[{reading}]: {kind}: {name} is not {dtype} {asked.shape}"
                    )


def judged_reply(block: Block, reply: Reply, criterion: Criterion) -> Judgment:
    """Judge the reply to the only question of a block."""
    check_classes(Path(block.path), block)
    with np.errstate(all="ignore"):  # the user's settings are not for the judge
        found = judge_one(block, stack_replies(block, [reply]), criterion)
    verdict = cast("CaseVerdict", Verdict(found.verdict))
    return Judgment(
        found.id, verdict, str(criterion), found.arithmetic, found.where, found.worst_ratio,
        found.worst_abs, found.worst_ulp, found.readings, found.message, found,
    )  # fmt: skip

"""Find the smallest case that still fails the same way."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.operators.layout import (
    GruInputs,
    gru_inputs,
    mask_of,
    mask_rows,
    operator_inputs,
)
from ..cases.question import Question, pose, sizes_of
from ..gen.making import SHRUNK
from ..gen.posed import answered_block
from ..gen.variants.known import variant_called
from ..gen.variants.variant import Variant
from ..gen.variants.work import too_large
from ..vectors.block import Block
from .again import other_rows
from .diagnosis.contradictions import Passing
from .diagnosis.diagnose import diagnose
from .diagnosis.failing import FailingBlock, failing_blocks
from .diagnosis.finding import NO_VARIANTS
from .diagnosis.local import Local
from .judging.case_result import CaseResult, mask
from .judging.criterion import Criterion
from .judging.judge import judge_one
from .observed.source import Observed, Source, observe_block
from .reports.text import ALONE

MAX_SECONDS = 300.0
"""Maximum seconds of the search, unless the caller gives another limit."""
PROBES = 3
"""Smaller cases that fail otherwise and are asked in a new process, too; one that takes a second to start."""
_CLEARLY = 4.0
"""Minimum error of a smaller case, in tolerances, unless the first case was off by less."""
_WHOLE = ".whole"
"""The end of the id of a case that is kept as it is."""
MOST_SINGLES = 8
"""Maximum length of an axis whose entries are left out one by one; longer axes lose larger parts."""
GRIDS = (1.0, 0.5, 0.25, 0.0625)
"""Steps of the grids that numbers are rounded to, the coarsest first."""
WRITTEN = (1.0, 0.5, 2.0, 0.25)
"""Absolute values that replace a number that is no multiple of 0.25; the sign stays."""


@dataclass(frozen=True)
class Failure:
    """A case that went wrong: its `result`, and the variants of the GRU that explain it, if any do."""

    result: CaseResult
    variants: tuple[Variant, ...] = ()

    @property
    def looks_like(self) -> str:
        """What explains the failure, in words."""
        operator = OPERATORS[self.result.operator]
        return "; and ".join(variant.about_for(operator) for variant in self.variants)


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that was found: its `question` and `result`.

    `first` is the failure of the case that was given, with other rows of its batch if `rows` says which.
    `left_out` describes what was left out of that, and `asked` counts questions. `cut_short` says that time
    ran out.
    """

    question: Question
    result: CaseResult
    first: Failure
    left_out: tuple[str, ...]
    asked: int
    cut_short: bool
    interrupted: bool = False
    rows: str = ""


def shrink(
    block: Block,
    source: Source,
    criteria: Mapping[str, Criterion],
    seconds: float = MAX_SECONDS,
    advance: Callable[[Question], None] = lambda _: None,
    is_known: Callable[[CaseResult, FailingBlock], object] = lambda *_: False,
    restart: Callable[[], None] = lambda: None,
) -> Shrunk:
    """Leave out of the only case of `block` all that it does not need to fail the same way.

    A case that passes may fail with other rows of its batch, as a check asks it again. Every smaller question
    gets its exact answer, and is judged by it; `advance` sees each one that is kept.
    Wrong numbers that are `is_known` are not kept: they would hide others. Ctrl-C gives the smallest case so
    far, if anything was left out. `restart` gives the source a new process. If the smallest case does not
    fail in one, or one fails there alone in the same way, the runtime keeps something: then each smaller
    case must fail in a process of its own, for `seconds` more. Raises GrucibleError if the case does not
    fail, or not in a new process.
    """
    trials = _Trials(source, criteria, is_known, restart)
    others = [(one, rows) for one, rows in other_rows(block) if rows]
    each = ((one, rows, trials.find_failure(one)) for one, rows in [(block, ""), *others])
    block, rows, first = next((one for one in each if one[2]), (block, "", None))
    if first is None:
        raise GrucibleError(f"{block.ids[0]} does not fail{ALONE}")
    trials.ask_again(block, first)
    whole = replace(block.question(0), id=shrunk_id(block.ids[0]))
    question, result, left_out = whole, first.result, list[str]()
    interrupted, until = False, math.inf
    try:
        for alone in (False, True):
            trials.alone, until = alone, time.monotonic() + seconds
            question, result, left_out = whole, replace(first.result, id=whole.id), []
            passed_over: set[int] = set()
            while (found := _find_smaller(question, trials, first, passed_over, until)) is not None:
                about, question, result = found
                left_out.append(about)
                advance(question)
            if not left_out or alone or not trials.became(answered_block(question), first):
                break
        trials.ask_again(answered_block(question) if left_out else block, first)
    except KeyboardInterrupt:
        if not left_out:
            raise
        interrupted = True
    late = time.monotonic() >= until
    return Shrunk(question, result, first, tuple(left_out), trials.asked, late, interrupted, rows)


def shrunk_id(case_id: str) -> str:
    """Make the id of a shrunk case, which names the first case."""
    operator, theme, dtype, what = case_id.removesuffix(_WHOLE).split("/", 3)
    first = what if theme == SHRUNK else f"{theme}.{what}"
    return f"{operator}/{SHRUNK}/{dtype}/{first}"


def whole_id(case_id: str) -> str:
    """Make the id of a case that is kept, but not shrunk; one that was kept before has its id."""
    return case_id if case_id.split("/")[1] == SHRUNK else f"{shrunk_id(case_id)}{_WHOLE}"


def _find_smaller(
    question: Question, trials: _Trials, first: Failure, passed_over: set[int], until: float
) -> tuple[str, Question, CaseResult] | None:
    """Find the first reduction that fails the same way; None if there is none, or time is over."""
    for about, smaller in reductions(question):
        if time.monotonic() >= until:
            return None
        arrays = [(name, one.shape, one.tobytes()) for name, one in smaller.inputs.items()]
        key = hash((repr(smaller.given), *smaller.outputs, *arrays))
        if key in passed_over:
            continue
        passed_over.add(key)
        with contextlib.suppress(GrucibleError):  # the answer cannot be rounded
            block = answered_block(smaller)
            result, observed = trials.ask(block)
            alike = trials.are_alike(block, result, observed, first)
            if _is_wrong(result) and (trials.alone or (trials.probes and not alike)):
                trials.probes -= 1
                trials.restart()
                result, observed = trials.ask(block)
                alike = trials.are_alike(block, result, observed, first)
                trials.alone |= alike
            if alike:
                return about, smaller, result
    return None


class _Trials:
    """Questions to a source, whose outputs are judged by the exact answers and each dtype's criterion."""

    def __init__(
        self,
        source: Source,
        criteria: Mapping[str, Criterion],
        is_known: Callable[[CaseResult, FailingBlock], object],
        restart: Callable[[], None],
    ) -> None:
        self._source, self._criteria, self._is_known = source, criteria, is_known
        self.restart = restart
        self.asked, self.alone, self.probes = 0, False, PROBES

    def ask(self, block: Block) -> tuple[CaseResult, Observed]:
        """Ask the question of a block of one, and judge the answer."""
        self.asked += 1
        observed = observe_block(self._source, block)
        return judge_one(block, observed, self._criteria[block.dtype]), observed

    def find_failure(self, block: Block) -> Failure | None:
        """Find what is wrong with a case, and what explains it; None unless the case decides and fails."""
        result, observed = self.ask(block)
        if not _is_wrong(result):
            return None
        if result.verdict != "failed" or too_large(block.question(0)):
            return Failure(result)
        [part] = failing_blocks(block, observed.outputs, self._criteria[block.dtype])
        found = diagnose([part], {result.id: result.arithmetic}, Passing([]))
        finding = found.by_case.get(result.id)
        if finding is None or finding.kind in NO_VARIANTS:
            return Failure(result)
        explained = Failure(result, tuple(map(variant_called, finding.names)))
        alike = self.are_alike(block, result, observed, explained)  # a fitted curve is not
        return explained if alike else Failure(result)

    def became(self, block: Block, first: Failure) -> str:
        """Ask a new process a case; say how it ended, or "" if it fails as the first one.

        After an error, any other error will do: the message of a death may change.
        """
        self.restart()
        result, observed = self.ask(block)
        either = result.verdict == first.result.verdict == "error"
        if either or self.are_alike(block, result, observed, first):
            return ""
        others = {"passed": "passed", "failed": "failed otherwise"}
        return others.get(result.verdict, f"was {result.verdict}")

    def ask_again(self, block: Block, first: Failure) -> None:
        """Raise GrucibleError where a case does not fail again in a new process."""
        if became := self.became(block, first):
            raise GrucibleError(
                f"{block.ids[0]} failed once, and {became} when it was asked again: the answer depends on "
                "more than the question, and nothing is written"
            )

    def are_alike(
        self, block: Block, result: CaseResult, observed: Observed, first: Failure
    ) -> bool:
        """Say whether a case fails as the first case does.

        Then both have the same tier and kind of failure. Errors also have like messages. Wrong numbers are
        clearly off, finite as before, no known mistake's, and explained by the same variants, if any.
        """
        before = first.result
        if not _is_wrong(result) or (result.verdict, result.tier) != (before.verdict, before.tier):
            return False
        if result.verdict != "failed":
            kinds = [one.fault.kind if one.fault else "" for one in (result, before)]
            return kinds[0] == kinds[1] and mask(result.message) == mask(before.message)
        if result.worst_ratio < min(_CLEARLY, before.worst_ratio):
            return False
        if math.isfinite(result.worst_abs) != math.isfinite(before.worst_abs):
            return False
        [part] = failing_blocks(block, observed.outputs, self._criteria[block.dtype])
        if self._is_known(result, part):
            return False
        if not first.variants or part.distances([first.variants])[0, 0] <= 1.0:
            return True
        found = Local([part], Passing([]), 1).explained(first.variants)
        return found is not None and bool(found.mask[0])


def _is_wrong(result: CaseResult) -> bool:
    return result.decides and result.verdict in ("failed", "error")


# Smaller questions: without a row, a step, a unit, an attribute, or with rounder numbers.


def reductions(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield in words what is left out, and the smaller or rounder question; large pieces come first.

    Changes that give no valid question of the operator are passed over.
    """
    operator = OPERATORS[question.operator]
    for about, given, inputs, outputs in _changes(question):
        with contextlib.suppress(GrucibleError):
            yield about, pose(operator, given, inputs, case_id=question.id, outputs=outputs)


def _changes(question: Question) -> Iterator[tuple[str, dict[str, Any], Arrays, list[str]]]:
    """Yield what is left out, and the attributes, inputs and outputs that stay."""
    operator = OPERATORS[question.operator]
    given, inputs, outputs = dict(question.given), dict(question.inputs), list(question.outputs)
    for about, less, axis, keep in (*_one_direction(question), *_shorter_axes(question)):
        yield about, less, _reshape(question, less, axis, keep), outputs
    for names in dict.fromkeys(tuple(operator.beside(tensor)) for tensor in operator.inputs):
        left = {name: array for name, array in inputs.items() if name not in names}
        if len(left) < len(inputs):
            yield f"without {' and '.join(names)}", given, left, outputs
    for name in outputs:
        if len(outputs) > 1:
            yield f"{name} alone", given, inputs, [name]
    for one in operator.attributes:
        if one.name in given and not one.required:
            less = {name: value for name, value in given.items() if name != one.name}
            yield f"without {one.name}", less, _reshape(question, less), outputs
    for about, changed in _rounder(inputs):
        yield about, given, inputs | changed, outputs


_Cut = tuple[str, dict[str, Any], str, Sequence[int]]
"""What is left in words, the attributes that stay, an axis, and its entries that stay."""


def _one_direction(question: Question) -> Iterator[_Cut]:
    """Yield the cuts to one of two directions."""
    operator = OPERATORS[question.operator]
    attribute = operator.setting("direction")
    asked = operator.directions(question.attributes)
    if attribute is None or len(asked) < 2:
        return
    for place, direction in enumerate(asked):
        words = [word for word, meant in attribute.choices.items() if meant == (direction,)]
        if not words:
            continue
        given = dict(question.given) | {attribute.name: words[0]}
        for one in operator.attributes:
            if one.per_direction and one.name in given:
                each = len(given[one.name]) // len(asked)
                given[one.name] = given[one.name][place * each : (place + 1) * each]
        yield f"{direction} alone", given, "direction", [place]


def _shorter_axes(question: Question) -> Iterator[_Cut]:
    """Yield the cuts of the batch, the time axis, the units and the input."""
    operator, sizes = OPERATORS[question.operator], sizes_of(question)
    for axis in ("batch", "time", "hidden", "input"):
        for symbol in (s for s, meant in operator.sizes.items() if meant == axis):
            for keep in _parts(sizes[symbol]):
                given = dict(question.given)
                if symbol in given:
                    given[symbol] = len(keep)
                yield f"{symbol} {len(keep)}", given, axis, keep


def _parts(length: int) -> Iterator[list[int]]:
    """Yield choices of an axis's entries to keep: one, a half, all but a few."""
    if length > 1:
        yield from ([0], [length - 1])
    size = length // 2
    while length > 2 and size >= 1:
        if size > 1 or length <= MOST_SINGLES:
            for start in range(0, length, size):
                kept = [n for n in range(length) if not start <= n < start + size]
                if len(kept) > 1:
                    yield kept
        size //= 2


_AXES = {
    "x": ("batch", "time", "input"),
    "h0": ("direction", "batch", "hidden"),
    "lengths": ("batch",),
    "starts": ("batch",),
    "w": ("direction", "hidden", "input"),
    "r": ("direction", "hidden", "hidden"),
    "b": ("direction", "hidden"),
}
"""The axes of the inputs in the shared layout, where each gate is an array of its own."""


def _reshape(
    question: Question, given: Mapping[str, Any], axis: str = "", keep: Sequence[int] = ()
) -> Arrays:
    """Put the inputs in the forms that other attributes ask for, with only the entries `keep` of an axis.

    A row is shorter by the steps that are left out. The other bias of its gate stands in for a lacking bias.
    """
    operator = OPERATORS[question.operator]
    shared = gru_inputs(operator, question.attributes, question.inputs)
    if axis == "time":
        mask = mask_of(shared.lengths, shared.starts, shared.x.shape[-2])[:, keep]
        left, starts = mask_rows(mask)
        left = left.astype(shared.lengths.dtype)
        shared = replace(shared, lengths=left, starts=starts)

    def cut(role: str, array: Array) -> Array:
        for place, name in enumerate(_AXES[role]):
            array = np.take(array, keep, place) if name == axis else array
        return array

    def cut_all(role: str, parts: Arrays) -> Arrays:
        return {part: cut(role, array) for part, array in parts.items()}

    other = reversed(shared.b.items())
    sides = {f"{side}{part[-1]}": array for part, array in other for side in ("", "w", "r")}
    less = GruInputs(
        x=cut("x", shared.x),
        h0=cut("h0", shared.h0),
        lengths=cut("lengths", shared.lengths),
        starts=cut("starts", shared.starts),
        w=cut_all("w", shared.w),
        r=cut_all("r", shared.r),
        b=cut_all("b", sides | shared.b),
    )
    absent = {tensor.name for tensor in operator.inputs} - question.inputs.keys()
    return operator_inputs(operator, operator.with_defaults(given), less, absent)


def _rounder(inputs: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Yield changes to one input array: all zeros, fewer digits, one number zero, or plainer numbers."""
    numbers = {name: a for name, a in inputs.items() if dtype_name(a.dtype) in FLOAT_TYPES}
    for name, array in numbers.items():
        if np.any(array != 0):
            yield f"{name} zeros", {name: np.zeros_like(array)}
    for grid in GRIDS:
        for name, array in numbers.items():
            rounded = (np.round(array.astype(np.float64) / grid) * grid).astype(array.dtype)
            if np.any(rounded != array):
                yield f"{name} in multiples of {grid:g}", {name: rounded}
    for name, array in numbers.items():
        some = np.flatnonzero(array.ravel() != 0) if array.size <= MOST_SINGLES**2 else ()
        for place in some:
            less = array.copy()
            less.reshape(-1)[place] = 0
            yield f"fewer numbers in {name}", {name: less}
    for name, array in numbers.items():
        wide = array.astype(np.float64)
        odd = np.isfinite(wide) & (wide % 0.25 != 0)
        each = np.flatnonzero(odd) if array.size <= MOST_SINGLES**2 else ()
        alone = [np.arange(odd.size).reshape(odd.shape) == place for place in each]
        for some in (odd, *alone) if odd.any() else ():
            for size in WRITTEN:
                plain = np.where(some, np.copysign(size, wide), wide).astype(array.dtype)
                yield f"plainer numbers in {name}", {name: plain}

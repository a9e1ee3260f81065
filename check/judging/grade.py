"""Summaries of the cases of a dtype: the classes of arithmetic that hold, and the error over the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import shared_outputs
from ...cases.operators.readings import STORED
from ...gen.gru import in_order, processing_order
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...gen.tolerances.gate import MOST_VACUOUS, infinite, vacuous
from ...vectors.block import Block
from ..observed.observations import Slice
from .case_result import CaseResult
from .criterion import Criterion, Differences

MOST_STEPS = 1024
"""Maximum steps of a sequence that are counted; a chart shows no more."""
_LEAST, _PER_DECADE, _DECADES = -4, 8, 68
_INFINITE = _DECADES * _PER_DECADE + 1


@dataclass
class Grade:
    """The deciding cases of one dtype, summed up.

    `compared` counts them, `holds` those within the tolerances of each class. `worst` is the
    largest ratio to the `required` tolerance, `worst_id` and `worst_where` its case and element.
    `elements` and `vacuous` count, by vector file, the expected elements and those of them that say
    nothing (gen.tolerances.gate); `undeciding` the compared cases that say too little to decide.
    """

    dtype: str
    required: Criterion
    compared: int = 0
    holds: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    worst_id: str = ""
    worst_where: str = ""
    elements: Counter[str] = field(default_factory=Counter)
    vacuous: Counter[str] = field(default_factory=Counter)
    undeciding: Counter[str] = field(default_factory=Counter)

    @property
    def observed(self) -> str:
        """The best class that holds on every case that was compared; empty if none does."""
        if not self.compared:
            return ""
        names = (one.name for one in CLASSES[self.dtype])
        return next((name for name in names if self.holds[name] == self.compared), "")

    @property
    def observed_too(self) -> list[str]:
        """Other classes that hold on every case and are not merely coarser than the observed one."""
        best = self.observed
        chains = [[one.name for one in chain] for chain in CHAINS[self.dtype]] if best else []
        coarser = {name for chain in chains if best in chain for name in chain[chain.index(best) :]}
        holding = (
            [name for name in chain if self.holds[name] == self.compared] for chain in chains
        )
        return [names[0] for names in holding if names and names[0] not in coarser]

    @property
    def vacuous_share(self) -> float:
        """How much of the required tolerances says nothing, from 0 to 1."""
        return sum(self.vacuous.values()) / max(1, sum(self.elements.values()))

    def see(self, holding: Mapping[str, Array], compared: int, worst: CaseResult) -> None:
        """Count the cases of a block that were compared and that hold each class; remember the worst."""
        self.compared += compared
        self.holds.update({name: int(cases.sum()) for name, cases in holding.items()})
        if worst.worst_ratio > self.worst:
            self.worst, self.worst_id = worst.worst_ratio, worst.id
            self.worst_where = worst.where

    def see_limits(self, relative: str, block: Block, ok: Array) -> None:
        """Count the elements of a block of the file `relative`, and the `ok` rows that say too little.

        A row does where it says too little under any reading.
        """
        too_little = np.zeros(len(block), bool)
        for reading, answer in block.answers.items():
            limits = self.required.admitted(block, reading)
            nothing, elements = vacuous(answer, limits)
            too_little |= (nothing > MOST_VACUOUS * elements) | (infinite(answer, limits) > 0)
            if reading == STORED:
                self.elements[relative] += int(elements.sum())
                self.vacuous[relative] += int(nothing.sum())
        self.undeciding[relative] += int((ok & too_little).sum())


class Growth:
    """Of the cases of one dtype whose outputs hold every state: how many have which error at which step.

    The error of a step is the largest |observed - expected| / tolerance of its states. It is counted in
    eighths of a decade, from 1e-4 to 1e64, and what is infinite by itself; steps are counted in the order
    of processing.
    """

    def __init__(self) -> None:
        self._counts = np.zeros((2, 0, _INFINITE + 1), np.int64)

    def see(self, errors: Array, passed: Array) -> None:
        """Count the errors (n, steps) of cases, NaN where one has no such step; `passed` (n,) tells which."""
        errors = errors[:, :MOST_STEPS]
        more = errors.shape[1] - self._counts.shape[1]
        if more > 0:
            self._counts = np.pad(self._counts, ((0, 0), (0, more), (0, 0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            place = (np.log10(errors) - _LEAST) * _PER_DECADE
        there = ~np.isnan(errors)
        place = np.clip(np.floor(np.where(there, place, 0)) + 1, 0, _INFINITE - 1)
        place[np.isinf(errors)] = _INFINITE
        case, step = np.nonzero(there)
        at = (np.where(passed[case], 0, 1), step, place[case, step].astype(int))
        np.add.at(self._counts, at, 1)

    def quantile(self, share: float, *, passed: bool) -> list[float | None]:
        """Find, by step, the error that this share of the cases does not exceed.

        It is the upper end of an eighth of a decade, or infinity; None at steps that no case has. The cases
        are those that passed, or the others.
        """
        counts = self._counts[0 if passed else 1]
        total = counts.sum(axis=1)
        place = np.argmax(counts.cumsum(axis=1) >= share * total[:, None], axis=1)
        upper = np.where(place == _INFINITE, np.inf, 10.0 ** (_LEAST + place / _PER_DECADE))
        return [float(u) if n else None for u, n in zip(upper, total, strict=True)]

    def cases(self, *, passed: bool) -> list[int]:
        """By step, how many cases have it, of those that passed or of the others."""
        return [int(n) for n in self._counts[0 if passed else 1].sum(axis=1)]


def see_growth(
    growth: Growth, part: Slice, results: Sequence[CaseResult], criterion: Criterion
) -> None:
    """Count in `growth` the deciding cases of a slice, of which these are the results, that gave outputs."""
    seen = [row for row, r in enumerate(results) if r.decides and r.verdict in ("passed", "failed")]
    y = OPERATORS[part.block.operator].tensor("y")
    if not seen or not y or y.name not in part.observed.outputs:
        return
    tensor = OPERATORS[part.block.operator].tensor("lengths")
    lengths = part.block.inputs.get(tensor.name) if tensor else None
    errors = step_errors(part.block, part.observed.outputs, criterion, lengths)
    if errors is not None:
        growth.see(errors[seen], np.array([results[row].verdict == "passed" for row in seen]))


def step_errors(
    block: Block, outputs: Arrays, criterion: Criterion, lengths: Array | None
) -> Array | None:
    """(n, steps) the error of cases at each step in the order of processing, NaN past the longest row.

    None where the outputs do not hold the state of every step, or there is one step alone. `lengths`
    (n, batch) are those of the rows; without them every row is as long as the time axis.
    """
    operator = OPERATORS[block.operator]
    attributes = [operator.with_defaults(given) for given in block.given]
    signed_zero = block.tier == "nonportable"
    off = Differences(block.answer.outputs, outputs, block.dtype, signed_zero=signed_zero)
    found = off.ratios(criterion.admitted(block, STORED))
    y = shared_outputs(operator, attributes[0], found).get("y")
    if y is None or y.shape[-2] < 2:
        return None
    errors = y.max(axis=-1)  # n, direction, batch, time
    time = errors.shape[-1]
    if lengths is None:
        lengths = np.full((len(errors), errors.shape[2]), time)
    if operator.always.get("y_order") != "processing":
        for d, words in enumerate(zip(*map(operator.directions, attributes), strict=True)):
            order = processing_order(words, lengths, time)
            errors[:, d] = in_order(errors[:, d, ..., None], order)[..., 0]
    there = np.arange(time) < lengths[..., None]
    worst = np.where(there[:, None], errors, -1.0).max(axis=(1, 2))
    return np.where(worst < 0, np.nan, worst)

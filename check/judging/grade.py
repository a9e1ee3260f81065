"""Summaries of the cases of a dtype: the classes of arithmetic that hold, and the error over the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import shared_outputs
from ...cases.operators.readings import STORED, ReadingNames
from ...gen.gru import all_step_numbers, in_order, processing_order, turned
from ...gen.stacks import stacks
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...gen.tolerances.gate import MOST_VACUOUS, infinite, vacuous
from ...vectors.block import Block
from ...vectors.case import Answer
from ..observed.observations import Slice
from .case_result import CaseResult
from .criterion import Criterion, Demanded, Differences
from .single_steps import holds_every_state, step_answer

MOST_STEPS = 1024
"""Maximum steps of a sequence that are counted; a chart shows no more."""


@dataclass
class Grade:
    """The deciding cases of one dtype, summed up.

    `compared` counts those with outputs, `holds` those within the tolerances of each class. `worst` is the
    largest ratio of a difference to its `required` tolerance; `worst_id` and `worst_where` name the case and
    element. By vector file, `elements` counts the expected elements, `vacuous` those that say nothing
    (gen.tolerances.gate), `undeciding` the cases that passed and say too little to decide, and
    `steps_alone` those of which only single steps decide.
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
    steps_alone: Counter[str] = field(default_factory=Counter)

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
        """The share of the expected elements that say nothing, from 0 to 1."""
        return sum(self.vacuous.values()) / max(1, sum(self.elements.values()))

    def see(self, relative: str, block: Block, ok: Array, results: Sequence[CaseResult]) -> None:
        """Count the `results` of a block of the file `relative`; `ok` (n,) says which were compared."""
        self.compared += int(ok.sum())
        self.holds.update(name for one in results for name in one.holds)
        worst = max(results, key=lambda one: one.worst_ratio)
        if worst.worst_ratio > self.worst:
            self.worst, self.worst_id, self.worst_where = worst.worst_ratio, worst.id, worst.where
        nothing, elements = vacuous(block.answer, self.required.admitted(block, STORED))
        self.elements[relative] += int(elements.sum())
        self.vacuous[relative] += int(nothing.sum())
        passed = [one.judged_by for one in results if one.verdict == "passed"]
        self.undeciding[relative] += passed.count("nothing")
        self.steps_alone[relative] += [one.judged_by for one in results].count("steps")


def find_undeciding(block: Block, criterion: Criterion) -> Array:
    """Say (n,) which cases say too little to decide under `criterion`, in at least one reading."""
    return np.array([one == "nothing" for one in ways_of_judging(block, criterion)])


def ways_of_judging(
    block: Block, criterion: Criterion, known: Mapping[ReadingNames, Answer | None] | None = None
) -> list[str]:
    """Say what decides of each case: "whole", "whole and steps", "steps" alone, or "nothing".

    Where several readings are accepted, it is what decides in all of them. `known` are the answers of single
    steps from right states, if there are some.
    """
    whole, steps = np.ones((2, len(block)), bool)
    for reading, answer in block.answers.items():
        too_little = _says_too_little(answer, criterion.admitted(block, reading))
        whole &= ~too_little
        steps &= isinstance(criterion, Demanded) and holds_every_state(block)
        if (too_little & steps).any():
            rows = np.flatnonzero(too_little)
            if known and (whole_block := known.get(reading)):
                one: Answer | None = whole_block.rows(rows)
            else:
                part = block.rows(rows)
                one = step_answer(part, part.answers[reading].outputs, reading)
            if one is not None and isinstance(criterion, Demanded):
                steps[too_little] &= ~_says_too_little(one, one.tolerances[criterion.arithmetic])
    words = {(False, False): "nothing", (False, True): "steps", (True, False): "whole"}
    return [words.get(one, "whole and steps") for one in zip(whole, steps, strict=True)]


def _says_too_little(answer: Answer, limits: Arrays) -> Array:
    nothing, elements = vacuous(answer, limits)
    return np.asarray((nothing > MOST_VACUOUS * elements) | (infinite(answer, limits) > 0))


class Growth:
    """The errors at each step of the cases of a dtype whose outputs hold every state.

    The error of a step is the largest |observed - expected| / tolerance of its states. Steps are counted in
    the order of processing.
    """

    def __init__(self) -> None:
        self._errors: dict[bool, list[Array]] = {True: [], False: []}

    def see(self, errors: Array, passed: Array) -> None:
        """Add the errors (n, steps) of cases, NaN past their last steps; `passed` (n,) says which passed."""
        for row, one in zip(errors[:, :MOST_STEPS], passed, strict=True):
            self._errors[bool(one)].append(row[~np.isnan(row)])

    def by_step(self, *, passed: bool) -> list[list[float]]:
        """List for each step the errors of the cases that passed, or of the others, in ascending order."""
        rows = self._errors[passed]
        steps = range(max(map(len, rows), default=0))
        return [sorted(float(row[step]) for row in rows if step < len(row)) for step in steps]


def see_growth(
    growth: Growth, part: Slice, results: Sequence[CaseResult], criterion: Criterion
) -> None:
    """Count in `growth` the deciding cases of a slice that gave outputs; `results` are of the slice."""
    seen = [row for row, r in enumerate(results) if r.decides and r.verdict in ("passed", "failed")]
    errors = step_errors(part.block, part.observed.outputs, criterion) if seen else None
    if errors is not None:
        growth.see(errors[seen], np.array([results[row].verdict == "passed" for row in seen]))


def step_errors(block: Block, outputs: Arrays, criterion: Criterion) -> Array | None:
    """Compute (n, steps) each case's error at each step, in the order of processing.

    After a case's longest row there is NaN. Returns None where outputs lack states, or have only one step.
    """
    operator = OPERATORS[block.operator]
    signed_zero = block.tier == "nonportable"
    off = Differences(block.answer.outputs, outputs, block.dtype, signed_zero=signed_zero)
    found = off.ratios(criterion.admitted(block, STORED))
    y = shared_outputs(operator, operator.with_defaults(block.given[0]), found).get("y")
    if y is None or y.shape[-2] < 2:
        return None
    worst = np.empty((len(y), y.shape[-2]))
    for one in stacks(operator, block.given, block.inputs):
        meant, lengths = one.semantics, one.inputs.lengths
        errors = turned(meant, y[one.rows].max(axis=-1, keepdims=True))
        there = (np.arange(y.shape[-2]) < lengths[..., None])[:, None, ..., None]
        at_time = all_step_numbers(meant, one.inputs, y.shape[-2])
        errors = in_order(errors, processing_order(at_time, lengths[:, None]))
        worst[one.rows] = np.where(there, errors, -1.0).max(axis=(1, 2, 4))
    return np.where(worst < 0, np.nan, worst)

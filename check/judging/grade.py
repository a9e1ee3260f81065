"""Grades: the best class of arithmetic whose tolerances hold on every case, per dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import STORED
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...gen.tolerances.gate import MOST_VACUOUS, infinite, vacuous
from ...vectors.block import Block
from .criterion import Criterion


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
        implied = {self.observed}
        for chain in CHAINS[self.dtype]:
            names = [one.name for one in chain]
            if self.observed in names:
                implied.update(names[names.index(self.observed) :])
        found: list[str] = []
        for chain in CHAINS[self.dtype] if self.observed else ():
            names = [one.name for one in chain if self.holds[one.name] == self.compared]
            found += [name for name in names[:1] if name not in implied]
        return found

    @property
    def vacuous_share(self) -> float:
        """How much of the required tolerances says nothing, from 0 to 1."""
        return sum(self.vacuous.values()) / max(1, sum(self.elements.values()))

    def see_cases(self, compared: int, holding: Mapping[str, Array]) -> None:
        """Count the cases of a block that were compared, and those that hold each class."""
        self.compared += compared
        self.holds.update({name: int(cases.sum()) for name, cases in holding.items()})

    def see_worst(self, ratio: float, case_id: str, where: str) -> None:
        """Remember the case and its element if its ratio is the largest so far."""
        if ratio > self.worst:
            self.worst, self.worst_id, self.worst_where = ratio, case_id, where

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


def classes_held(dtype: str, compared: Array, passed: Callable[[str], Array]) -> dict[str, Array]:
    """Find which of n cases hold each class of the dtype; `passed(class)` compares them all.

    Each tolerance is at least that of the class before it in its chain, so a class further down
    is looked at only where some case is `compared` and does not hold yet.
    """
    holding: dict[str, Array] = {}
    for chain in CHAINS[dtype]:
        so_far = np.zeros(len(compared), bool)
        for one in chain:
            if one.name in holding:
                so_far = holding[one.name]
            elif (compared & ~so_far).any():
                so_far = so_far | (compared & passed(one.name))
            holding[one.name] = so_far
    return holding

"""Measuring: outputs against the stored answers, in units of the stored tolerances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible.check.judging.criterion import Differences
from grucible.vectors.block import Block
from grucible.vectors.vector_set import open_set

Array = npt.NDArray[Any]
Run = Callable[[Block], Mapping[str, Array]]


@dataclass
class Ratios:
    """Of the cases measured so far: the worst ratio of each, and how many there are.

    A ratio is |observed - stored| / tolerance; 1 and less conforms.
    """

    cases: int = 0
    worst: list[float] = field(default_factory=list)

    def see(self, block: Block, outputs: Mapping[str, Array], arithmetic: str) -> None:
        """Add the cases of a block, by the tolerances of a class."""
        off = Differences(block.answer.outputs, outputs, block.dtype, signed_zero=False)
        found = off.worst(block.answer.tolerances[arithmetic])
        self.cases += len(block)
        self.worst += found.ratio.tolist()

    @property
    def largest(self) -> float:
        """The largest ratio of all."""
        return max(self.worst, default=0.0)

    @property
    def alarms(self) -> int:
        """How many cases do not conform."""
        return sum(not ratio <= 1.0 for ratio in self.worst)


def shipped_blocks(vectors: Path | None, dtype: str) -> Iterator[tuple[Block, Array]]:
    """The deciding blocks of a dtype in vectors (None: the core vectors), as random_blocks gives them.

    Their largest intermediates are not looked at: no shipped case comes near any class's overflow.
    """
    for _, stored in open_set(vectors).blocks():
        if stored.dtype == dtype and stored.tier != "nonportable":
            yield from ((block, np.zeros(len(block))) for _, block in stored.selected())


def median_tolerance(blocks: Iterable[Block], arithmetic: str, unit: float) -> float:
    """The median tolerance of elements that are no padding, in units of `unit`."""
    limits = [
        limit[limit > 0].astype(np.float64)
        for block in blocks
        for limit in block.answer.tolerances[arithmetic].values()
    ]
    return float(np.median(np.concatenate(limits))) / unit

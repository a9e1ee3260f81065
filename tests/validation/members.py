"""What is validated: emulations that belong to a class of arithmetic, and mistakes that no vectors let pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from written import BLENDS, SIGMOIDS, Written, emulate, fused, in_halves, one_by_one, wide

from grucible.cases.dtypes import Array
from grucible.check.judging.criterion import Differences
from grucible.check.judging.single_steps import step_answer
from grucible.gen.tolerances.classes import CLASSES
from grucible.gen.variants.emulated import (
    BFLOAT16,
    cut_to_bfloat16,
    cut_to_tf32,
    in_float16,
    to_bfloat16,
    to_float16,
    to_tf32,
)
from grucible.vectors.block import Block

Run = Callable[[Block], tuple[Block, Mapping[str, Array]]]
"""Gives the part of a block that an implementation offers, and its outputs."""


@dataclass(frozen=True)
class Member:
    """An implementation that belongs to the class `arithmetic` of vectors of `dtype`."""

    dtype: str
    arithmetic: str
    about: str
    run: Run


class Ratios:
    """Of the cases measured so far: the worst |observed - stored| / tolerance of each; 1 and less conforms.

    `steps` has the same given the state before each step, of the cases that hold every state.
    """

    def __init__(self) -> None:
        self.worst: list[float] = []
        self.steps: list[float] = []

    def see(self, blocks: Iterable[Block], run: Run, arithmetic: str) -> Ratios:
        """Add the cases of some blocks that are offered, by the tolerances of a class."""
        for part, outputs in map(run, blocks):
            if len(part):
                off = Differences(part.answer.outputs, outputs, part.dtype, signed_zero=False)
                self.worst += off.worst(part.answer.tolerances[arithmetic]).ratio.tolist()
                if steps := step_answer(part, dict(outputs), ()):
                    off = Differences(steps.outputs, outputs, part.dtype, signed_zero=False)
                    self.steps += off.worst(steps.tolerances[arithmetic]).ratio.tolist()
        return self

    @property
    def alarms(self) -> int:
        """How many cases do not conform."""
        return sum(not ratio <= 1.0 for ratio in self.worst)

    @property
    def in_steps(self) -> int:
        """How many cases do not conform in single steps."""
        return sum(not ratio <= 1.0 for ratio in self.steps)


def emulation(*given: Any, **more: Any) -> Run:
    emulated = Written(*given, **more)
    return lambda block: (block, emulate(emulated, block))


def _members() -> Iterator[Member]:
    orders = {"BLAS": np.matmul, "one by one": one_by_one, "in halves": in_halves, "fused": fused}
    for blend in BLENDS:
        for name, order in orders.items():
            run = emulation(multiply=order, blended=blend)
            for dtype in CLASSES:
                yield Member(dtype, "float32", f"float32, {name}, {blend}", run)
            if name != "fused":
                run = emulation(np.float64, order, blended=blend)
                yield Member("float64", "float64", f"float64, {name}, {blend}", run)
            if name in ("one by one", "in halves"):
                run = emulation(np.float16, order, blended=blend)
                yield Member("float16", "float16", f"all float16, {name}, {blend}", run)
        for dtype, name, kept in (
            ("float32", "float16", to_float16),
            ("float16", "float16", to_float16),
            ("bfloat16", "bfloat16", to_bfloat16),
        ):
            run = emulation(kept=kept, blended=blend)
            yield Member(dtype, f"{name}-state", f"{name} state, {blend}", run)
        for dtype, name, kind in (
            ("float32", "bfloat16", BFLOAT16),
            ("float16", "float16", np.float16),
            ("bfloat16", "bfloat16", BFLOAT16),
        ):
            run = emulation(kind, wide, functions=np.float32, blended=blend)
            yield Member(dtype, f"{name}-gemm", f"{name} storage, {blend}", run)
    for form in SIGMOIDS:
        if form != Written.sigmoid_form:
            for dtype in CLASSES:
                run = emulation(sigmoid_form=form)
                yield Member(dtype, "float32", f"float32, sigmoid {form}", run)
    for arithmetic, about, cut in (
        ("tf32", "TF32 products, cut", cut_to_tf32),
        ("tf32", "TF32 products, rounded", to_tf32),
        ("bfloat16-operands", "bfloat16 products, cut", cut_to_bfloat16),
        ("bfloat16-operands", "bfloat16 products, rounded", to_bfloat16),
    ):
        yield Member("float32", arithmetic, about, emulation(operand=cut))


MEMBERS = [*_members()]
MISTAKES = {
    "tanh off by up to 1e-5": emulation(tanh_error=1e-5),
    "tanh off by up to 3e-6": emulation(tanh_error=3e-6),
    "sigmoid off by up to 1e-5": emulation(sigmoid_error=1e-5),
    "products accumulated in float16": emulation(multiply=in_float16),
    "TF32 products": emulation(operand=cut_to_tf32),
    "bfloat16 products": emulation(operand=to_bfloat16),
    "float16 state": emulation(kept=to_float16),
    "bfloat16 state": emulation(kept=to_bfloat16),
}
"""Mistakes in float32 operators, each wrong by more than float32 arithmetic is."""

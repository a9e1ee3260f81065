"""What is validated: emulations that belong to a class of arithmetic, and mistakes that no vectors let pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sums import (
    backwards,
    by_row,
    by_unit,
    compensated,
    cut_blocks,
    flushed,
    fused,
    in_halves,
    in_lanes,
    one_by_one,
    split_k,
    summed,
    transposed,
)
from written import Written, bias_by_bias, emulate, in_one, in_parts, input_first

from grucible.cases.dtypes import Array
from grucible.check.judging import noise
from grucible.check.judging.criterion import Differences
from grucible.check.judging.noise import Noise, remark
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
from grucible.vectors.case import REQUIRED

Run = Callable[[Block], tuple[Array, Mapping[str, Array]]]
"""Gives the rows of a block that an implementation offers, and its outputs for them."""
TOGETHER = 1 << 18
"""Maximum elements that are judged at once, unless one implementation has more."""


@dataclass(frozen=True)
class Member:
    """An implementation that belongs to the class `arithmetic` of vectors of `dtype`; `form` if it is emulated."""

    dtype: str
    arithmetic: str
    about: str
    run: Run
    form: str = ""


@dataclass
class Ratios:
    """Of the cases measured so far: the worst |observed - stored| / tolerance of each; 1 and less conforms.

    `steps` has the same given the state before each step, of the cases that hold every state. `noises` is how
    large the errors are in all, by case. `elements` counts what was compared.
    """

    worst: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    noises: dict[str, Noise] = field(default_factory=dict)
    elements: int = 0

    @property
    def alarms(self) -> int:
        """How many cases do not conform."""
        return sum(not ratio <= 1.0 for ratio in self.worst)

    @property
    def in_steps(self) -> int:
        """How many cases do not conform in single steps."""
        return sum(not ratio <= 1.0 for ratio in self.steps)

    @property
    def noise(self) -> float:
        """The root mean square of all errors, as a multiple of what roundings make."""
        return sum(self.noises.values(), Noise()).ratio

    def remarked(self, dtype: str) -> str:
        """Say what a report of these cases would remark upon, or ""."""
        return str(remark(REQUIRED[dtype], self.noises, len(self.noises) + 1) or "")


def measure(block: Block, found: Iterable[tuple[Member, Ratios, Array]]) -> None:
    """Add the ratios of a block's cases, those that are offered among the rows (n,) that each may have."""
    each = sum(array[0].size for array in block.answer.outputs.values())
    waiting, elements = list[tuple[str, Ratios, Array, Mapping[str, Array]]](), 0
    for member, ratios, may in found:
        if not may.any():
            continue
        rows, outputs = member.run(block)
        held = may[rows]
        if held.any():
            kept = {name: array[held] for name, array in outputs.items()}
            waiting.append((member.arithmetic, ratios, rows[held], kept))
            elements += each * int(held.sum())
        if elements > TOGETHER:
            _judge(block, waiting)
            waiting, elements = [], 0
    if waiting:
        _judge(block, waiting)


def _judge(
    block: Block, answered: Sequence[tuple[str, Ratios, Array, Mapping[str, Array]]]
) -> None:
    """Judge the outputs of several implementations as one stack, each by its class of arithmetic."""
    stack = block.rows(np.concatenate([rows for _, _, rows, _ in answered]))
    outputs = {
        name: np.concatenate([one[name] for *_, one in answered]) for name in block.answer.outputs
    }
    ends = np.cumsum([0, *(len(rows) for _, _, rows, _ in answered)])
    steps = step_answer(stack, outputs, ())
    for stepwise, answer in enumerate([stack.answer] + ([steps] if steps else [])):
        off = Differences(answer.outputs, outputs, stack.dtype, signed_zero=False)
        by_class = {
            name: off.worst(answer.tolerances[name]).ratio for name in {one[0] for one in answered}
        }
        for (name, ratios, *_), start, end in zip(answered, ends, ends[1:], strict=False):
            found = ratios.steps if stepwise else ratios.worst
            found += by_class[name][start:end].tolist()
    noises = noise.measure(stack, outputs, (), REQUIRED[stack.dtype])
    for (_, ratios, *_), start, end in zip(answered, ends, ends[1:], strict=False):
        of_case = zip(stack.ids[start:end], noises[start:end], strict=True)
        ratios.noises |= {case: one for case, one in of_case if one}
    each = sum(array[0].size for array in outputs.values())
    for _, ratios, rows, _ in answered:
        ratios.elements += each * len(rows)


def to_float32(values: Array) -> Array:
    return values.astype(np.float32).astype(values.dtype)


def emulation(*given: Any, **more: Any) -> Run:
    emulated = Written(*given, **more)
    return lambda block: (np.arange(len(block)), emulate(emulated, block))


FLOAT32 = {"functions": np.float32}
FORMS: dict[str, dict[str, Any]] = {
    "W x + R h + (W_b + R_b), BLAS": {},
    "one by one": {"multiply": one_by_one},
    "from the last": {"multiply": backwards},
    "in halves": {"multiply": in_halves},
    "4 lanes": {"multiply": in_lanes(4)},
    "8 lanes, fused": {"multiply": in_lanes(8, fused)},
    "16 lanes": {"multiply": in_lanes(16)},
    "32 lanes, t+z(h-t)": {"multiply": in_lanes(32), "blended": "t+z(h-t)"},
    "Kahan": {"multiply": compensated},
    "split-K": {"multiply": split_k(7, in_halves)},
    "blocks of 16, added wider": {"multiply": split_k(16, wider=True)},
    "fused": {"multiply": fused},
    "fused, in one product, biases first": {"multiply": fused, "gather": in_one(True)},
    "transposed": {"multiply": transposed},
    "einsum": {"multiply": summed},
    "an order for each thread": {"multiply": by_unit},
    "rows in fours, others apart": {"multiply": by_row},
    "tensor cores: blocks of 8, cut": {"multiply": cut_blocks},
    "in one product, biases last, BLAS": {"gather": in_one(False)},
    "one by one, in one product, biases first": {"multiply": one_by_one, "gather": in_one(True)},
    "(W x + W_b) + (R h + R_b)": {"gather": in_parts},
    "in halves, W x + R h + W_b + R_b": {"multiply": in_halves, "gather": bias_by_bias},
    "((W x + W_b) + R_b) + R h": {"gather": input_first},
    "t+z(h-t)": {"blended": "t+z(h-t)"},
    "h+(1-z)(t-h), one by one": {"blended": "h+(1-z)(t-h)", "multiply": one_by_one},
    "blend of two fused": {"blended": "fma(z,h,fma(-z,t,t))"},
    "sigmoid by tanh": {"sigmoid_form": "tanh(a/2)/2+1/2"},
    "sigmoid exp(a)/(1+exp(a))": {"sigmoid_form": "exp(a)/(1+exp(a))"},
    "sigmoid 1-1/(1+exp(a))": {"sigmoid_form": "1-1/(1+exp(a))"},
    "sigmoid by exp2": {"sigmoid_form": "1/(1+exp2(-a log2 e))"},
    "sigmoid, tanh rational": FLOAT32 | {"sigmoid_form": "p(a)/q(a)+1/2", "tanh_form": "p(v)/q(v)"},
    "tanh by expm1": {"tanh_form": "expm1(2v)/(expm1(2v)+2)"},
    "tanh sinh/cosh": {"tanh_form": "sinh/cosh"},
    "tanh a polynomial near 0": FLOAT32 | {"tanh_form": "p(v), 1-2/(1+exp(2v))"},
    "flushed to zero": {"multiply": flushed, "blended": "flushed"},
    "float64, then float32, then stored": {"compute": np.float64, "kept": to_float32},
}
"""What the author of a kernel may choose, each form right. The state is (1-z)t+zh unless said otherwise."""
STORED = {"sums": np.float32, "functions": np.float32}
BASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("float64", "float64", "float64", {"compute": np.float64}),
    *((dtype, "float32", "float32", {}) for dtype in CLASSES),
    ("float32", "float16-state", "float16 state", {"kept": to_float16}),
    ("float32", "bfloat16-gemm", "bfloat16 storage", STORED | {"compute": BFLOAT16}),
    ("float32", "tf32", "TF32 products, cut", {"operand": cut_to_tf32}),
    ("float32", "tf32", "TF32 products, rounded", {"operand": to_tf32}),
    ("float32", "bfloat16-operands", "bfloat16 products, cut", {"operand": cut_to_bfloat16}),
    ("float32", "bfloat16-operands", "bfloat16 products, rounded", {"operand": to_bfloat16}),
    ("float16", "float16-state", "float16 state", {"kept": to_float16}),
    ("float16", "float16-gemm", "float16 storage", STORED | {"compute": np.float16}),
    ("float16", "float16", "all float16", {"compute": np.float16}),
    ("bfloat16", "bfloat16-state", "bfloat16 state", {"kept": to_bfloat16}),
    ("bfloat16", "bfloat16-gemm", "bfloat16 storage", STORED | {"compute": BFLOAT16}),
]
"""Of each class: the vectors' dtype, the class, and what rounds."""


def _members() -> Iterator[Member]:
    for dtype, arithmetic, about, base in BASES:
        for form, chosen in FORMS.items():
            if not (arithmetic == "float64" and "functions" in chosen) and (
                arithmetic == "float32" or "kept" not in chosen
            ):
                run = emulation(**base | chosen)
                yield Member(dtype, arithmetic, about, run, form)


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

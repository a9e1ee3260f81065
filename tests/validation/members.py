"""What is validated: by dtype of the vectors, emulations that belong to a class of arithmetic, and
mistakes that no vectors may let pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grucible.gen.variants.emulated import (
    BFLOAT16,
    BLENDS,
    SIGMOIDS,
    Emulated,
    blas,
    cut_to_bfloat16,
    cut_to_tf32,
    fused,
    in_float16,
    in_halves,
    one_by_one,
    to_bfloat16,
    to_float16,
    to_tf32,
    wide,
)


@dataclass(frozen=True)
class Member:
    """An implementation that belongs to the class `arithmetic` of vectors of `dtype`."""

    dtype: str
    arithmetic: str
    about: str
    emulated: Any


def _float32(dtype: str) -> list[Member]:
    orders = {"BLAS": blas, "one by one": one_by_one, "in halves": in_halves, "fused": fused}
    found = [
        Member(dtype, "float32", f"float32, {name}, {blend}", Emulated(multiply=m, blended=blend))
        for name, m in orders.items()
        for blend in BLENDS
    ]
    return found + [
        Member(dtype, "float32", f"float32, sigmoid {form}", Emulated(sigmoid_form=form))
        for form in SIGMOIDS
        if form != Emulated.sigmoid_form
    ]


def _narrow(dtype: str, name: str, kind: Any, rounded: Any) -> list[Member]:
    """State and storage in a narrower type."""
    state, gemm = f"{name}-state", f"{name}-gemm"
    return [
        *(
            Member(dtype, state, f"{name} state, {b}", Emulated(kept=rounded, blended=b))
            for b in BLENDS
        ),
        *(
            Member(
                dtype,
                gemm,
                f"{name} storage, {b}",
                Emulated(kind, wide, functions=np.float32, blended=b),
            )
            for b in BLENDS
        ),
    ]


def _all_float16(dtype: str) -> list[Member]:
    orders = {"one by one": one_by_one, "in halves": in_halves}
    return [
        Member(dtype, "float16", f"all float16, {name}, {b}", Emulated(np.float16, m, blended=b))
        for name, m in orders.items()
        for b in BLENDS
    ]


def _operands(dtype: str) -> list[Member]:
    cuts = {
        ("tf32", "TF32 products, cut"): cut_to_tf32,
        ("tf32", "TF32 products, rounded"): to_tf32,
        ("bfloat16-operands", "bfloat16 products, cut"): cut_to_bfloat16,
        ("bfloat16-operands", "bfloat16 products, rounded"): to_bfloat16,
    }
    return [
        Member(dtype, name, about, Emulated(operand=cut)) for (name, about), cut in cuts.items()
    ]


MEMBERS = [
    *(
        Member("float64", "float64", f"float64, {name}, {b}", Emulated(np.float64, m, blended=b))
        for name, m in {"BLAS": blas, "one by one": one_by_one, "in halves": in_halves}.items()
        for b in BLENDS
    ),
    *_float32("float64"),
    *_float32("float32"),
    *(m for m in _narrow("float32", "float16", np.float16, to_float16) if m.arithmetic == "float16-state"),
    *(m for m in _narrow("float32", "bfloat16", BFLOAT16, to_bfloat16) if m.arithmetic == "bfloat16-gemm"),
    *_operands("float32"),
    *_float32("float16"),
    *_narrow("float16", "float16", np.float16, to_float16),
    *_all_float16("float16"),
    *_float32("bfloat16"),
    *_narrow("bfloat16", "bfloat16", BFLOAT16, to_bfloat16),
]  # fmt: skip

_WRONG = partial(Emulated, np.float32)
MISTAKES = {
    "tanh off by up to 1e-5": _WRONG(tanh_error=1e-5),
    "tanh off by up to 3e-6": _WRONG(tanh_error=3e-6),
    "sigmoid off by up to 1e-5": _WRONG(sigmoid_error=1e-5),
    "products accumulated in float16": _WRONG(multiply=in_float16),
    "TF32 products": _WRONG(operand=cut_to_tf32),
    "bfloat16 products": _WRONG(operand=to_bfloat16),
    "float16 state": _WRONG(kept=to_float16),
    "bfloat16 state": _WRONG(kept=to_bfloat16),
}
"""Mistakes in float32 operators, each wrong by more than float32 arithmetic is."""

"""A clip that a dtype does not hold asks for no more than a right implementation can give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import drawn_block
from shipped import specs
from sums import one_by_one, wide
from written import Written

from grucible.cases.operators.semantics import StackedSemantics
from grucible.cases.specs.expand import expand
from grucible.gen.variants.evaluate import stacks_of, variant_outputs, within
from grucible.gen.variants.variant import Variant

CLIPS = specs()["openvino/gru_cell/clips"]


@pytest.mark.parametrize(
    ("kind", "required", "arithmetic"),
    [
        (np.float16, "float16", Written(np.float16, one_by_one)),
        (
            ml_dtypes.bfloat16,
            "bfloat16-gemm",
            Written(ml_dtypes.bfloat16, wide, functions=np.float32),
        ),
    ],
    ids=["float16", "bfloat16"],
)
def test_a_clip_that_is_rounded_to_the_dtype_is_no_failure(
    kind: Any, required: str, arithmetic: Any
) -> None:
    """0.1 is no number of either; above 65504 there is none of float16's but infinity."""

    def rounded(meant: StackedSemantics) -> StackedSemantics:
        with np.errstate(over="ignore"):
            return replace(meant, clip=meant.clip.astype(kind).astype(np.float64))

    cases = expand(CLIPS, [np.dtype(kind).name], ["*lbr-*-clip*"])
    cases = [case for case in cases if case.sizes == cases[0].sizes and "B" not in case.absent]
    assert len({case.attributes["clip"] for case in cases}) == 4
    block = drawn_block(cases, 0)
    like = Variant("rounded", "rounded", semantics=rounded, arithmetic=arithmetic)
    outputs = variant_outputs(block, stacks_of(block), [[like]])
    assert within(outputs, block.answer.outputs, block.answer.tolerances[required]).all()

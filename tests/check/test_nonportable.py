"""A case is nonportable where it hangs on subnormals or on the sign of a zero, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from diagnosis.blocks import core_blocks

from grucible.gen.posed import differing
from grucible.vectors.block import Block

from .made import CELL


def _moved(operator: str) -> Iterator[Block]:
    """Required float16 cases of which one input is subnormal, marked as nonportable."""
    for block in core_blocks(operator, "float16"):
        if block.tier == "required":
            x = block.inputs["X"].copy()
            x.reshape(len(block), -1)[:, 0] = 2.0**-20
            yield replace(block, tier="nonportable", inputs=block.inputs | {"X": x})


@pytest.mark.parametrize("operator", [CELL, "openvino.GRUSequence-5"])
def test_a_subnormal_input_alone_makes_no_case_nonportable(operator: str) -> None:
    """The case must hang on it: else whoever doctors a file takes such cases out of the verdict."""
    blocks = list(_moved(operator))
    assert blocks
    for block in blocks:
        found = differing(block)
        assert set(found.values()) == {"is marked as nonportable, and it holds nothing that is"}
        assert len(found) == len(block)


def test_a_case_that_hangs_on_subnormals_or_a_zero_s_sign_is_nonportable() -> None:
    block = next(_moved(CELL))
    small = {"X", "initial_hidden_state", "B"}
    least = np.float16(2.0**-20)
    inputs = {n: np.copysign(least, a) if n in small else a for n, a in block.inputs.items()}
    assert "marked as" not in str(differing(replace(block, inputs=inputs)))
    zeros = {n: a * np.float16(0) for n, a in block.inputs.items()}  # with the signs of the numbers
    assert "marked as" not in str(differing(replace(block, inputs=zeros)))

"""Cases drawn and answered, for tests that need all of them."""

from __future__ import annotations

from collections.abc import Sequence

from grucible.cases.expansion.case_spec import CaseSpec
from grucible.gen.drawing import make_chunk
from grucible.vectors.block import Block


def drawn_block(cases: Sequence[CaseSpec], seed: int) -> Block:
    """The block of `cases`, each of which can be drawn."""
    chunk = make_chunk(cases, seed)
    assert not chunk.undrawn, chunk.undrawn
    assert chunk.block is not None
    return chunk.block

"""Judge right arithmetic and narrow weights on large layers: `python tests/benchmarks/layers.py VECTORS`.

A table has the largest error of each layer, by the tolerance of class float32: above 1 it fails.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from sums import Product, backwards, in_lanes
from written import Written, emulate

from grucible.check.judging.criterion import Demanded
from grucible.check.judging.judge import judge_one
from grucible.check.observed.source import Observed
from grucible.vectors.block import Block
from grucible.vectors.vector_set import open_set

RIGHT: dict[str, Product] = {"BLAS": np.matmul, "8 lanes": in_lanes(8), "backwards": backwards}
"""Right orders of sums."""
NARROW = {"float16 weights": np.float16, "bfloat16 weights": ml_dtypes.bfloat16}
"""Types that weights are rounded to."""


def narrowed(block: Block, kind: type) -> Block:
    """Round the weights of a block to a narrower type."""
    weights = {name: block.inputs[name].astype(kind).astype(np.float32) for name in ("W", "R")}
    return replace(block, inputs=block.inputs | weights)


def worst(block: Block, given: Block, multiply: Product) -> float:
    """Judge what a kernel gives for `given`; return its worst error by what is admitted."""
    outputs = dict(emulate(Written(multiply=multiply), given))
    result = judge_one(block, Observed(["ok"], [""], outputs), Demanded("float32"))
    assert (result.verdict == "passed") == (result.worst_ratio <= 1.0)
    return result.worst_ratio


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    print(f"| layer | {' | '.join((*RIGHT, *NARROW))} |")
    print("| --- |" + " ---: |" * (len(RIGHT) + len(NARROW)))
    for _, whole in open_set(parser.parse_args().vectors).blocks():
        for row in np.arange(len(whole)):
            block = whole.rows(np.array([row]))
            ratios = [worst(block, block, multiply) for multiply in RIGHT.values()]
            ratios += [worst(block, narrowed(block, kind), np.matmul) for kind in NARROW.values()]
            name = block.ids[0].rpartition("/")[2]
            print(f"| {name} | {' | '.join(f'{ratio:.3g}' for ratio in ratios)} |", flush=True)


if __name__ == "__main__":
    main()

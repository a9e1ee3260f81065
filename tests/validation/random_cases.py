"""Random cases, unlike the shipped ones: N(0, 1) weights among them, other sizes, any lengths.

No constant of the tolerances was fitted on them. They are made by numpy's generator from a seed;
the answers by grucible's own exact evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grucible.cases.case_spec import CaseSpec
from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.gen.bounds import bound_cases
from grucible.gen.exact import Undecided
from grucible.gen.generate import block_of, evaluate, peaks
from grucible.vectors.case import Array, Arrays, Block

OPERATOR = OPERATORS["openvino.GRUSequence-5"]
ACTIVATIONS = [[f, g] for f in ("sigmoid", "tanh", "relu") for g in ("sigmoid", "tanh", "relu")]
CLIPS = [None, None, None, 0.25, 0.75, 1.5]
DIRECTIONS = ["forward", "reverse"]
PER_BLOCK = 18


def random_blocks(dtype: str, count: int, seed: int) -> Iterator[tuple[Block, Array]]:
    """Blocks of random cases of float type `dtype`, with the largest intermediate of each case.

    There are `count`; what overflows the dtype, or cannot be rounded, is left out and not counted.
    """
    rng = np.random.default_rng([seed, *dtype.encode()])
    made = number = 0
    while made < count:
        sizes = {
            "batch_size": int(rng.integers(1, 4)),
            "seq_length": int(rng.integers(1, 11)),
            "input_size": int(rng.integers(1, 41)),
            "hidden_size": int(rng.integers(1, 41)),
            "num_directions": 1,
        }
        after = bool(rng.integers(2))
        cases, drawn = [], {}
        for _ in range(PER_BLOCK):
            case = _case(rng, f"random/{seed}/{number}", dtype, sizes, after, number)
            cases.append(case)
            drawn[case.id] = _inputs(rng, case)
            number += 1
        peak = peaks(cases, drawn)
        limit = FLOAT_TYPES[dtype].largest / 4
        cases = [case for case in cases if peak[case.id] < limit]
        bounds = bound_cases(cases, drawn)
        rows = {}
        for case in cases:
            try:
                rows[case.id] = evaluate(case, drawn[case.id], bounds[case.id])
            except Undecided:
                continue
        kept = [case for case in cases if case.id in rows][: count - made]
        made += len(kept)
        if kept:
            block = block_of(kept, [rows[case.id] for case in kept])
            yield block, np.array([peak[case.id] for case in kept])


def _case(
    rng: Any, name: str, dtype: str, sizes: dict[str, int], after: bool, number: int
) -> CaseSpec:
    given: dict[str, Any] = {
        "hidden_size": sizes["hidden_size"],
        "activations": ACTIVATIONS[number % 9] if number % 18 < 9 else ["sigmoid", "tanh"],
        "direction": DIRECTIONS[int(rng.integers(2))],
        "linear_before_reset": after,
    }
    clip = CLIPS[int(rng.integers(len(CLIPS)))]
    if clip is not None:
        given["clip"] = clip
    lengths = rng.integers(0, sizes["seq_length"] + 1, sizes["batch_size"])
    lengths[rng.integers(len(lengths))] = sizes["seq_length"]
    return CaseSpec(
        name, OPERATOR.name, dtype, "required", (), given, sizes, frozenset(),
        {"T1": dtype, "T2": "int64"}, tuple(map(int, lengths)), "ordinary", {},
    )  # fmt: skip


def _inputs(rng: Any, case: CaseSpec) -> Arrays:
    """X, B and h0 from N(0, 1); W and R from N(0, 1), or scaled as trained ones are, or sparse."""
    kind = rng.choice(["unscaled", "scaled", "scaled", "sparse"])
    x_scale = float(rng.choice([0.25, 1.0, 1.0, 8.0]))
    arrays: Arrays = {}
    for tensor in OPERATOR.inputs:
        shape = OPERATOR.shape(tensor, case.attributes, case.sizes)
        if tensor.role == "lengths":
            arrays[tensor.name] = np.array(case.lengths, np.int64)
            continue
        values: Array = rng.normal(size=shape)
        if tensor.role == "x":
            values = values * x_scale
        elif tensor.role in ("w", "r"):
            if kind != "unscaled":
                values = values / np.sqrt(shape[-1])
            if kind == "sparse":
                values = values * (rng.random(shape) < 0.3)
        # float32 in between: ml_dtypes rounds float64 to bfloat16 twice, and any number will do
        arrays[tensor.name] = values.astype(np.float32).astype(FLOAT_TYPES[case.dtype].numpy)
    return arrays

"""Random cases, unlike the shipped ones: N(0, 1) weights among them, other sizes, any lengths.

No constant of the tolerances was fitted on them. They are made by numpy's generator from a seed;
the answers by grucible's own exact evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from grucible.cases.dtypes import FLOAT_TYPES, Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import FUNCTIONS
from grucible.cases.operators.signature import Operator
from grucible.gen.answering import answer_stacked, peaks
from grucible.gen.drawing import stacked
from grucible.gen.stacks import stacks
from grucible.vectors.block import Block, BlockKey

OPENVINO, ONNX = OPERATORS["openvino.GRUSequence-5"], OPERATORS["onnx.GRU-14"]
ACTIVATIONS = [[f, g] for f in ("sigmoid", "tanh", "relu") for g in ("sigmoid", "tanh", "relu")]
RANGES = {
    "affine": {"alpha": (0.25, 1.25), "beta": (-0.5, 0.5)},
    "leaky-relu": {"alpha": (0.0, 0.5)},
    "thresholded-relu": {"alpha": (0.0, 1.0)},
    "scaled-tanh": {"alpha": (0.5, 2.0), "beta": (0.25, 1.5)},
    "hard-sigmoid": {"alpha": (0.1, 0.5), "beta": (0.25, 0.75)},
    "elu": {"alpha": (0.25, 1.5)},
}
"""Of the parameters of ONNX's activations."""
OVERFLOWS = 80.0
"""Softplus is asked for below: beyond, e^v may overflow float32, as it does in ONNX Runtime."""
CLIPS = [None, None, None, 0.25, 0.75, 1.5]
DIRECTIONS = ["forward", "reverse"]
PER_BLOCK = 18
KINDS = [(OPENVINO, False), (ONNX, False), (OPENVINO, True)]
"""The operator of a block, and whether all but direction and lengths is as each runtime offers it."""
LARGEST = {"batch_size": 3, "seq_length": 10, "input_size": 40, "hidden_size": 40}
"""Maximum sizes; what is proven exactly takes long."""


def random_blocks(
    dtype: str, count: int, seed: int, scale: int = 1
) -> Iterator[tuple[Block, Array]]:
    """Blocks of random cases of float type `dtype`, with the largest intermediate of each case.

    There are `count`, with sizes up to `scale` times LARGEST. Of three blocks one is ONNX's, and one asks of
    OpenVINO's operator what each runtime offers. What overflows the dtype, or cannot be rounded, is left out
    and not counted.
    """
    rng = np.random.default_rng([seed, *dtype.encode()])
    made = number = 0
    while made < count:
        sizes = {name: int(rng.integers(1, scale * most + 1)) for name, most in LARGEST.items()}
        sizes["num_directions"] = 1
        operator, plain = KINDS[number // PER_BLOCK % len(KINDS)]
        after = plain or bool(rng.integers(2))
        ids, given, drawn = [], [], []
        for _ in range(PER_BLOCK):
            given.append(
                {"activations": ["sigmoid", "tanh"], "linear_before_reset": True}
                if plain
                else _attributes(rng, operator, after, number)
            )
            given[-1] |= {
                "hidden_size": sizes["hidden_size"],
                "direction": DIRECTIONS[int(rng.integers(2))],
            }
            ids.append(f"random/{seed}/{number}")
            drawn.append(_inputs(rng, operator, dtype, operator.with_defaults(given[-1]), sizes))
            number += 1
        block, peak = _answered(operator, dtype, ids, given, stacked(drawn))
        rows = np.arange(len(block))[: count - made]
        made += len(rows)
        if len(rows):
            yield block.rows(rows), peak[rows]


def largest_intermediates(
    operator: Operator, given: Sequence[Mapping[str, Any]], inputs: Arrays
) -> Array:
    """The largest intermediate (n,) of each of n cases."""
    found = np.zeros(len(given))
    for stack in stacks(operator, given, inputs):
        found[stack.rows] = peaks(stack).peak
    return found


def _answered(
    operator: Operator, dtype: str, ids: list[str], given: list[dict[str, Any]], inputs: Arrays
) -> tuple[Block, Array]:
    """The block of the cases that do not overflow and can be rounded, however they are conditioned, and
    their largest intermediates."""
    peak = largest_intermediates(operator, given, inputs)
    softplus = np.array(["Softplus" in one["activations"] for one in given])
    limit = np.where(softplus, OVERFLOWS, FLOAT_TYPES[dtype].largest / 4)
    fits = np.flatnonzero(peak < limit)
    left = {name: array[fits] for name, array in inputs.items()}
    key = BlockKey(operator.name, dtype, "required", (), (), (), (), ())
    kept = [ids[row] for row in fits]
    block, _ = answer_stacked(key, kept, [given[row] for row in fits], left)
    assert block is not None
    at = [ids.index(one) for one in block.ids]
    return block, peak[at]


def _attributes(rng: Any, operator: Operator, after: bool, number: int) -> dict[str, Any]:
    functions = ACTIVATIONS[number % 9] if number % 18 < 9 else ["sigmoid", "tanh"]
    given: dict[str, Any] = {"activations": functions, "linear_before_reset": after}
    if operator is ONNX:
        [activations] = [a for a in ONNX.attributes if a.name == "activations"]
        names = [str(name) for name in rng.choice(list(activations.choices), 2)]
        given = {"activations": names, "linear_before_reset": int(after)}
        for name in names:
            function = activations.choices[name].name
            for parameter in FUNCTIONS[function].takes:
                value = float(np.float32(rng.uniform(*RANGES[function][parameter])))
                given.setdefault(f"activation_{parameter}", []).append(value)
    clip = CLIPS[int(rng.integers(len(CLIPS)))]
    return given if clip is None else given | {"clip": clip}


def _inputs(
    rng: Any,
    operator: Operator,
    dtype: str,
    attributes: Mapping[str, Any],
    sizes: Mapping[str, int],
) -> Arrays:
    """X, B and h0 from N(0, 1); W and R from N(0, 1), or scaled as trained ones are, or sparse; any lengths, or full ones."""
    least = rng.choice([0, sizes["seq_length"]])
    lengths = rng.integers(least, sizes["seq_length"] + 1, sizes["batch_size"])
    lengths[rng.integers(len(lengths))] = sizes["seq_length"]
    kind = rng.choice(["unscaled", "scaled", "scaled", "sparse"])
    x_scale = float(rng.choice([0.25, 1.0, 1.0, 8.0]))
    arrays: Arrays = {}
    for tensor in operator.inputs:
        shape = operator.shape(tensor, attributes, sizes)
        if tensor.role == "lengths":
            arrays[tensor.name] = lengths.astype(operator.types[tensor.type][0])
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
        arrays[tensor.name] = values.astype(np.float32).astype(FLOAT_TYPES[dtype].numpy)
    return arrays

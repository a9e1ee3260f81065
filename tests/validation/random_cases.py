"""Random cases, unlike the shipped ones: N(0, 1) weights among them, other sizes, any lengths.

No constant of the tolerances was fitted on them. They are made by numpy's generator from a seed;
the answers by grucible's own exact evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grucible.cases.dtypes import FLOAT_TYPES, Array, Arrays
from grucible.cases.expansion.case_spec import CaseSpec
from grucible.cases.operators.activations import FUNCTIONS
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.signature import Operator
from grucible.gen.making.answering import Drawn, answered, peaks
from grucible.gen.making.chunks import block_key
from grucible.gen.stacks import Stack, stacks
from grucible.vectors.block import Block

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


def random_blocks(dtype: str, count: int, seed: int) -> Iterator[tuple[Block, Array]]:
    """Blocks of random cases of float type `dtype`, with the largest intermediate of each case.

    There are `count`, every other block of ONNX's; what overflows the dtype, or cannot be rounded, is
    left out and not counted.
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
        operator = (OPENVINO, ONNX)[number // PER_BLOCK % 2]
        cases, drawn = [], []
        for _ in range(PER_BLOCK):
            asked = _onnx if operator is ONNX else _openvino
            given = asked(rng, after, number) | _shared(rng, sizes)
            cases.append(_case(rng, f"random/{seed}/{number}", dtype, operator, sizes, given))
            drawn.append(_inputs(rng, cases[-1]))
            number += 1
        inputs = {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}
        for stack in stacks(operator, [case.given for case in cases], inputs):
            mine = [cases[row] for row in stack.rows]
            block, peak = _answered(stack, mine, inputs)
            rows = np.arange(len(block))[: count - made]
            made += len(rows)
            if len(rows):
                yield block.rows(rows), peak[rows]


def _answered(stack: Stack, cases: list[CaseSpec], inputs: Arrays) -> tuple[Block, Array]:
    """The block of the cases of a stack that do not overflow and can be rounded, whatever their
    conditioning, and their largest intermediates."""
    dtype, peak = cases[0].dtype, peaks(stack)
    softplus = np.array(["Softplus" in case.given["activations"] for case in cases])
    limit = np.where(softplus, OVERFLOWS, FLOAT_TYPES[dtype].largest / 4)
    fits = np.flatnonzero(peak < limit)
    every = np.ones(len(fits), bool)
    found = answered(Drawn(stack.only(fits), dtype, (), frozenset(), planted=every, exempt=every))
    at = stack.rows[fits[found.kept]]
    block = Block(
        path=block_key(cases[0]).path,
        operator=cases[0].operator,
        dtype=dtype,
        tier="required",
        ids=[cases[row].id for row in fits[found.kept]],
        given=[cases[row].given for row in fits[found.kept]],
        inputs={name: array[at] for name, array in inputs.items()},
        answers=dict(found.answers),
    )
    return block, peak[fits[found.kept]]


def _openvino(_: Any, after: bool, number: int) -> dict[str, Any]:
    functions = ACTIVATIONS[number % 9] if number % 18 < 9 else ["sigmoid", "tanh"]
    return {"activations": functions, "linear_before_reset": after}


def _onnx(rng: Any, after: bool, _: int) -> dict[str, Any]:
    [activations] = [a for a in ONNX.attributes if a.name == "activations"]
    names = [str(name) for name in rng.choice(list(activations.choices), 2)]
    given: dict[str, Any] = {"activations": names, "linear_before_reset": int(after)}
    for name in names:
        function = activations.choices[name].name
        for parameter in FUNCTIONS[function].takes:
            value = float(np.float32(rng.uniform(*RANGES[function][parameter])))
            given.setdefault(f"activation_{parameter}", []).append(value)
    return given


def _shared(rng: Any, sizes: dict[str, int]) -> dict[str, Any]:
    given: dict[str, Any] = {
        "hidden_size": sizes["hidden_size"],
        "direction": DIRECTIONS[int(rng.integers(2))],
    }
    clip = CLIPS[int(rng.integers(len(CLIPS)))]
    return given if clip is None else given | {"clip": clip}


def _case(
    rng: Any,
    name: str,
    dtype: str,
    operator: Operator,
    sizes: dict[str, int],
    given: dict[str, Any],
) -> CaseSpec:
    lengths = rng.integers(0, sizes["seq_length"] + 1, sizes["batch_size"])
    lengths[rng.integers(len(lengths))] = sizes["seq_length"]
    types = {
        variable: dtype if of == operator.dtypes() else of[0]
        for variable, of in operator.types.items()
    }
    return CaseSpec(
        name, operator.name, dtype, "required", (), given, sizes, frozenset(), types,
        tuple(map(int, lengths)), "ordinary", {},
    )  # fmt: skip


def _inputs(rng: Any, case: CaseSpec) -> Arrays:
    """X, B and h0 from N(0, 1); W and R from N(0, 1), or scaled as trained ones are, or sparse."""
    kind = rng.choice(["unscaled", "scaled", "scaled", "sparse"])
    x_scale = float(rng.choice([0.25, 1.0, 1.0, 8.0]))
    arrays: Arrays = {}
    operator = OPERATORS[case.operator]
    for tensor in operator.inputs:
        shape = operator.shape(tensor, case.attributes, case.sizes)
        if tensor.role == "lengths":
            arrays[tensor.name] = np.array(case.lengths, case.types[tensor.type])
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

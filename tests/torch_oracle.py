"""An independent oracle for PyTorch's nn.GRU of one layer, packed or not, and nn.GRUCell.

Written from their docstrings, and those of pack_padded_sequence and pad_packed_sequence, alone.  It
works on the module's own parameters, by their names, and on one row at a time; a packed row is cut to
its length first, as the docstring has it ("will be truncated"), and padded with zeros at the end.
The numbers of the results are those of `numbers`; `oracle.round_once` takes them to a dtype.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from oracle import Array, Matrix, Numbers, Vector, dot, matrix, vector


def parameters(
    bidirectional: bool, inputs: Mapping[str, Array], numbers: Numbers
) -> list[tuple[Matrix, Matrix, Vector, Vector]]:
    """weight_ih, weight_hh, bias_ih and bias_hh of direction 0, forward, and 1, backward."""
    found = []
    for direction in range(1 + bidirectional):
        w_ih, w_hh = (matrix(inputs[f"weight_{of}"][direction], numbers) for of in ("ih", "hh"))
        b_ih, b_hh = (
            vector(inputs[f"bias_{of}"][direction], numbers)
            if f"bias_{of}" in inputs
            else [numbers.exact(0.0)] * len(w_ih)
            for of in ("ih", "hh")
        )
        found.append((w_ih, w_hh, b_ih, b_hh))
    return found


def cell(
    x: Vector, h: Vector, w_ih: Matrix, w_hh: Matrix, b_ih: Vector, b_hh: Vector, numbers: Numbers
) -> Vector:
    """h' of GRUCell: the weights are (W_ir|W_iz|W_in), (W_hr|W_hz|W_hn), and so are the biases."""
    size = len(h)
    from_input = [dot(w_ih[j], x) + b_ih[j] for j in range(3 * size)]
    from_hidden = [dot(w_hh[j], h) + b_hh[j] for j in range(3 * size)]
    new = []
    for j in range(size):
        r = numbers.activation("sigmoid", from_input[j] + from_hidden[j])
        z = numbers.activation("sigmoid", from_input[size + j] + from_hidden[size + j])
        n = numbers.activation("tanh", from_input[2 * size + j] + r * from_hidden[2 * size + j])
        new.append((1 - z) * n + z * h[j])
    return new


def evaluate_cell(inputs: Mapping[str, Array], *, numbers: Numbers) -> dict[str, list[Any]]:
    """The output (N, hidden_size) of GRUCell, as nested lists."""
    alone = {name: array[None] for name, array in inputs.items() if name[:2] in ("we", "bi")}
    [weights] = parameters(False, alone, numbers)
    size = len(weights[1][0])
    states = [[numbers.exact(0.0)] * size for _ in inputs["input"]]  # "Defaults to zero"
    if "hidden" in inputs:
        states = matrix(inputs["hidden"], numbers)
    rows = matrix(inputs["input"], numbers)
    return {"output": [cell(x, h, *weights, numbers) for x, h in zip(rows, states, strict=True)]}


def evaluate(
    attributes: Mapping[str, Any], inputs: Mapping[str, Array], *, numbers: Numbers
) -> dict[str, list[Any]]:
    """The output and h_n of GRU as nested lists, in the docstring's shapes."""
    batch_first = attributes["batch_first"]
    given = inputs["input"] if batch_first else inputs["input"].swapaxes(0, 1)
    N, L, _ = given.shape
    directions = parameters(attributes["bidirectional"], inputs, numbers)
    size = len(directions[0][1][0])
    zeros = [numbers.exact(0.0)] * size
    lengths = inputs.get("lengths", [L] * N)

    rows = []  # (N, L, D * hidden_size)
    h_n: list[list[Vector]] = [[] for _ in directions]
    for n in range(N):
        steps = matrix(given[n][: lengths[n]], numbers)
        halves = []
        for d, weights in enumerate(directions):
            h = vector(inputs["h_0"][d, n], numbers) if "h_0" in inputs else zeros
            states = []
            for x in steps[::-1] if d == 1 else steps:
                h = cell(x, h, *weights, numbers)
                states.append(h)
            h_n[d].append(h)
            halves.append(states[::-1] if d == 1 else states)
        side_by_side = [[*itertools.chain(*parts)] for parts in zip(*halves, strict=True)]
        rows.append(side_by_side + [zeros * len(directions)] * (L - len(side_by_side)))
    output = rows if batch_first else [list(step) for step in zip(*rows, strict=True)]
    return {"output": output, "h_n": h_n}

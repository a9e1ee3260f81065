"""Networks with GRUs, as people build them, in ONNX; and a runtime with a mistake in one layer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
)
info, node = helper.make_tensor_value_info, helper.make_node


class Weights:
    """Initializers with numbers drawn from their names."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def new(self, name: str, *shape: int) -> str:
        chance = np.random.default_rng(sum(name.encode()))
        array = chance.standard_normal(shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))
        self.made.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, name: str, *numbers: int) -> str:
        self.made.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name

    def of_gru(self, name: str, inputs: int, hidden: int, directions: int = 1) -> list[str]:
        return [
            self.new(f"{name}.W", directions, 3 * hidden, inputs),
            self.new(f"{name}.R", directions, 3 * hidden, hidden),
            self.new(f"{name}.B", directions, 6 * hidden),
        ]


def write(
    path: Path,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    weights: Weights,
    opset: int = 17,
) -> Path:
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, weights.made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def enhancer(path: Path) -> Path:
    """A mask of a spectrum by three GRUs, each a little smaller than the one before."""
    w, nodes, x, size = Weights(), [], "spectrum", 6
    for number, hidden in enumerate((7, 6, 5), 1):
        gru = w.of_gru(f"gru{number}", size, hidden)
        nodes += [
            node(
                "GRU",
                [x, *gru],
                [f"y{number}"],
                name=f"gru{number}",
                hidden_size=hidden,
                linear_before_reset=1,
            ),
            node("Squeeze", [f"y{number}", w.ints(f"axis{number}", 1)], [f"x{number}"]),
        ]
        x, size = f"x{number}", hidden
    nodes += [
        node("MatMul", [x, w.new("dense", 5, 6)], ["logits"]),
        node("Sigmoid", ["logits"], ["mask"]),
    ]
    shape: list[Any] = ["frames", "batch", 6]
    return write(path, nodes, [info("spectrum", FLOAT, shape)], [info("mask", FLOAT, shape)], w)


def tagger(path: Path) -> Path:
    """Words to tags: an embedding, a bidirectional GRU over sentences of some lengths, a dense layer."""
    w = Weights()
    nodes = [
        node("Gather", [w.new("table", 20, 4), "words"], ["embedded"]),
        node("Transpose", ["embedded"], ["x"], perm=[1, 0, 2]),
        node("Cast", ["lengths"], ["lens"], to=INT32),
        node("GRU", ["x", *w.of_gru("both", 4, 5, 2), "lens"], ["y", "last"], name="both",
             hidden_size=5, direction="bidirectional"),
        node("Transpose", ["y"], ["turned"], perm=[2, 0, 1, 3]),
        node("Reshape", ["turned", w.ints("shape", 0, 0, 10)], ["rows"]),
        node("MatMul", ["rows", w.new("dense", 10, 3)], ["tags"]),
    ]  # fmt: skip
    inputs = [info("words", INT64, ["batch", "length"]), info("lengths", INT64, ["batch"])]
    return write(path, nodes, inputs, [info("tags", FLOAT, ["batch", "length", 3])], w)


def decoder(path: Path) -> Path:
    """A Loop that feeds its own output back, through two cells, one behind the other."""
    w, outer = Weights(), Weights()
    body = helper.make_graph(
        [
            node("GRU", ["fed", *outer.of_gru("low", 4, 4), "", "low_in"], ["", "low_out"], name="low", hidden_size=4),
            node("GRU", ["low_out", *outer.of_gru("high", 4, 4), "", "high_in"], ["", "high_out"], name="high",
                 hidden_size=4, linear_before_reset=1),
            node("MatMul", ["high_out", outer.new("dense", 4, 4)], ["next"]),
            node("Identity", ["next"], ["frame"]),
            node("Identity", ["going"], ["goes_on"]),
        ],
        "step",
        [info("round", INT64, []), info("going", BOOL, []),
         *(info(name, FLOAT, [1, "batch", 4]) for name in ("fed", "low_in", "high_in"))],
        [info("goes_on", BOOL, []),
         *(info(name, FLOAT, [1, "batch", 4]) for name in ("next", "low_out", "high_out", "frame"))],
        [],
    )  # fmt: skip
    w.made += outer.made
    loop = node(
        "Loop",
        ["steps", "on", "first", "state", "state"],
        ["last", "low", "high", "frames"],
        body=body,
    )
    w.made.append(numpy_helper.from_array(np.array(True), "on"))
    inputs = [
        info("steps", INT64, []),
        info("first", FLOAT, [1, "batch", 4]),
        info("state", FLOAT, [1, "batch", 4]),
    ]
    return write(path, [loop], inputs, [info("frames", FLOAT, ["steps", 1, "batch", 4])], w)


def spotter(path: Path) -> Path:
    """Keywords in a sound: a convolution, a GRU whose last state counts, and a GRU only of long sounds."""
    w = Weights()
    long = helper.make_graph(
        [node("GRU", ["steps", *w.of_gru("more", 4, 5)], ["", "m"], name="more", hidden_size=5)],
        "long", [], [info("m", FLOAT, [1, "batch", 5])],
    )  # fmt: skip
    short = helper.make_graph(
        [node("Identity", ["h"], ["s"])], "short", [], [info("s", FLOAT, [1, "batch", 5])]
    )
    nodes = [
        node("Conv", ["sound", w.new("kernel", 4, 3, 3)], ["filtered"], pads=[1, 1]),
        node("Transpose", ["filtered"], ["steps"], perm=[2, 0, 1]),
        node(
            "GRU",
            ["steps", *w.of_gru("main", 4, 5)],
            ["", "h"],
            name="main",
            hidden_size=5,
            clip=2.0,
        ),
        node("If", ["is_long"], ["state"], then_branch=long, else_branch=short),
        node("MatMul", ["state", w.new("dense", 5, 2)], ["words"]),
    ]
    inputs = [info("sound", FLOAT, ["batch", 3, 10]), info("is_long", BOOL, [])]
    return write(path, nodes, inputs, [info("words", FLOAT, [1, "batch", 2])], w)


def nested(path: Path) -> Path:
    """A loop in a loop: the inner has a GRU in every other round, the outer one that takes what comes out."""
    w = Weights()
    gru = w.of_gru("deep", 3, 4)
    then = helper.make_graph(
        [node("GRU", ["half", *gru, "", "h"], ["", "new"], name="deep", hidden_size=4)],
        "then", [], [info("new", FLOAT, [1, 2, 4])],
    )  # fmt: skip
    otherwise = helper.make_graph(
        [node("Identity", ["h"], ["old"])], "otherwise", [], [info("old", FLOAT, [1, 2, 4])]
    )

    def body(name: str, state: str, nodes: list[Any], gives: str) -> Any:
        takes = [
            info(f"{name}.i", INT64, []),
            info(f"{name}.on", BOOL, []),
            info(state, FLOAT, [1, 2, 4]),
        ]
        nodes = [*nodes, node("Identity", [f"{name}.on"], [f"{name}.goes_on"])]
        found = [info(f"{name}.goes_on", BOOL, []), info(gives, FLOAT, [1, 2, 4])]
        return helper.make_graph(nodes, name, takes, found)

    inner = body("inner", "h", [
        node("Mod", ["inner.i", w.ints("two", 2)], ["rest"]),
        node("Cast", ["rest"], ["odds"], to=BOOL),
        node("Squeeze", ["odds"], ["odd"]),
        node("If", ["odd"], ["next"], then_branch=then, else_branch=otherwise),
    ], "next")  # fmt: skip
    outer = body("outer", "g", [
        node("Add", ["x", "x"], ["half"]),
        node("Loop", ["rounds", "", "g"], ["inside"], body=inner),
        node("GRU", ["half", *gru, "", "inside"], ["", "out"], name="flat", hidden_size=4),
    ], "out")  # fmt: skip
    w.made.append(numpy_helper.from_array(np.array(3), "rounds"))
    loop = node("Loop", ["rounds", "", "state"], ["last"], body=outer)
    inputs = [info("x", FLOAT, [5, 2, 3]), info("state", FLOAT, [1, 2, 4])]
    return write(path, [loop], inputs, [info("last", FLOAT, [1, 2, 4])], w)


def last_state(path: Path, hidden: int) -> Path:
    """A GRU of which the model uses the last state."""
    w = Weights()
    gru = node("GRU", ["x", *w.of_gru("gru", 3, hidden)], ["", "last"], hidden_size=hidden)
    shapes: list[list[Any]] = [[4, 1, 3], [1, 1, hidden]]
    return write(path, [gru], [info("x", FLOAT, shapes[0])], [info("last", FLOAT, shapes[1])], w)


def unknown(path: Path) -> Path:
    """Two GRUs, of which the second is an operator of one's own."""
    model = onnx.load(enhancer(path))
    [found] = [one for one in model.graph.node if one.name == "gru2"]
    found.domain, found.op_type = "mine", "FusedGRU"
    model.opset_import.append(helper.make_opsetid("mine", 1))
    onnx.save(model, path)
    return path


def run_unknown(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    model = onnx.load(path)
    for one in model.graph.node:
        if one.domain == "mine":
            one.domain, one.op_type = "", "GRU"
    return _run(model, inputs)


def graphs(graph: Any) -> Iterator[Any]:
    yield graph
    for one in graph.node:
        for attribute in one.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def run(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """ONNX Runtime, as a function of the user's own."""
    return _run(onnx.load(path), inputs)


def _run(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [one.name for one in model.graph.output]
    return dict(zip(names, session.run(names, inputs), strict=True))


def fused(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Give other outputs where only the model's own are asked for, as a wrong fused kernel does."""
    found = run(path, inputs)
    return found if len(found) > 1 else {name: 1.1 * array for name, array in found.items()}


def closed(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Fail where a loop gives more than it does in `decoder`."""
    for one in onnx.load(path).graph.node:
        if one.op_type == "Loop" and len(one.output) > 4:
            raise RuntimeError("too many outputs")
    return run(path, inputs)


def jumpy(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Give other outputs where a loop gives more than it does in `decoder`."""
    found, many = run(path, inputs), len(onnx.load(path).graph.output) > 1
    return {name: array + many for name, array in found.items()}


def mute(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Give what is made visible alone."""
    return {name: array for name, array in run(path, inputs).items() if name != "mask"}


def odd(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the input of the third layer as texts."""
    found = run(path, inputs)
    return {name: array.astype(str) if name == "x2" else array for name, array in found.items()}


def silent(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the model's own outputs alone."""
    found = run(path, inputs)
    return {name: array for name, array in found.items() if name in ("mask", "y1")}


def _wrong(
    layer: str, change: Callable[[Any], None]
) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """Make a runtime that changes the node of one layer before it runs the model."""

    def wrong(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
        model = copy.deepcopy(onnx.load(path))
        [found] = [one for graph in graphs(model.graph) for one in graph.node if one.name == layer]
        change(found)
        return _run(model, inputs)

    return wrong


def _other_reset(found: Any) -> None:
    """Set linear_before_reset to what it is not."""
    given = {one.name: one for one in found.attribute}
    if "linear_before_reset" in given:
        found.attribute.remove(given["linear_before_reset"])
    else:
        found.attribute.append(helper.make_attribute("linear_before_reset", 1))


def _drop(place: int) -> Callable[[Any], None]:
    def change(found: Any) -> None:
        found.input[place] = ""
        while not found.input[-1]:
            del found.input[-1]

    return change


def ir(path: str, inputs: dict[str, Any], swapped: int = -1) -> dict[str, Any]:
    """OpenVINO, as a function of the user's own; the GRU of this number takes one unit for another in R."""
    import openvino

    model = openvino.Core().read_model(path)
    found = [one for one in model.get_ordered_ops() if one.get_type_name() == "GRUSequence"]
    for one in found[swapped : swapped + 1] if swapped >= 0 else ():
        weights = np.ascontiguousarray(one.input_value(4).get_node().data[..., ::-1])
        one.input(4).replace_source_output(openvino.op.Constant(weights).output(0))
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    outputs = compiled(list(inputs.values()))
    return {port.get_any_name(): array for port, array in outputs.items()}


def second_swapped(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return ir(path, inputs, 1)


def __getattr__(name: str) -> Any:
    """Make a runtime such as `reset_of_gru2`, `no_bias_of_both`, `no_lengths_of_both`, `no_state_of_high`."""
    mistake, _, layer = name.partition("_of_")
    changes = {
        "reset": _other_reset,
        "no_bias": _drop(3),
        "no_lengths": _drop(4),
        "no_state": _drop(5),
    }
    if mistake not in changes:
        raise AttributeError(name)
    return _wrong(layer, changes[mistake])

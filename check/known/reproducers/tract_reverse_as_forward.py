# case      onnx.GRU-14/small/float32/reverse
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, tract and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/reverse --script tract
#
# It asks for
#   reverse:
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            reverse
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          absent (default [Sigmoid, Tanh])
#   activation_alpha     absent (default none)
#   activation_beta      absent (default none)
#   clip                 absent (default infinity)
#
# Expected is the exact result, rounded once to float32. An element may be off by what float32
# arithmetic may lose there.

import logging
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import tract
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        -0.9265634, 0.0017467737, 0.067802906, 1.512366, 1.2639886, -1.2820576, 1.471904,
        -1.807936, -0.86893713, -0.02897942, 0.6482339, 0.22615135
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        0.45854425, 0.9871139, 0.7579069, -0.4832006, 0.94336754, -0.45403397, -0.09707451,
        -0.26277167, -0.38251507, 0.31970048, -0.3766712, 0.14385474
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.28740877, -0.9617472, -0.7201311, 0.57868767, 0.111144245, -0.9039944, -0.09491235,
        0.27680415, -0.8451991, -0.71820897, 0.30071014, 0.36024916
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.4666432, -0.9376888, 0.820814, 0.4029554, -0.55081, 0.012794852, 0.9206617, 0.08027816,
        0.2455337, -0.7359942, 0.9057667, -0.27365983
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        0.80074763, -0.53379023, 0.743682, -0.16088647
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        0.222875, 0.031917956, 0.034803424, -0.15858719, 0.09546355, -0.20818506, 0.010328135,
        -0.43445548, 0.69770265, 0.096658066, 0.60060036, -0.2598235
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        0.222875, 0.031917956, 0.034803424, -0.15858719
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        2.6524067e-06, 1.2665987e-06, 3.1590462e-06, 1.3113022e-06, 2.6971102e-06, 1.847744e-06,
        2.6077032e-06, 1.385808e-06, 9.685755e-07, 1.1101365e-06, 1.15484e-06, 6.593764e-07
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        2.6524067e-06, 1.2665987e-06, 3.1590462e-06, 1.3113022e-06
    ], np.float32).reshape(1, 2, 2),
}


def run_file(content, feeds):
    """What tract gives for the file of a model; it reads files alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gru.onnx"
        path.write_bytes(content)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [tensor.to_numpy() for tensor in runnable.run(list(feeds.values()))]


def named(names, outputs):
    """The outputs by their names."""
    if len(outputs) != len(names):
        raise RuntimeError(f"gave {len(outputs)} outputs; expected {', '.join(names)}")
    return dict(zip(names, outputs, strict=True))


def bits(array):
    """The array, of bfloat16 its bits."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def difference(observed, expected):
    """|observed - expected| of each element, in float64.

    There is none between NaN and NaN, nor between the same infinities; any other of theirs is infinite.
    Both are float64 arrays, or broadcast.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.asarray(np.abs(np.subtract(observed, expected)))
    if np.isfinite(off.max(initial=0.0)):
        return off
    same = (observed == expected) | (np.isnan(observed) & np.isnan(expected))
    special = ~(np.isfinite(observed) & np.isfinite(expected))
    return np.where(special, np.where(same, 0.0, np.inf), off)


def wide(array):
    """An array in float64, which holds every number; uint16 is the bits of bfloat16."""
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def compared(expected, tolerance, got, signed_zero):
    """How far each element is off, and that by its tolerance."""
    e, o = wide(expected), wide(got)
    off = difference(o, e)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = off / tolerance.astype(np.float64)
    ratio[off == 0] = 0
    ratio[~(ratio >= 0)] = np.inf  # infinitely off
    if signed_zero:
        ratio[(e == 0) & (o == 0) & (np.signbit(e) != np.signbit(o))] = np.inf
    return off, ratio


def held(expected, tolerance, observed, signed_zero):
    """How many elements are wrong, and the worst in words."""
    wrong, most, said = 0, -1.0, ""
    for name, wanted in expected.items():
        got = observed[name]
        off, ratio = compared(wanted, tolerance[name], got, signed_zero)
        wrong += int((ratio > 1).sum())
        if ratio.size and ratio.max() > most:
            most = ratio.max()
            at = np.unravel_index(ratio.argmax(), ratio.shape)
            place, digits = ", ".join(str(int(i)) for i in at), 17 if wanted.itemsize == 8 else 9
            said = (
                f"{name}[{place}]: expected {wide(wanted)[at]:.{digits}g}, got {wide(got)[at]:.{digits}g}; "
                f"off by {off[at]:.3g}, tolerance {tolerance[name][at]:.3g}"
            )
    return wrong, said


def misshapen(expected, observed):
    """What is wrong with shapes and dtypes; "" if nothing."""
    for name, array in expected.items():
        wanted, got = (f"{one.dtype} {one.shape}" for one in (array, observed[name]))
        if got != wanted:
            return f"{name}: expected {wanted}, got {got}".replace("uint16", "bfloat16")
    return ""


def verdict(ask, accepted, signed_zero=False, say=print):
    """The exit status, after the worst element and the verdict were said."""
    expected = accepted[0][0]
    try:
        observed = {name: bits(np.asarray(array)) for name, array in ask().items()}
    except BaseException as error:
        logging.getLogger().exception("no outputs")
        unusable = isinstance(error, ImportError)
        said = "not run" if unusable else getattr(error, "verdict", "refused")
        say(f"{said}: {type(error).__name__}: {ascii(' '.join(str(error).split())[:300])[1:-1]}")
        return 2 if unusable else 1
    if other := misshapen(expected, observed):
        say(f"{other}: WRONG\nwrong: an output has another shape or dtype")
        return 1
    wrong, said = min(held(*pair, observed, signed_zero) for pair in accepted)
    number = sum(array.size for array in expected.values())
    if wrong:
        say(
            f"{said}: WRONG\nwrong: {wrong} of {number} elements are off by more than their tolerance"
        )
        return 1
    say(f"{said}\nright: all of {number} elements are within their tolerance")
    return 0


def ask():
    """The outputs by name."""
    node = helper.make_node(
        "GRU",
        ["X", "W", "R", "B", "", "initial_h"],
        ["Y", "Y_h"],
        direction="reverse",
        hidden_size=2,
    )
    constants = [
        ("W", TensorProto.FLOAT),
        ("R", TensorProto.FLOAT),
        ("B", TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        [node],
        "gru",
        [
            helper.make_tensor_value_info("X", TensorProto.FLOAT, [3, 2, 2]),
            helper.make_tensor_value_info("initial_h", TensorProto.FLOAT, [1, 2, 2]),
        ],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, [3, 1, 2, 2]),
            helper.make_tensor_value_info("Y_h", TensorProto.FLOAT, [1, 2, 2]),
        ],
        [
            helper.make_tensor(name, kind, inputs[name].shape, inputs[name].tobytes(), raw=True)
            for name, kind in constants
        ],
    )
    opset = helper.make_opsetid("", 14)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    names = ["Y", "Y_h"]
    feeds = {name: inputs[name] for name in ["X", "initial_h"]}
    outputs = run_file(model.SerializeToString(), feeds)
    return named(names, outputs)


print(f"tract {tract.version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

# case      onnx.GRU-14/small/float32/lbr1-clip0.5
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, MNN and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/lbr1-clip0.5 --script mnn
#
# It asks for
#   zt = sigmoid(clip[-0.5, 0.5](Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz))
#   rt = sigmoid(clip[-0.5, 0.5](Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr))
#   ht = tanh(clip[-0.5, 0.5](Xt*(Wh^T) + rt (.) (Ht-1*(Rh^T) + Rbh) + Wbh))
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            absent (default forward)
#   layout               absent (default 0)
#   linear_before_reset  1
#   activations          absent (default [Sigmoid, Tanh])
#   activation_alpha     absent (default none)
#   activation_beta      absent (default none)
#   clip                 0.5
#
# Expected is the exact result, rounded once to float32. An element may be off by what float32
# arithmetic may lose there.

import ctypes
import logging
import sys
import tempfile
from pathlib import Path

try:
    import _tools as converter
    import MNN
    import numpy as np
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        0.50815463, 1.5961832, -1.8502073, -1.10083, 1.1337754, 0.09551716, -1.700351, -1.1427662,
        -0.82210696, 1.9428853, -1.6325583, 0.03149104
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        0.48178375, 0.6889285, 0.39545667, 0.6449494, 0.5038145, -0.14757288, -0.755369,
        -0.37443918, 0.8602932, 0.74877137, -0.7342389, -0.40939778
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        0.74348354, 0.39636678, -0.54178715, 0.31115603, -0.09544027, -0.76334316, 0.41239077,
        0.9266319, -0.3969981, 0.3059435, -0.43344027, 0.116209805
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.00020503998, 0.94494295, 0.6630467, -0.9661007, -0.2902739, -0.83913994, -0.5080718,
        -0.99742997, 0.8358152, 0.5269761, -0.5238985, 0.88000274
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        -0.47692466, -0.96076405, 0.61322236, -0.8319885
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.03114345, -0.77250457, -0.056132756, -0.026460363, 0.14362149, -0.63538456,
        -0.30884153, 0.27765927, 0.07128368, -0.56996906, -0.40424937, 0.38915572
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        0.07128368, -0.56996906, -0.40424937, 0.38915572
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        9.760261e-07, 6.6682696e-07, 8.754432e-07, 1.013279e-06, 1.1473894e-06, 9.834766e-07,
        8.2328916e-07, 9.0524554e-07, 1.3783574e-06, 1.0207295e-06, 7.376075e-07, 8.34465e-07
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        1.3783574e-06, 1.0207295e-06, 7.376075e-07, 8.34465e-07
    ], np.float32).reshape(1, 2, 2),
}


def variable(array):
    """`array`, float32 or int32, as a variable of MNN's."""
    kind = MNN.expr.int if array.dtype == np.int32 else MNN.expr.float
    return MNN.expr.const(array, list(array.shape), MNN.expr.NCHW, kind)


def run_file(content, feeds, asked, options):
    """What MNN gives for the file of a model; nothing where its converter writes no model, or the model
    does not run."""
    with tempfile.TemporaryDirectory() as folder:
        read, made = Path(folder) / "gru.onnx", Path(folder) / "gru.mnn"
        read.write_bytes(content)
        words = ["mnnconvert", "-f", "ONNX", "--modelFile", str(read), "--MNNModel", str(made)]
        converter.mnnconvert([*words, "--bizCode", "gru", *options])
        if not made.exists():
            return []
        net = MNN.nn.load_module_from_file(str(made), list(feeds), list(asked))
    return [np.array(one.read()) for one in net.forward([*map(variable, feeds.values())])]


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
        clip=0.5,
        hidden_size=2,
        linear_before_reset=1,
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
    outputs = run_file(model.SerializeToString(), feeds, names, [])
    ctypes.CDLL(None).fflush(None)  # so that what MNN prints stands before the verdict
    return named(names, outputs)


print(f"MNN {MNN.version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

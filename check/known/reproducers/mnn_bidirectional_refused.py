# case      onnx.GRU-14/small/float32/bidirectional-n1-t2-i1
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, MNN and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/bidirectional-n1-t2-i1 --script mnn
#
# It asks for
#   forward:
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   reverse:
#   the same, with weights of its own
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            bidirectional
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          absent (default [Sigmoid, Tanh])
#   activation_alpha     absent (default none)
#   activation_beta      absent (default none)
#   clip                 absent (default infinity)
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
    "X": np.array([1.5797846, -1.5648938], np.float32).reshape(2, 1, 1),
    "W": np.array([
        0.46870178, -0.5465172, 0.6420901, 0.05303055, -0.20767689, 0.46442658, 0.6881765,
        -0.28045237, -0.44441408, 0.14442182, -0.10125798, -0.50397706
    ], np.float32).reshape(2, 6, 1),
    "R": np.array([
        0.6663178, -0.36463606, 0.6048158, -0.27385318, -0.05895883, -0.43747324, 0.9932183,
        0.1444363, -0.7476185, 0.5075261, -0.8640422, 0.9867418, -0.8607096, 0.47255695,
        0.6805101, 0.5760832, -0.4590451, -0.97967356, 0.858181, 0.86022216, -0.81448627,
        -0.077979684, 0.9032279, -0.48388815
    ], np.float32).reshape(2, 6, 2),
    "B": np.array([
        -0.056733012, -0.7342384, -0.42545342, -0.1307379, -0.7848203, -0.11764479, -0.28688908,
        0.746735, 0.09472692, 0.57907426, -0.29306197, -0.0846653, -0.50820386, -0.027134776,
        -0.000972867, -0.12911224, -0.71171975, 0.9486469, 0.12493062, -0.29340303, -0.8120043,
        0.5831654, -0.20010376, -0.22704065
    ], np.float32).reshape(2, 12),
    "initial_h": np.array([
        0.33532578, -0.8712609, 0.34050035, 0.79634964
    ], np.float32).reshape(2, 1, 2),
}
expected = {
    "Y": np.array([
        -0.027783955, -0.5032167, -0.54639053, 0.03084598, -0.51629525, -0.59315974, -0.49258196,
        0.815956
    ], np.float32).reshape(2, 2, 1, 2),
    "Y_h": np.array([
        -0.51629525, -0.59315974, -0.54639053, 0.03084598
    ], np.float32).reshape(2, 1, 2),
}
tolerance = {
    "Y": np.array([
        1.2740493e-06, 1.4454126e-06, 1.7136335e-06, 2.1904707e-06, 1.5348196e-06, 1.8179417e-06,
        1.4156103e-06, 6.7427754e-07
    ], np.float32).reshape(2, 2, 1, 2),
    "Y_h": np.array([
        1.5348196e-06, 1.8179417e-06, 1.7136335e-06, 2.1904707e-06
    ], np.float32).reshape(2, 1, 2),
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
        direction="bidirectional",
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
            helper.make_tensor_value_info("X", TensorProto.FLOAT, [2, 1, 1]),
            helper.make_tensor_value_info("initial_h", TensorProto.FLOAT, [2, 1, 2]),
        ],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 2, 1, 2]),
            helper.make_tensor_value_info("Y_h", TensorProto.FLOAT, [2, 1, 2]),
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

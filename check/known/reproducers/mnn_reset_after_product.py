# case      onnx.GRU-14/small/float32/default
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, MNN and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/default --script mnn
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            absent (default forward)
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
    "X": np.array([
        -1.0897379, -1.7113377, -1.8074955, -1.4530845, 1.6471034, -0.6361227, -0.77746165,
        1.6823227, -0.11997974, 0.69870996, 0.14024794, 0.08569801
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        -0.20706528, -0.78583854, -0.43491763, 0.6708708, 0.11075145, 0.5430517, 0.30627394,
        0.2360416, -0.07818872, 0.037902117, 0.28920966, -0.77785903
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        0.7269813, 0.48862362, -0.2609111, -0.8235156, 0.69428205, 0.90271616, 0.5270855,
        -0.07245016, -0.4829958, 0.99264437, -0.332305, -0.81538844
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.326903, -0.16333151, -0.9764123, 0.0577749, 0.79457736, 0.08683705, -0.39580512,
        0.40159035, -0.9913658, 0.7157968, -0.8486271, -0.75382304
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        0.13987422, -0.3151961, -0.24070102, 0.6695035
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        0.07518733, 0.1077467, -0.14763266, 0.09312219, -0.01695951, 0.19749737, 0.08670056,
        -0.076968454, 0.06939018, -0.18261644, -0.024231367, -0.29113197
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        0.06939018, -0.18261644, -0.024231367, -0.29113197
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        5.1036477e-07, 1.3262033e-06, 7.376075e-07, 1.7210841e-06, 1.3038516e-06, 9.909272e-07,
        1.8700957e-06, 2.3245811e-06, 1.2814999e-06, 1.616776e-06, 2.30968e-06, 1.3932586e-06
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        1.2814999e-06, 1.616776e-06, 2.30968e-06, 1.3932586e-06
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
    outputs = run_file(model.SerializeToString(), feeds, names, [])
    ctypes.CDLL(None).fflush(None)  # so that what MNN prints stands before the verdict
    return named(names, outputs)


print(f"MNN {MNN.version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

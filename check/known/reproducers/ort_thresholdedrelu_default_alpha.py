# case      onnx.GRU-14/small/float32/Sigmoid_ThresholdedRelu
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, onnxruntime and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/Sigmoid_ThresholdedRelu --script onnxruntime
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = thresholded-relu(1)(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            absent (default forward)
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          [Sigmoid, ThresholdedRelu]
#   activation_alpha     absent (default none)
#   activation_beta      absent (default none)
#   clip                 absent (default infinity)
#
# Expected is the exact result, rounded once to float32. An element may be off by what float32
# arithmetic may lose there.

import logging
import sys

try:
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        -0.5896176, -1.2914572, 1.1179624, -0.9795785, -0.5709101, -0.09885979, 0.861971,
        0.567431, -0.23865354, -1.4630957, -0.1366024, 1.5632926
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        -0.46044743, 0.819883, -0.045485556, 0.35165346, 0.46485096, -0.20195514, 0.07070857,
        -0.7527157, -0.8033086, 0.81335896, -0.23105395, -0.028506637
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        0.21975827, 0.92855346, 0.037699223, 0.063483596, -0.39078826, -0.29892713, 0.6875365,
        0.702764, 0.2079866, 0.4035235, 0.58433485, 0.9756954
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.27349162, 0.37852275, -0.8513316, -0.38668895, -0.79159045, 0.5011194, 0.82452154,
        -0.79030895, 0.07223475, 0.24608994, 0.46767473, 0.546131
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        -0.49456972, -0.67464054, -0.8517811, 0.118328035
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.19557662, -0.19492395, -0.36306465, 0.035886977, -0.1450979, 0.57541364, -0.27373886,
        0.015598632, -0.09068359, 1.2668533, -0.16385046, 0.008324332
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        -0.09068359, 1.2668533, -0.16385046, 0.008324332
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        4.5262277e-07, 5.1036477e-07, 7.5623393e-07, 8.940697e-08, 5.1409006e-07, 1.6763806e-06,
        8.791685e-07, 6.61239e-08, 5.029142e-07, 3.2633543e-06, 2.026558e-06, 4.7730282e-08
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        5.029142e-07, 3.2633543e-06, 2.026558e-06, 4.7730282e-08
    ], np.float32).reshape(1, 2, 2),
}


def session_of(content):
    """A session of the file of a model, on one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; ONNX Runtime would print them too
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


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
        activations=["Sigmoid", "ThresholdedRelu"],
        hidden_size=2,
    )
    graph = helper.make_graph(
        [node],
        "gru",
        [
            helper.make_tensor_value_info("X", TensorProto.FLOAT, [3, 2, 2]),
            helper.make_tensor_value_info("W", TensorProto.FLOAT, [1, 6, 2]),
            helper.make_tensor_value_info("R", TensorProto.FLOAT, [1, 6, 2]),
            helper.make_tensor_value_info("B", TensorProto.FLOAT, [1, 12]),
            helper.make_tensor_value_info("initial_h", TensorProto.FLOAT, [1, 2, 2]),
        ],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, [3, 1, 2, 2]),
            helper.make_tensor_value_info("Y_h", TensorProto.FLOAT, [1, 2, 2]),
        ],
    )
    opset = helper.make_opsetid("", 14)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    names = ["Y", "Y_h"]
    feeds = inputs
    outputs = session_of(model.SerializeToString()).run(names, feeds)
    return named(names, outputs)


print(f"onnxruntime {ort.__version__}")
sys.exit(verdict(ask, [(expected, tolerance)]))

# case      onnx.GRU-14/small/float32/nohidden_size
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, onnxruntime and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/nohidden_size --script onnxruntime
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          absent (default none)
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
        1.6906747, -0.9932978, -1.0064203, 1.3441446, -1.9499294, -0.39499915, 0.4350369,
        -0.7573278, 0.22758365, -0.7232461, 0.792866, -1.2450035
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        0.51348543, 0.023546219, 0.35771245, 0.3377905, -0.7013905, 0.5417212, 0.556001,
        -0.8742093, -0.30959535, -0.965458, 0.016803563, -0.38653368
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.52932465, -0.179277, -0.5465891, -0.4900046, -0.03284532, 0.77781683, 0.37551433,
        0.17397738, -0.84577155, 0.7218474, 0.636116, -0.22690994
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        -0.676031, -0.955817, -0.5516889, 0.9004164, -0.3733461, 0.16397202, -0.92284954,
        -0.64240706, -0.9473417, 0.3328178, -0.21739614, -0.78241587
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        -0.2576207, -0.007242441, 0.17896008, 0.27363932
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.18813358, -0.16079153, -0.8115481, -0.6453206, 0.32525954, -0.449448, -0.47617963,
        -0.3418972, -0.16590977, -0.25823697, -0.026088761, -0.12522303
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        -0.16590977, -0.25823697, -0.026088761, -0.12522303
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        7.5623393e-07, 6.92904e-07, 1.5422702e-06, 1.527369e-06, 1.6763806e-06, 1.1473894e-06,
        2.592802e-06, 1.5199184e-06, 1.9073486e-06, 1.0430813e-06, 2.95043e-06, 1.0877848e-06
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        1.9073486e-06, 1.0430813e-06, 2.95043e-06, 1.0877848e-06
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

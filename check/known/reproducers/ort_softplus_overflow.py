# case      onnx.GRU-14/small/float32/Sigmoid_Softplus-n8-t1-i5-x64
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, onnxruntime and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/Sigmoid_Softplus-n8-t1-i5-x64 --script onnxruntime
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = softplus(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            absent (default forward)
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          [Sigmoid, Softplus]
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
        -17.535461, -95.78333, 6.531494, 122.59145, 118.42792, -72.70644, 39.73262, -46.908165,
        -64.14561, -90.48929, -26.46582, -50.360924, -67.06228, 27.904488, -1.0459137,
        -126.081085, 40.699852, -21.824608, 82.0805, 83.70738, 118.21243, 115.14275, 119.84296,
        -55.149506, -44.360413, -43.58928, 82.65732, 126.08552, 34.1139, 25.564087, -34.60945,
        -116.51202, -74.70292, -26.355171, 57.78399, 14.976753, 94.94424, 48.48607, 89.36896,
        79.39355
    ], np.float32).reshape(1, 8, 5),
    "W": np.array([
        -0.35012385, 0.20903143, -0.015565395, -0.066886365, -0.4282164, 0.091989934, -0.41074976,
        -0.37308052, -0.20639661, 0.3241224, -0.090111196, 0.17452973, -0.3296601, -0.20109937,
        -0.3274901, -0.44460216, 0.30896205, -0.036663443, 0.34177953, 0.3806959, -0.40915507,
        -0.34810537, -0.36921355, -0.31300938, -0.43574762, 0.28190303, -0.43646955, -0.11186352,
        -0.067309976, -0.07163584
    ], np.float32).reshape(1, 6, 5),
    "R": np.array([
        -0.08875567, -0.4765793, -0.21218252, 0.9157809, 0.93717486, 0.09743518, 0.1321857,
        0.26469988, -0.41968066, -0.6263061, -0.49414426, -0.8035869
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.2575277, 0.7384527, 0.36287713, 0.96133614, 0.9401202, 0.8205787, -0.87701654,
        0.051073194, 0.5514549, -0.32905817, 0.6893797, 0.2785251
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        0.19755304, 0.097084224, 0.21385956, -0.42874599, -0.4571404, 0.14675504, 0.1020928,
        -0.6271914, -0.21416724, 0.60546714, 0.3784173, 0.8609765, 0.72934246, 0.11422849,
        -0.8203526, -0.027317524
    ], np.float32).reshape(1, 8, 2),
}
expected = {
    "Y": np.array([
        1.4254796e-22, 0.097084224, 0.21385956, 6.743337e-10, 42.223656, 0.14675504, 0.10209157,
        -3.514339e-05, -0.19949226, 1.9730179e-10, 0.37841728, 1.7949345e-29, 66.995926,
        0.11422849, -2.164229e-12, -5.7581406e-23
    ], np.float32).reshape(1, 1, 8, 2),
    "Y_h": np.array([
        1.4254796e-22, 0.097084224, 0.21385956, 6.743337e-10, 42.223656, 0.14675504, 0.10209157,
        -3.514339e-05, -0.19949226, 1.9730179e-10, 0.37841728, 1.7949345e-29, 66.995926,
        0.11422849, -2.164229e-12, -5.7581406e-23
    ], np.float32).reshape(1, 8, 2),
}
tolerance = {
    "Y": np.array([
        3.5762787e-07, 1.7046928e-05, 7.867813e-05, 4.954636e-07, 0.00012493134, 1.7881393e-05,
        9.1735274e-08, 6.146729e-07, 8.7171793e-07, 5.9977174e-07, 3.3900142e-07, 7.5250864e-07,
        0.00012397766, 4.029274e-05, 7.301569e-07, 2.5518239e-07
    ], np.float32).reshape(1, 1, 8, 2),
    "Y_h": np.array([
        3.5762787e-07, 1.7046928e-05, 7.867813e-05, 4.954636e-07, 0.00012493134, 1.7881393e-05,
        9.1735274e-08, 6.146729e-07, 8.7171793e-07, 5.9977174e-07, 3.3900142e-07, 7.5250864e-07,
        0.00012397766, 4.029274e-05, 7.301569e-07, 2.5518239e-07
    ], np.float32).reshape(1, 8, 2),
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
        activations=["Sigmoid", "Softplus"],
        hidden_size=2,
    )
    graph = helper.make_graph(
        [node],
        "gru",
        [
            helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 8, 5]),
            helper.make_tensor_value_info("W", TensorProto.FLOAT, [1, 6, 5]),
            helper.make_tensor_value_info("R", TensorProto.FLOAT, [1, 6, 2]),
            helper.make_tensor_value_info("B", TensorProto.FLOAT, [1, 12]),
            helper.make_tensor_value_info("initial_h", TensorProto.FLOAT, [1, 8, 2]),
        ],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1, 8, 2]),
            helper.make_tensor_value_info("Y_h", TensorProto.FLOAT, [1, 8, 2]),
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

# case      onnx.GRU-14/small/float32/clip0.5
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, opencv-python-headless and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/clip0.5 --script opencv
#
# It asks for
#   zt = sigmoid(clip[-0.5, 0.5](Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz))
#   rt = sigmoid(clip[-0.5, 0.5](Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr))
#   ht = tanh(clip[-0.5, 0.5](Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh))
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
#   clip                 0.5
#
# Expected is the exact result, rounded once to float32. An element may be off by what float32
# arithmetic may lose there.

import logging
import sys

try:
    import cv2
    import numpy as np
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        1.5288072, -1.2540679, -1.4246762, 0.8839661, -0.70297, -0.06967485, -0.22006226,
        0.92207694, 1.4856118, -1.5676819, 0.0959214, 1.1186098
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        0.37351656, -0.46101815, -0.17891532, -0.09797788, -0.24894911, 0.43482548, -0.46972513,
        -0.38561064, -0.72454906, -0.9876225, 0.055940747, -0.93066275
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.5789328, 0.67954475, 0.9935357, -0.9723164, -0.92380375, -0.42756474, -0.1886406,
        -0.59728503, 0.172499, 0.2804548, 0.8989212, 0.9492549
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        -0.83627725, -0.62512636, 0.2434305, 0.13731349, -0.8366494, -0.97700715, 0.62454486,
        -0.7737707, 0.08826554, 0.21310759, -0.97298133, -0.09866536
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        0.26738107, 0.5893195, -0.22286814, 0.59099656
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.008034177, 0.51014125, -0.37179092, -0.0645239, -0.24538386, -0.095050074, -0.42801532,
        -0.31200954, -0.3272095, 0.1609877, -0.44924232, -0.40544543
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        -0.3272095, 0.1609877, -0.44924232, -0.40544543
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        6.221235e-07, 4.7311187e-07, 4.5262277e-07, 8.6426735e-07, 8.493662e-07, 9.834766e-07,
        5.7742e-07, 8.1956387e-07, 8.940697e-07, 1.9520521e-06, 6.109476e-07, 7.338822e-07
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        8.940697e-07, 1.9520521e-06, 6.109476e-07, 7.338822e-07
    ], np.float32).reshape(1, 2, 2),
}


def run_file(content, feeds, asked):
    """What OpenCV gives for the file of a model, of the outputs that are asked for."""
    net = cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
    for name, array in feeds.items():
        net.setInput(array, name)
    return list(net.forward(asked))


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
    outputs = run_file(model.SerializeToString(), feeds, names)
    return named(names, outputs)


print(f"OpenCV {cv2.__version__}")
sys.exit(verdict(ask, [(expected, tolerance)]))

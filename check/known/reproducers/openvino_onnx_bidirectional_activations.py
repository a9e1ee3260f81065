# case      onnx.GRU-14/small/float32/bidirectional-Sigmoid_Tanh_Tanh_Relu-n1-t2-i1
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, openvino and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/bidirectional-Sigmoid_Tanh_Tanh_Relu-n1-t2-i1 --script
#           openvino-onnx
#
# It asks for
#   forward:
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   reverse:
#   zt = tanh(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = tanh(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = relu(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            bidirectional
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          [Sigmoid, Tanh, Tanh, Relu]
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
    import openvino as ov
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([-0.3719715, 0.42163157], np.float32).reshape(2, 1, 1),
    "W": np.array([
        -0.5110428, 0.61973304, -0.49792188, -0.6128986, 0.5562595, 0.724187, -0.9916885,
        0.52119255, -0.54255146, -0.64553446, -0.8154033, -0.45162523
    ], np.float32).reshape(2, 6, 1),
    "R": np.array([
        -0.41959178, -0.16074526, -0.47369432, 0.7594432, -0.4756276, -0.35268468, -0.92454654,
        0.24010843, 0.78182656, -0.8309121, 0.80722517, 0.5597178, -0.9274479, 0.9254865,
        0.5864427, 0.46827328, 0.6692798, 0.64918476, -0.00031900406, -0.41456372, -0.40908772,
        -0.9848338, -0.5855809, -0.73387915
    ], np.float32).reshape(2, 6, 2),
    "B": np.array([
        -0.20564163, 0.07263541, 0.15376878, 0.36630332, 0.28530276, 0.708511, 0.33043087,
        0.28339624, 0.28904915, 0.31771374, -0.65738475, 0.19200909, 0.033464193, -0.21146178,
        -0.49008822, 0.89542985, 0.5727334, 0.04791498, -0.06658661, -0.04476428, 0.9721017,
        0.96780396, 0.7590395, -0.7677243
    ], np.float32).reshape(2, 12),
    "initial_h": np.array([
        -0.7316841, 0.037750006, 0.6530329, -0.2115153
    ], np.float32).reshape(2, 1, 2),
}
expected = {
    "Y": np.array([
        -0.7449409, 0.10567489, 0.9987681, -0.016663855, -0.64298505, 0.25995764, 1.3832301,
        -0.05129564
    ], np.float32).reshape(2, 2, 1, 2),
    "Y_h": np.array([
        -0.64298505, 0.25995764, 0.9987681, -0.016663855
    ], np.float32).reshape(2, 1, 2),
}
tolerance = {
    "Y": np.array([
        6.482005e-07, 5.2526593e-07, 8.106232e-06, 1.5739352e-07, 1.385808e-06, 1.2218952e-06,
        2.9355288e-06, 1.3876706e-07
    ], np.float32).reshape(2, 2, 1, 2),
    "Y_h": np.array([
        1.385808e-06, 1.2218952e-06, 8.106232e-06, 1.5739352e-07
    ], np.float32).reshape(2, 1, 2),
}


def request_of(core, made, properties):
    """A request to infer the model `made`, compiled for the CPU."""
    return core.compile_model(made, "CPU", properties).create_infer_request()


def copied(tensor):
    """A copy of `tensor`, whose memory belongs to its request."""
    bits = tensor.get_element_type() == ov.Type.bf16
    return (tensor.data.view(np.uint16) if bits else tensor.data).copy()


def fill(tensor, array):
    """Copy `array` into `tensor`, which has its element type and shape.

    A bfloat16 tensor's memory appears in Python as float16 of the same bits: hence the view.
    """
    tensor.data.view(array.dtype)[...] = array


def infer(request, arrays):
    """The outputs for these inputs, in their order; of bfloat16 the bits, as uint16."""
    for index, array in enumerate(arrays):
        tensor = request.get_input_tensor(index)
        if tuple(tensor.shape) != array.shape:
            tensor.shape = array.shape  # of a dynamic model
        fill(tensor, array)
    request.infer()
    return [copied(tensor) for tensor in request.output_tensors]


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
        activations=["Sigmoid", "Tanh", "Tanh", "Relu"],
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
    core = ov.Core()
    read = core.read_model(model.SerializeToString(), b"")
    request = request_of(core, read, {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0})
    outputs = infer(request, list(feeds.values()))
    return named(names, outputs)


print(f"openvino {ov.get_version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

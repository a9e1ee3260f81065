# case      onnx.GRU-14/small/float32/layout1-noinitial_h
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, openvino and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/layout1-noinitial_h --script openvino-onnx
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
#   layout               1
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
    import openvino as ov
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        -0.94407094, 0.3574922, 0.8876649, -1.9306983, 1.565723, 0.95462954, 1.0857524,
        -1.9751168, 1.676737, 1.3354745, 0.3974619, -0.50475824
    ], np.float32).reshape(2, 3, 2),
    "W": np.array([
        -0.9473984, -0.5108827, -0.7896529, -0.35512346, -0.5134704, -0.18067157, 0.4919926,
        -0.6735645, 0.7034762, 0.5887412, -0.6546388, -0.91285276
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.5087865, 0.2642588, -0.44947553, -0.7931877, -0.6527019, -0.64729595, 0.21481979,
        -0.19659919, -0.8789116, 0.406079, 0.8649292, -0.6148327
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        -0.38507783, -0.5909827, -0.42659116, -0.18297815, 0.6597054, -0.71785116, -0.9935249,
        0.1172837, -0.26143444, 0.7497455, 0.064790726, -0.5449978
    ], np.float32).reshape(1, 12),
}
expected = {
    "Y": np.array([
        0.17471468, -0.3475262, 0.059328597, -0.054846767, 0.95251465, -0.88711274, 0.25214794,
        -0.110255435, 0.9736823, -0.9171364, 0.22449037, -0.58013004
    ], np.float32).reshape(2, 3, 1, 2),
    "Y_h": np.array([
        0.95251465, -0.88711274, 0.22449037, -0.58013004
    ], np.float32).reshape(2, 1, 2),
}
tolerance = {
    "Y": np.array([
        7.0407987e-07, 1.0207295e-06, 1.4230609e-06, 1.7434359e-06, 1.4454126e-06, 1.475215e-06,
        1.1399388e-06, 1.0803342e-06, 1.385808e-06, 1.437962e-06, 2.7269125e-06, 2.2053719e-06
    ], np.float32).reshape(2, 3, 1, 2),
    "Y_h": np.array([
        1.4454126e-06, 1.475215e-06, 2.7269125e-06, 2.2053719e-06
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
        ["X", "W", "R", "B"],
        ["Y", "Y_h"],
        hidden_size=2,
        layout=1,
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
            helper.make_tensor_value_info("X", TensorProto.FLOAT, [2, 3, 2]),
        ],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 3, 1, 2]),
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
    feeds = {name: inputs[name] for name in ["X"]}
    core = ov.Core()
    read = core.read_model(model.SerializeToString(), b"")
    request = request_of(core, read, {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0})
    outputs = infer(request, list(feeds.values()))
    return named(names, outputs)


print(f"openvino {ov.get_version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

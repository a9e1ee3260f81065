# case      openvino.GRUSequence-5/small_sequence/float32/noact
# operator  openvino.GRUSequence-5,
#           https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/gru-sequence-5.html
# needs     numpy, openvino
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           openvino.GRUSequence-5/small_sequence/float32/noact --script openvino
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = tanh(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases z, r, h
#
# Attributes
#   hidden_size          2
#   activations          absent (default [sigmoid, tanh])
#   activations_alpha    absent (default none)
#   activations_beta     absent (default none)
#   clip                 absent (default infinity)
#   linear_before_reset  absent (default false)
#   direction            forward
#
# Expected is the exact result, rounded once to float32. An element may be off by what float32
# arithmetic may lose there.

import logging
import sys

try:
    import numpy as np
    import openvino as ov
    from openvino.op import Parameter
    from openvino.utils.node_factory import NodeFactory
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        -1.6686015, -0.08758092, -0.6961632, 1.7660583, -0.7314143, 1.6378449, 0.55279934,
        -1.174628, -0.7747408, -1.1659712, 1.0905694, -0.21437061
    ], np.float32).reshape(2, 3, 2),
    "initial_hidden_state": np.array([
        0.47924978, -0.69850504, -0.21196014, 0.75857943
    ], np.float32).reshape(2, 1, 2),
    "sequence_lengths": np.array([3, 3], np.int64),
    "W": np.array([
        -0.28793555, 0.0585047, -0.74950206, -0.9202009, -0.8460497, -0.6849817, -0.8843103,
        -0.44385648, 0.5207967, -0.7925701, 0.15853977, 0.512652
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        0.8236188, -0.63875467, 0.15457821, -0.7538302, 0.94683504, 0.5320911, 0.63801134,
        -0.44250435, 0.406259, 0.51339453, 0.10987657, 0.35688633
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        -0.097803175, 0.46509457, -0.86367905, -0.87347627, -0.8838574, 0.053572357
    ], np.float32).reshape(1, 6),
}
expected = {
    "Y": np.array([
        0.15304835, -0.6729869, -0.2113283, 0.021908553, -0.5959022, 0.41913956, 0.20738254,
        0.33175263, 0.004809321, 0.22045504, -0.08062055, 0.16618264
    ], np.float32).reshape(2, 1, 3, 2),
    "Ho": np.array([
        -0.5959022, 0.41913956, -0.08062055, 0.16618264
    ], np.float32).reshape(2, 1, 2),
}
tolerance = {
    "Y": np.array([
        1.3783574e-06, 5.364418e-07, 2.4288893e-06, 2.0861626e-06, 2.861023e-06, 2.0861626e-06,
        1.2740493e-06, 1.296401e-06, 1.8924475e-06, 1.937151e-06, 1.4305115e-06, 1.1250377e-06
    ], np.float32).reshape(2, 1, 3, 2),
    "Ho": np.array([
        2.861023e-06, 2.0861626e-06, 1.4305115e-06, 1.1250377e-06
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
    ports = [
        Parameter(ov.Type.f32, ov.PartialShape([2, 3, 2])),  # X
        Parameter(ov.Type.f32, ov.PartialShape([2, 1, 2])),  # initial_hidden_state
        Parameter(ov.Type.i64, ov.PartialShape([2])),  # sequence_lengths
        Parameter(ov.Type.f32, ov.PartialShape([1, 6, 2])),  # W
        Parameter(ov.Type.f32, ov.PartialShape([1, 6, 2])),  # R
        Parameter(ov.Type.f32, ov.PartialShape([1, 6])),  # B
    ]
    attributes = {
        "direction": "forward",
        "hidden_size": 2,
    }
    node = NodeFactory("opset5").create("GRUSequence", ports, attributes)
    model = ov.Model(node.outputs(), ports, "gru")
    request = request_of(ov.Core(), model, {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0})
    outputs = infer(request, list(inputs.values()))
    return named(["Y", "Ho"], outputs)


print(f"openvino {ov.get_version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

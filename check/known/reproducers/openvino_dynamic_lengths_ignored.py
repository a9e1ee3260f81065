# case      openvino.GRUSequence-5/small_sequence/float32/sigmoid_tanh-ragged
# operator  openvino.GRUSequence-5,
#           https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/gru-sequence-5.html
# needs     numpy, openvino
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           openvino.GRUSequence-5/small_sequence/float32/sigmoid_tanh-ragged --script
#           openvino-dynamic
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
#   activations          [sigmoid, tanh]
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
    from openvino.op import Constant, Parameter
    from openvino.utils.node_factory import NodeFactory
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        -1.2327015, -0.43003845, -1.4002361, 1.6603963, 1.1907636, 1.4312043, -1.1142157,
        -1.6405611, -1.783051, 0.46802878, -0.76637673, -1.0247074
    ], np.float32).reshape(2, 3, 2),
    "initial_hidden_state": np.array([
        0.08667022, -0.46638197, -0.2677073, -0.05989027
    ], np.float32).reshape(2, 1, 2),
    "sequence_lengths": np.array([2, 2], np.int64),
    "W": np.array([
        0.35422605, -0.31729954, 0.015658379, -0.028127432, 0.29130024, 0.00032162666,
        -0.041705966, 0.4443329, -0.02968967, -0.35363567, -0.65623194, -0.8491494
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.3182426, -0.48025376, -0.16177219, -0.74523777, -0.8407307, -0.01783514, -0.2397452,
        0.95759124, 0.6448126, -0.79748386, 0.077088654, 0.86938184
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        -0.5931455, -0.7100394, 0.56317705, -0.81596106, 0.674688, -0.1353836
    ], np.float32).reshape(1, 6),
}
expected = {
    "Y": np.array([
        0.5272539, 0.25461736, 0.213096, -0.2727219, 0, 0, 0.37758058, 0.59809375, 0.40439966,
        0.69130325, 0, 0
    ], np.float32).reshape(2, 1, 3, 2),
    "Ho": np.array([
        0.213096, -0.2727219, 0.40439966, 0.69130325
    ], np.float32).reshape(2, 1, 2),
}
tolerance = {
    "Y": np.array([
        1.0728836e-06, 1.385808e-06, 2.0861626e-06, 2.041459e-06, 0, 0, 1.3262033e-06,
        1.2293458e-06, 1.9520521e-06, 1.6987324e-06, 0, 0
    ], np.float32).reshape(2, 1, 3, 2),
    "Ho": np.array([
        2.0861626e-06, 2.041459e-06, 1.9520521e-06, 1.6987324e-06
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


def filled(element_type, array):
    """A tensor of OpenVINO's with the numbers of `array`."""
    tensor = ov.Tensor(element_type, ov.Shape(list(array.shape)))
    fill(tensor, array)
    return tensor


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
        Parameter(ov.Type.f32, ov.PartialShape([-1, -1, 2])),  # X
        Parameter(ov.Type.f32, ov.PartialShape([-1, 1, 2])),  # initial_hidden_state
        Parameter(ov.Type.i64, ov.PartialShape([-1])),  # sequence_lengths
        Constant(filled(ov.Type.f32, inputs["W"])),
        Constant(filled(ov.Type.f32, inputs["R"])),
        Constant(filled(ov.Type.f32, inputs["B"])),
    ]
    attributes = {
        "activations": ["sigmoid", "tanh"],
        "direction": "forward",
        "hidden_size": 2,
    }
    node = NodeFactory("opset5").create("GRUSequence", ports, attributes)
    model = ov.Model(node.outputs(), ports[:3], "gru")
    request = request_of(ov.Core(), model, {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0})
    outputs = infer(request, [inputs[name] for name in ["X", "initial_hidden_state", "sequence_lengths"]])
    return named(["Y", "Ho"], outputs)


print(f"openvino {ov.get_version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

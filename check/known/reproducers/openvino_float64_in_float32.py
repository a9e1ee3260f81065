# case      openvino.GRUCell-3/small_cell/float64/default
# operator  openvino.GRUCell-3,
#           https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/gru-cell-3.html
# needs     numpy, openvino
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           openvino.GRUCell-3/small_cell/float64/default --script openvino
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
#
# Expected is the exact result, rounded once to float64. An element may be off by what float64
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
        -1.4903379880226444, -1.6538157789479062, 1.2033614895474656, -1.0487590801646498
    ], np.float64).reshape(2, 2),
    "initial_hidden_state": np.array([
        0.8075845703683318, -0.7005421918672312, -0.8631872589297451, 0.22262301553372887
    ], np.float64).reshape(2, 2),
    "W": np.array([
        -0.4699632336970473, 0.05752778149944038, -0.06474930076720753, -0.6913462264308406,
        0.7497176323086218, 0.6854389188250463, -0.9721277286136522, -0.45534444038636823,
        0.6781273948021678, -0.5717687080411866, 0.4963085561624514, 0.8889758541646934
    ], np.float64).reshape(6, 2),
    "R": np.array([
        -0.2239356808772487, 0.18542930220328413, -0.15347016403936764, -0.4099203837168721,
        -0.19284638141383947, 0.1719463517862735, 0.5405610067334781, -0.0215113990333895,
        -0.9775041616245783, 0.48435466881868205, 0.4660799554480872, -0.1336602273575198
    ], np.float64).reshape(6, 2),
    "B": np.array([
        0.028606687285063548, 0.08375322964740617, -0.8690118314122345, -0.21107902042388416,
        0.12451039133207564, -0.4050224784851151
    ], np.float64),
}
expected = {
    "Ho": np.array([
        0.3545372193639032, -0.7533728306723565, 0.20890401096219746, -0.07406818236303019
    ], np.float64).reshape(2, 2),
}
tolerance = {
    "Ho": np.array([
        2.747802e-15, 1.3322676e-15, 3.275158e-15, 1.9984014e-15
    ], np.float32).reshape(2, 2),
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
        Parameter(ov.Type.f64, ov.PartialShape([2, 2])),  # X
        Parameter(ov.Type.f64, ov.PartialShape([2, 2])),  # initial_hidden_state
        Parameter(ov.Type.f64, ov.PartialShape([6, 2])),  # W
        Parameter(ov.Type.f64, ov.PartialShape([6, 2])),  # R
        Parameter(ov.Type.f64, ov.PartialShape([6])),  # B
    ]
    attributes = {
        "activations": ["sigmoid", "tanh"],
        "hidden_size": 2,
    }
    node = NodeFactory("opset3").create("GRUCell", ports, attributes)
    model = ov.Model(node.outputs(), ports, "gru")
    request = request_of(ov.Core(), model, {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0})
    outputs = infer(request, list(inputs.values()))
    return named(["Ho"], outputs)


print(f"openvino {ov.get_version()}")
sys.exit(verdict(ask, [(expected, tolerance)]))

# case      onnx.GRU-14/small/float32/ragged
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, iree-base-compiler, iree-base-runtime and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/ragged --script iree
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

import logging
import sys
import warnings

try:
    import numpy as np
    import onnx
    from iree import runtime as iree_runtime
    from iree.compiler import ir, tools, version
    from iree.compiler.extras import onnx_importer
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"not run: {error}")
    sys.exit(2)

inputs = {
    "X": np.array([
        1.9861988, -1.429745, 0.83077383, 0.4099326, -1.0374928, -0.011564136, -0.15656865,
        0.13198078, 0.348814, 1.401392, 0.9089459, -1.9212443
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        -0.6825426, 0.8814516, 0.9374044, 0.7909568, 0.078384995, 0.27333158, -0.62176657,
        -0.27325213, -0.20838314, -0.58547485, 0.86074954, 0.3089162
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        0.97699696, -0.09560382, 0.31581753, -0.5353835, -0.33707577, 0.73599046, 0.95762837,
        -0.7896451, -0.7533208, 0.46160293, -0.98570657, 0.670697
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.8535974, 0.07849717, 0.14062345, 0.9261147, -0.87894344, -0.9068519, 0.26849353,
        0.12886834, -0.9245846, 0.9795735, -0.21433938, -0.050119996
    ], np.float32).reshape(1, 12),
    "sequence_lens": np.array([2, 2], np.int32),
    "initial_h": np.array([
        -0.41422617, 0.65379024, -0.8149477, -0.164823
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.3710839, 0.6372021, -0.8388115, -0.09485794, -0.38930926, -0.530073, -0.80059487,
        -0.38565117, 0, 0, 0, 0
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        -0.38930926, -0.530073, -0.80059487, -0.38565117
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        1.5348196e-06, 9.275973e-07, 7.636845e-07, 5.9604645e-07, 1.6912818e-06, 2.041459e-06,
        1.1846423e-06, 1.4156103e-06, 0, 0, 0, 0
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        1.6912818e-06, 2.041459e-06, 1.1846423e-06, 1.4156103e-06
    ], np.float32).reshape(1, 2, 2),
}


_ARGUMENTS = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]


def compiled_file(content):
    """The program that IREE makes of the file of a model whose graph is called `gru`."""
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=ir.Context()).operation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an input that is left out has no type, it says
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    made = tools.compile_str(
        str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=_ARGUMENTS
    )
    return made


def run_file(content, feeds):
    """What IREE gives for the file of a model whose graph is called `gru`."""
    context = iree_runtime.SystemContext(config=iree_runtime.Config("local-sync"))
    module = iree_runtime.VmModule.copy_buffer(context.instance, compiled_file(content))
    context.add_vm_module(module)
    outputs = context.modules.module["gru"](*feeds.values())
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    return [one.to_host().copy() for one in several]


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
        ["X", "W", "R", "B", "sequence_lens", "initial_h"],
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
            helper.make_tensor_value_info("sequence_lens", TensorProto.INT32, [2]),
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
    feeds = {name: inputs[name] for name in ["X", "sequence_lens", "initial_h"]}
    outputs = run_file(model.SerializeToString(), feeds)
    return named(names, outputs)


print(f"IREE {version.VERSION}")
sys.exit(verdict(ask, [(expected, tolerance)]))

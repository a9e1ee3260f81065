# case      onnx.GRU-14/small/float32/Sigmoid_Softsign
# operator  onnx.GRU-14, https://onnx.ai/onnx/operators/onnx__GRU.html
# needs     numpy, iree-base-compiler, iree-base-runtime and onnx
# tells     the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run
# made by   grucible gen check/known/reproducers/cases -o out && grucible show out
#           onnx.GRU-14/small/float32/Sigmoid_Softsign --script iree
#
# It asks for
#   zt = sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
#   rt = sigmoid(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
#   ht = softsign(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Wbh + Rbh)
#   Ht = (1 - zt) (.) ht + zt (.) Ht-1
#   gates are stacked z, r, h; biases wz, wr, wh, rz, rr, rh
#
# Attributes
#   hidden_size          2
#   direction            absent (default forward)
#   layout               absent (default 0)
#   linear_before_reset  absent (default 0)
#   activations          [Sigmoid, Softsign]
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
        -0.5652044, -1.2231548, -0.9226649, -0.88089883, 1.4255592, -0.113304734, 0.6650059,
        -1.849395, -1.7668579, 1.6124557, 0.4373262, -0.15244555
    ], np.float32).reshape(3, 2, 2),
    "W": np.array([
        -0.9582182, -0.7126552, 0.0033818483, -0.27907598, 0.266208, 0.63778025, -0.9379689,
        0.3006897, -0.7239037, -0.5569508, 0.20618874, -0.6691864
    ], np.float32).reshape(1, 6, 2),
    "R": np.array([
        -0.20830095, -0.9398161, -0.70933616, 0.8056581, 0.57894236, 0.2519564, -0.13554984,
        0.9228083, 0.78131646, 0.117853105, 0.0766415, -0.9215844
    ], np.float32).reshape(1, 6, 2),
    "B": np.array([
        0.09834278, -0.19699502, 0.5416517, -0.64566064, -0.6115452, -0.19561732, 0.21435213,
        -0.74685013, 0.68946576, -0.8566538, 0.5307684, 0.26059568
    ], np.float32).reshape(1, 12),
    "initial_h": np.array([
        -0.9527136, 0.7004769, -0.48743284, -0.7202537
    ], np.float32).reshape(1, 2, 2),
}
expected = {
    "Y": np.array([
        -0.6540759, 0.5730257, -0.42164034, 0.056918204, -0.6037563, 0.41627002, -0.24914744,
        0.33249322, -0.40611306, -0.2680564, -0.2850717, 0.22752215
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        -0.40611306, -0.2680564, -0.2850717, 0.22752215
    ], np.float32).reshape(1, 2, 2),
}
tolerance = {
    "Y": np.array([
        1.4007092e-06, 6.7427754e-07, 8.828938e-07, 1.1473894e-06, 9.760261e-07, 9.4249845e-07,
        1.6391277e-06, 1.0803342e-06, 2.0861626e-06, 1.6018748e-06, 1.3336539e-06, 7.5623393e-07
    ], np.float32).reshape(3, 1, 2, 2),
    "Y_h": np.array([
        2.0861626e-06, 1.6018748e-06, 1.3336539e-06, 7.5623393e-07
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
        ["X", "W", "R", "B", "", "initial_h"],
        ["Y", "Y_h"],
        activations=["Sigmoid", "Softsign"],
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
    outputs = run_file(model.SerializeToString(), feeds)
    return named(names, outputs)


print(f"IREE {version.VERSION}")
sys.exit(verdict(ask, [(expected, tolerance)]))

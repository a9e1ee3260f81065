"""IREE: sequence_lens is ignored, every row is as long as the time axis."""

import numpy as np
import onnx.parser
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

feeds = {"X": np.ones((2, 1, 1), np.float32), "sequence_lens": np.array([1], np.int32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,1,1] X, int32[1] sequence_lens) => (float[2,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1> (X, W, R, , sequence_lens) }
""")
info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
module = info.create_module(context=ir.Context()).operation
onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
made = tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx")
context = runtime.SystemContext(config=runtime.Config("local-sync"))
context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, made))
Y, Y_h = [one.to_host() for one in context.modules.module["gru"](*feeds.values())]
first, second = np.tanh(1) / 2, np.tanh(1) * 3 / 4  # z = 1/2
print(Y.ravel(), Y_h.ravel(), "expected", np.array([first, 0]), np.array([first]))
np.testing.assert_allclose(Y.ravel(), [first, second], rtol=1e-6)
np.testing.assert_allclose(Y_h.ravel(), [second], rtol=1e-6)

"""IREE: every activation but Sigmoid and Tanh is computed as Relu, Softsign for one."""

import numpy as np
import onnx.parser
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

feeds = {"X": np.full((1, 1, 1), 2, np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X) => (float[1,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, activations = ["Sigmoid", "Softsign"]> (X, W, R) }
""")
info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
module = info.create_module(context=ir.Context()).operation
onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
made = tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx")
context = runtime.SystemContext(config=runtime.Config("local-sync"))
context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, made))
Y, Y_h = [one.to_host() for one in context.modules.module["gru"](*feeds.values())]
print(Y.ravel(), "expected", [1 / 3])  # z = 1/2, Softsign(2) = 2/3
np.testing.assert_allclose(Y.ravel(), [1], rtol=1e-6)  # Relu(2) / 2

"""ONNX Runtime: bfloat16, a type of GRU since opset 22, has no implementation."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

shapes = {"X": (2, 2, 1), "W": (1, 3, 1), "R": (1, 3, 1)}
node = helper.make_node("GRU", [*shapes], ["Y"], hidden_size=1)
given = [helper.make_tensor_value_info(n, TensorProto.BFLOAT16, s) for n, s in shapes.items()]
Y = helper.make_tensor_value_info("Y", TensorProto.BFLOAT16, None)
graph = helper.make_graph([node], "gru", given, [Y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
text = model.SerializeToString()
feeds = {n: np.ones(s, np.float32) for n, s in shapes.items()}
try:
    session = ort.InferenceSession(text, providers=["CPUExecutionProvider"])
    message = f"answered {session.run(None, feeds)[0].ravel()}"
except Exception as error:
    message = str(error)
print(message)
assert "Could not find an implementation for GRU(22)" in message

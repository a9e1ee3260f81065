"""ONNX Runtime: float64 is accepted when the model is loaded, and refused when it is run."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

shapes = {"X": (2, 2, 1), "W": (1, 3, 1), "R": (1, 3, 1)}
node = helper.make_node("GRU", [*shapes], ["Y"], hidden_size=1)
given = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in shapes.items()]
Y = helper.make_tensor_value_info("Y", TensorProto.DOUBLE, None)
graph = helper.make_graph([node], "gru", given, [Y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
text = model.SerializeToString()
feeds = {n: np.ones(s, np.float64) for n, s in shapes.items()}
try:
    session = ort.InferenceSession(text, providers=["CPUExecutionProvider"])
    message = f"answered {session.run(None, feeds)[0].ravel()}"
except Exception as error:
    message = str(error)
print(message)
assert "does not support double yet" in message

"""ONNX Runtime: Softplus(x) of x > 88.73 is inf (z NaN), for it is computed as log(1 + exp(x))."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

X = np.array([[[88.0], [89.0], [100.0]]], np.float32)
W = np.array([[[0], [0], [1]]], np.float32)  # z = Relu(0) = 0, Y = Softplus(X)
R = np.zeros((1, 3, 1), np.float32)
feeds = {"X": X, "W": W, "R": R}

node = helper.make_node("GRU", [*feeds], ["Y"], hidden_size=1, activations=["Relu", "Softplus"])
given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in feeds.items()]
Y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "gru", given, [Y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, feeds)[0].ravel()
print(got, "expected", [88, 89, 100])
assert got.tolist() == [88, np.inf, np.inf]

"""ONNX Runtime: ThresholdedRelu without activation_alpha takes 0; the default of the operator is 1."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

X = np.array([[[0.25], [0.75], [2.0]]], np.float32)
W = np.array([[[0], [0], [1]]], np.float32)  # z = Relu(0) = 0, Y = ThresholdedRelu(X)
R = np.zeros((1, 3, 1), np.float32)
feeds = {"X": X, "W": W, "R": R}

names = ["Relu", "ThresholdedRelu"]
node = helper.make_node("GRU", [*feeds], ["Y"], hidden_size=1, activations=names)
given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in feeds.items()]
Y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "gru", given, [Y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, feeds)[0].ravel()
print(got, "expected", [0, 0, 2])
assert got.tolist() == [0.25, 0.75, 2]

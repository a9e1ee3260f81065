"""ONNX Runtime: ThresholdedRelu(x) is 0 at x = alpha; the GRU document says x if x >= alpha."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

X = np.array([[[0.25], [0.5], [0.75]]], np.float32)
W = np.array([[[0], [0], [1]]], np.float32)  # z = Relu(0) = 0, Y = ThresholdedRelu(X)
R = np.zeros((1, 3, 1), np.float32)
feeds = {"X": X, "W": W, "R": R}

given = {"activations": ["Relu", "ThresholdedRelu"], "activation_alpha": [0.5]}
node = helper.make_node("GRU", [*feeds], ["Y"], hidden_size=1, **given)
infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in feeds.items()]
Y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "gru", infos, [Y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, feeds)[0].ravel()
print(got, "expected", [0, 0.5, 0.75])
assert got.tolist() == [0, 0, 0.75]

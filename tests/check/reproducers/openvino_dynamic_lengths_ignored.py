"""OpenVINO: a dynamic dimension of X and constant weights: sequence_lengths is ignored."""

import numpy as np
import openvino as ov
from openvino import opset5

X = opset5.parameter([-1, 2, 1], np.float32)
H = opset5.parameter([-1, 1, 1], np.float32)
lengths = opset5.parameter([-1], np.int32)
W = opset5.constant(np.array([[[0], [0], [1]]], np.float32))
R = opset5.constant(np.zeros((1, 3, 1), np.float32))
B = opset5.constant(np.zeros((1, 3), np.float32))
node = opset5.gru_sequence(X, H, lengths, W, R, B, 1, "forward")
model = ov.Model(node.outputs(), [X, H, lengths])
compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
zeros = np.zeros((1, 1, 1), np.float32)
Y, Ho = compiled([np.ones((1, 2, 1), np.float32), zeros, np.array([1], np.int32)]).values()
first, second = np.tanh(1) / 2, np.tanh(1) * 3 / 4  # z = 1/2
print(Y.ravel(), Ho.ravel(), "expected", [first, 0], [first])
np.testing.assert_allclose(Y.ravel(), [first, second], rtol=1e-6)
np.testing.assert_allclose(Ho.ravel(), [second], rtol=1e-6)

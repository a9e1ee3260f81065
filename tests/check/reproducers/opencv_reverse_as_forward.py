"""OpenCV: a GRU of direction reverse is computed as one of direction forward."""

import cv2
import numpy as np
import onnx.parser

feeds = {"X": np.array([[[1]], [[-2]]], np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,1,1] X) => (float[2,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, direction = "reverse"> (X, W, R) }
""")
net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, array in feeds.items():
    net.setInput(array, name)
Y, Y_h = net.forward(["Y", "Y_h"])
forward = np.array([np.tanh(1) / 2, np.tanh(1) / 4 + np.tanh(-2) / 2])  # z = 1/2
reverse = np.array([np.tanh(1) / 2 + np.tanh(-2) / 4, np.tanh(-2) / 2])
print(Y.ravel(), Y_h.ravel(), "expected", reverse, reverse[:1])
np.testing.assert_allclose(Y.ravel(), forward, rtol=1e-6)
np.testing.assert_allclose(Y_h.ravel(), forward[1:], rtol=1e-6)

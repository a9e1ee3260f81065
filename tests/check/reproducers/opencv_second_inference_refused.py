"""OpenCV: without initial_h and with a batch of two, a net answers once and no more."""

import cv2
import numpy as np
import onnx.parser

feeds = {"X": np.ones((1, 2, 1), np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,2,1] X) => (float[1,1,2,1] Y, float[1,2,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1> (X, W, R) }
""")
net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
for name, array in feeds.items():
    net.setInput(array, name)
Y, Y_h = net.forward(["Y", "Y_h"])
np.testing.assert_allclose(Y.ravel(), np.tanh(1) / 2, rtol=1e-6)  # z = 1/2
refused = ""
try:
    net.setInput(feeds["X"], "X")
    net.forward(["Y", "Y_h"])
except cv2.error as error:
    refused = str(error)
print(refused, "expected the same again")
assert "Initial hidden state blob has incorrect dimensions" in refused

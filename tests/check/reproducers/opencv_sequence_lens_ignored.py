"""OpenCV: sequence_lens is ignored, every row is as long as the time axis."""

import cv2
import numpy as np
import onnx.parser

X, lengths = np.ones((2, 1, 1), np.float32), np.array([1], np.int32)
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,1,1] X, int32[1] sequence_lens) => (float[2,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1> (X, W, R, , sequence_lens) }
""")
net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
net.setInput(X, "X")
net.setInput(lengths, "sequence_lens")
Y, Y_h = net.forward(["Y", "Y_h"])
first, second = np.tanh(1) / 2, np.tanh(1) * 3 / 4  # z = 1/2
print(Y.ravel(), Y_h.ravel(), "expected", np.array([first, 0]), np.array([first]))
np.testing.assert_allclose(Y.ravel(), [first, second], rtol=1e-6)
np.testing.assert_allclose(Y_h.ravel(), [second], rtol=1e-6)

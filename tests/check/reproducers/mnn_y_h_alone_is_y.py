"""MNN: where a GRU has no Y, its Y_h holds every state, in the shape of Y."""

import tempfile

import _tools as converter
import MNN
import numpy as np
import onnx.parser

feeds = {"X": np.array([[[1]], [[-2]]], np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,1,1] X) => (float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { , Y_h = GRU <hidden_size = 1> (X, W, R) }
""")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/gru.onnx")
    files = ["--modelFile", f"{folder}/gru.onnx", "--MNNModel", f"{folder}/gru.mnn"]
    converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(f"{folder}/gru.mnn", [*feeds], ["Y_h"])
given = [MNN.expr.const(a, list(a.shape), MNN.expr.NCHW) for a in feeds.values()]
(Y_h,) = [one.read() for one in net.forward(given)]
forward = np.array([np.tanh(1) / 2, np.tanh(1) / 4 + np.tanh(-2) / 2])  # z = 1/2
print(Y_h.shape, Y_h.ravel(), "expected", (1, 1, 1), forward[1:])
assert Y_h.shape == (2, 1, 1, 1)
np.testing.assert_allclose(Y_h.ravel(), forward, rtol=1e-6)

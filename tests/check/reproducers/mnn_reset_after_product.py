"""MNN: the reset gate is applied after the product, as if linear_before_reset were 1."""

import tempfile

import _tools as converter
import MNN
import numpy as np
import onnx.parser

feeds = {"X": np.zeros((1, 1, 1), np.float32), "h": np.ones((1, 1, 2), np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X, float[1,1,2] h) => (float[1,1,1,2] Y, float[1,1,2] Y_h)
    <float[1,6,1] W = {0, 0, 0, 0, 0, 0}, float[1,6,2] R = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0},
     float[1,12] B = {0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 2> (X, W, R, B, , h) }
""")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/gru.onnx")
    files = ["--modelFile", f"{folder}/gru.onnx", "--MNNModel", f"{folder}/gru.mnn"]
    converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(f"{folder}/gru.mnn", [*feeds], ["Y", "Y_h"])
given = [MNN.expr.const(a, list(a.shape), MNN.expr.NCHW) for a in feeds.values()]
Y, Y_h = [one.read() for one in net.forward(given)]
before = np.tanh([1, 0.5]) / 2 + 0.5  # z = 1/2, r = (1/2, 1), Rh swaps the units
print(Y.ravel(), "expected", before)
np.testing.assert_allclose(Y.ravel(), before[::-1], rtol=1e-6)

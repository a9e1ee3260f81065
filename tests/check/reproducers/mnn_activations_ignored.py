"""MNN: activations are ignored, Sigmoid and Tanh used."""

import tempfile

import _tools as converter
import MNN
import numpy as np
import onnx.parser

feeds = {"X": np.full((1, 1, 1), 2, np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X) => (float[1,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, activations = ["Sigmoid", "Relu"]> (X, W, R) }
""")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/gru.onnx")
    files = ["--modelFile", f"{folder}/gru.onnx", "--MNNModel", f"{folder}/gru.mnn"]
    converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(f"{folder}/gru.mnn", [*feeds], ["Y", "Y_h"])
given = [MNN.expr.const(a, list(a.shape), MNN.expr.NCHW) for a in feeds.values()]
Y, Y_h = [one.read() for one in net.forward(given)]
print(Y.ravel(), "expected", [1])  # z = 1/2, Relu(2) = 2
np.testing.assert_allclose(Y.ravel(), [np.tanh(2) / 2], rtol=1e-6)

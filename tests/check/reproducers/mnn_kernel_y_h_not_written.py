"""MNN with --useOriginRNNImpl: Y_h of the second direction is memory never written."""

import tempfile

import _tools as converter
import MNN
import numpy as np
import onnx.parser

feeds = {"X": np.ones((1, 1, 1), np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X) => (float[1,2,1,1] Y, float[2,1,1] Y_h)
    <float[2,3,1] W = {0, 0, 1, 0, 0, 1}, float[2,3,1] R = {0, 0, 0, 0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, direction = "bidirectional"> (X, W, R) }
""")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/gru.onnx")
    files = ["--modelFile", f"{folder}/gru.onnx", "--MNNModel", f"{folder}/gru.mnn"]
    converter.mnnconvert(
        ["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x", "--useOriginRNNImpl"]
    )
    net = MNN.nn.load_module_from_file(f"{folder}/gru.mnn", [*feeds], ["Y", "Y_h"])
given = [MNN.expr.const(a, list(a.shape), MNN.expr.NCHW) for a in feeds.values()]
Y, Y_h = [one.read() for one in net.forward(given)]
expected = np.tanh(1) / 2  # z = 1/2
print(Y.ravel(), Y_h.ravel(), "expected", expected, "in each")
np.testing.assert_allclose([*Y.ravel(), Y_h[0, 0, 0]], expected, rtol=1e-6)
assert abs(Y_h[1, 0, 0] - expected) > 0.1

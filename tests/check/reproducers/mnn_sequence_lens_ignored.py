"""MNN: sequence_lens is ignored, every row is as long as the time axis."""

import tempfile

import _tools as converter
import MNN
import numpy as np
import onnx.parser

KINDS = {"f": MNN.expr.float, "i": MNN.expr.int}
feeds = {"X": np.ones((2, 1, 1), np.float32), "sequence_lens": np.array([1], np.int32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,1,1] X, int32[1] sequence_lens) => (float[2,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1> (X, W, R, , sequence_lens) }
""")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/gru.onnx")
    files = ["--modelFile", f"{folder}/gru.onnx", "--MNNModel", f"{folder}/gru.mnn"]
    converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(f"{folder}/gru.mnn", [*feeds], ["Y", "Y_h"])
given = [
    MNN.expr.const(a, list(a.shape), MNN.expr.NCHW, KINDS[a.dtype.kind]) for a in feeds.values()
]
Y, Y_h = [one.read() for one in net.forward(given)]
first, second = np.tanh(1) / 2, np.tanh(1) * 3 / 4  # z = 1/2
print(Y.ravel(), Y_h.ravel(), "expected", np.array([first, 0]), np.array([first]))
np.testing.assert_allclose(Y.ravel(), [first, second], rtol=1e-6)
np.testing.assert_allclose(Y_h.ravel(), [second], rtol=1e-6)

"""tract: activations are ignored, Sigmoid and Tanh used."""

import tempfile

import numpy as np
import onnx.parser
import tract

feeds = {"X": np.full((1, 1, 1), 2, np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X) => (float[1,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, activations = ["Sigmoid", "Relu"]> (X, W, R) }
""")
with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
    onnx.save(model, file.name)
    runnable = tract.onnx().load(file.name).into_model().into_runnable()
Y, Y_h = [one.to_numpy() for one in runnable.run([*feeds.values()])]
print(Y.ravel(), "expected", [1])  # z = 1/2, Relu(2) = 2
np.testing.assert_allclose(Y.ravel(), [np.tanh(2) / 2], rtol=1e-6)

"""OpenVINO's importer of ONNX files: the first direction's activations serve both."""

import numpy as np
import onnx.parser
import openvino as ov

feeds = {"X": np.full((1, 1, 1), 2, np.float32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[1,1,1] X) => (float[1,2,1,1] Y, float[2,1,1] Y_h)
    <float[2,3,1] W = {0, 0, 1, 0, 0, 1}, float[2,3,1] R = {0, 0, 0, 0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1, direction = "bidirectional",
        activations = ["Sigmoid", "Tanh", "Sigmoid", "Relu"]> (X, W, R) }
""")
precision = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(
    ov.Core().read_model(model.SerializeToString()), "CPU", precision
)
Y, Y_h = compiled(feeds).values()
print(Y.ravel(), "expected", np.array([np.tanh(2) / 2, 1]))  # z = 1/2, Relu(2) = 2
np.testing.assert_allclose(Y.ravel(), np.tanh(2) / 2, rtol=1e-6)

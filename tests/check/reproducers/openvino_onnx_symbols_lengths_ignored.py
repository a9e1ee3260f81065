"""OpenVINO's importer of ONNX files: with a symbol in the shape of X, sequence_lens is ignored."""

import numpy as np
import onnx.parser
import openvino as ov

feeds = {"X": np.ones((2, 1, 1), np.float32), "sequence_lens": np.array([1], np.int32)}
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[t,1,1] X, int32[1] sequence_lens) => (float[t,1,1,1] Y, float[1,1,1] Y_h)
    <float[1,3,1] W = {0, 0, 1}, float[1,3,1] R = {0, 0, 0}>
    { Y, Y_h = GRU <hidden_size = 1> (X, W, R, , sequence_lens) }
""")
precision = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(
    ov.Core().read_model(model.SerializeToString()), "CPU", precision
)
Y, Y_h = compiled(feeds).values()
first, second = np.tanh(1) / 2, np.tanh(1) * 3 / 4  # z = 1/2
print(Y.ravel(), Y_h.ravel(), "expected", np.array([first, 0]), np.array([first]))
np.testing.assert_allclose(Y.ravel(), [first, second], rtol=1e-6)
np.testing.assert_allclose(Y_h.ravel(), [second], rtol=1e-6)

"""OpenVINO's importer of ONNX files: layout is ignored, X of layout 1 is read as of layout 0."""

import numpy as np
import onnx.parser
import openvino as ov

feeds = {"X": np.array([[[1], [-2]], [[0], [0]]], np.float32)}  # two rows of two steps
model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 14]>
    gru (float[2,2,1] X) => (float[2,2,1] Y_h)
    <float[2,3,1] W = {0, 0, 1, 0, 0, 1}, float[2,3,1] R = {0, 0, 0, 0, 0, 0}>
    { , Y_h = GRU <hidden_size = 1, direction = "bidirectional", layout = 1> (X, W, R) }
""")
precision = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(
    ov.Core().read_model(model.SerializeToString()), "CPU", precision
)
(Y_h,) = compiled(feeds).values()
one, two = np.tanh(1) / 2, np.tanh(-2) / 2  # z = 1/2
expected = np.array([[one / 2 + two, two / 2 + one], [0, 0]])  # of each row, forward and back
print(Y_h.squeeze().tolist(), "expected", expected.tolist())
as_layout_0 = [[one / 2, two / 2], [one, two]]  # of each direction; the rows are taken as steps
np.testing.assert_allclose(Y_h.squeeze(), as_layout_0, rtol=1e-6)

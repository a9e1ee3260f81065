"""Keras on PyTorch: exported with a free time axis, to ONNX and to OpenVINO, a layer takes one step."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import onnxruntime
import openvino

x = np.array([[[2.0], [4.0], [6.0]]], np.float32)
layer = keras.layers.GRU(1, activation="linear", use_bias=False)
model = keras.Sequential([keras.Input((None, 1)), layer])
layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
right = model.predict(x, verbose=0)
with tempfile.TemporaryDirectory() as folder:
    onnx, ir = (str(Path(folder) / name) for name in ("gru.onnx", "gru.xml"))
    model.export(onnx, format="onnx", verbose=False)
    model.export(ir, format="openvino", verbose=False)
    session = onnxruntime.InferenceSession(onnx)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(ir, "CPU", exact)
    found = [session.run(None, {session.get_inputs()[0].name: x})[0], compiled([x])[0]]
print(found, "expected", right)  # 2/8 + 4/4 + 6/2, and one step is 2/2
assert right.tolist() == [[4.25]]
assert [array.tolist() for array in found] == [[[1.0]], [[1.0]]]

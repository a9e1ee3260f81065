"""Keras on OpenVINO: exported to OpenVINO with a free time axis, a layer with reset_after=False takes one step."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "openvino")
import keras
import numpy as np
import openvino

x = np.array([[[2.0], [4.0], [6.0]]], np.float32)
layer = keras.layers.GRU(1, activation="linear", use_bias=False, reset_after=False)
model = keras.Sequential([keras.Input((None, 1)), layer])
layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
right = model.predict(x, verbose=0)
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "gru.xml")
    model.export(path, format="openvino", verbose=False)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    found = openvino.Core().compile_model(path, "CPU", exact)([x])[0]
print(found, "expected", right)  # 2/8 + 4/4 + 6/2, and one step is 2/2
assert right.tolist() == [[4.25]]
assert found.tolist() == [[1.0]]

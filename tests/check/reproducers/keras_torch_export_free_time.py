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
model = keras.Sequential([keras.Input((None, 1)), keras.layers.GRU(1, use_bias=False)])
model.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
layer, found = model.predict(x, verbose=0), {}
with tempfile.TemporaryDirectory() as folder:
    for form, name in (("onnx", "gru.onnx"), ("openvino", "gru.xml")):
        model.export(str(Path(folder) / name), format=form, verbose=False)
    session = onnxruntime.InferenceSession(Path(folder) / "gru.onnx")
    found["onnx"] = session.run(None, {session.get_inputs()[0].name: x})[0]
    found["openvino"] = openvino.Core().compile_model(Path(folder) / "gru.xml", "CPU")([x])[0]
tanh = np.tanh(x.astype("f8")).ravel()
exact = [[tanh @ [1 / 8, 1 / 4, 1 / 2]]]  # z = 1/2
print("found", found, "the layer", layer, "exact", exact, "of one step", tanh[0] / 2)
assert np.abs(layer - exact).max() < 1e-6
assert all(np.abs(one - tanh[0] / 2).max() < 2**-8 for one in found.values())

"""Keras on OpenVINO: exported to OpenVINO with a free time axis, a layer with reset_after=False takes one step."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "openvino")
import keras
import numpy as np
import openvino
import torch

x = np.array([[[2.0], [4.0], [6.0]]], np.float32)
model = keras.Sequential(
    [keras.Input((None, 1)), keras.layers.GRU(1, use_bias=False, reset_after=False)]
)
model.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
layer = model.predict(x, verbose=0)
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "gru.xml")
    model.export(path, format="openvino", verbose=False)
    found = openvino.Core().compile_model(path, "CPU")([x])[0]
gru = torch.nn.GRU(1, 1, bias=False, batch_first=True)  # R is zero: the reset gate has no effect
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
second, tanh = gru(torch.tensor(x))[1].detach().numpy()[0], np.tanh(x.astype("f8")).ravel()
exact = [[tanh @ [1 / 8, 1 / 4, 1 / 2]]]  # z = 1/2
print("found", found, "the layer", layer, "PyTorch", second, "exact", exact)
assert max(np.abs(second - exact).max(), np.abs(layer - exact).max()) < 2**-10
assert np.abs(found - tanh[0] / 2).max() < 2**-10

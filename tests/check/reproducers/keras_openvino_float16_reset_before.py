"""Keras on OpenVINO: in float16, a layer with reset_after=False gives other numbers than in float32.

Both gates are 1/2 here, so that the place of the reset gate does not matter, and PyTorch can say what is right.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "openvino")
import keras
import numpy as np
import torch

x, found = np.array([[[1], [0.5]]]), {}
weights = np.array([[0, 0, 0, 0, 1, 2]]), np.array([[0, 0, 0, 0, 1, 1]] * 2)
for dtype in ("float16", "float32"):
    layer = keras.layers.GRU(
        2, reset_after=False, use_bias=False, dtype=dtype, recurrent_initializer="zeros"
    )
    model = keras.Sequential([keras.Input((2, 1), dtype=dtype), layer])
    layer.set_weights([array.astype(dtype) for array in weights])
    found[dtype] = model.predict(x.astype(dtype), verbose=0).astype("f8")
gru = torch.nn.GRU(1, 2, bias=False, batch_first=True, dtype=torch.float64)
w, r = (torch.tensor(array.T, dtype=torch.float64) for array in weights)
gru.load_state_dict({"weight_ih_l0": w, "weight_hh_l0": r})
second, first = gru(torch.tensor(x))[1][0].detach().numpy(), np.tanh([1, 2]) / 2
exact = [first / 2 + np.tanh(np.array([0.5, 1]) + first.sum() / 2) / 2]
print("found", found["float16"], "float32", found["float32"], "PyTorch", second, "exact", exact)
assert np.abs(second - exact).max() < 1e-12
assert np.abs(found["float32"] - exact).max() < 2**-10
assert np.abs(found["float16"] - exact).max() > 0.1  # 2**-10 could be roundings

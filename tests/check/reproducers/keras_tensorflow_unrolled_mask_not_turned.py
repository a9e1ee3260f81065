"""Keras on TensorFlow: unrolled, backwards, with zero_output_for_mask, it zeroes by a mask that is not turned.

The loop is right. Backwards, the masked step is the first; so the state after the second is that of one step.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import torch

x, mask, found = np.array([[[2.0], [4.0]]], np.float32), np.array([[True, False]]), {}
for unroll in (False, True):
    layer = keras.layers.GRU(1, use_bias=False, return_sequences=True, zero_output_for_mask=True,
                             go_backwards=True, unroll=unroll)  # fmt: skip
    layer.build(x.shape)
    layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
    found[unroll] = np.asarray(layer(x, mask=mask)).ravel()
gru = torch.nn.GRU(1, 1, bias=False, batch_first=True)
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
second = gru(torch.tensor(x[:, :1]))[1].detach().numpy().ravel()
exact = np.array([0, np.tanh(2) / 2])  # z = 1/2
print("found", found[True], "looped", found[False], "PyTorch, one step", second, "exact", exact)
assert max(np.abs(second - exact[1]).max(), np.abs(found[False] - exact).max()) < 1e-6
assert found[True].tolist() == [0, 0]

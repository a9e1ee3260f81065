"""Keras on NumPy, JAX, PyTorch and TensorFlow: zero_output_for_mask makes the last output zero.

It is "only used when `return_sequences` is `True`"; here it is false, and OpenVINO's backend gives the last
output. KERAS_BACKEND=jax, torch or tensorflow shows the same.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np
import torch

x, mask = np.array([[[2.0], [4.0]]], np.float32), np.array([[True, False]])
layer = keras.layers.GRU(1, use_bias=False, zero_output_for_mask=True)
layer.build(x.shape)
layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
found = np.asarray(keras.ops.convert_to_numpy(layer(x, mask=mask)))
gru = torch.nn.GRU(1, 1, bias=False, batch_first=True)
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
rows = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), torch.tensor([1]), batch_first=True)
second = gru(rows)[1].detach().numpy()[0]
exact = np.tanh([[2]]) / 2  # z = 1/2
print("found", found, "PyTorch", second, "exact", exact)
assert np.abs(second - exact).max() < 1e-6
assert found.tolist() == [[0.0]]

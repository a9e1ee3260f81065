"""Keras on NumPy, and on JAX: an unrolled layer ignores zero_output_for_mask.

KERAS_BACKEND=jax shows the same on JAX. The loop, and PyTorch's padding of packed rows, give zeros.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np
import torch
from torch.nn.utils import rnn

x, mask, found = np.array([[[2.0], [4.0]]], np.float32), np.array([[True, False]]), {}
for unroll in (False, True):
    layer = keras.layers.GRU(
        1, use_bias=False, return_sequences=True, zero_output_for_mask=True, unroll=unroll
    )
    layer.build(x.shape)
    layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
    found[unroll] = np.asarray(layer(x, mask=mask)).ravel()
gru = torch.nn.GRU(1, 1, bias=False, batch_first=True)
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
rows = rnn.pack_padded_sequence(torch.tensor(x), torch.tensor([1]), batch_first=True)
second = rnn.pad_packed_sequence(gru(rows)[0], True, total_length=2)[0].detach().numpy().ravel()
exact = np.array([np.tanh(2) / 2, 0])  # z = 1/2
print("found", found[True], "looped", found[False], "PyTorch", second, "exact", exact)
assert max(np.abs(second - exact).max(), np.abs(found[False] - exact).max()) < 1e-6
assert np.abs(found[True] - exact[0]).max() < 1e-6

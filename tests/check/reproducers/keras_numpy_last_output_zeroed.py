"""Keras on NumPy, JAX, PyTorch and TensorFlow: zero_output_for_mask makes the last output zero.

It is "only used when `return_sequences` is `True`"; here it is false, and OpenVINO's backend gives the last
output. KERAS_BACKEND=jax, torch or tensorflow shows the same.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np

x = np.array([[[2.0], [4.0]]], np.float32)
mask = np.array([[True, False]])
layer = keras.layers.GRU(1, activation="linear", use_bias=False, zero_output_for_mask=True)
layer.build(x.shape)
layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
found = np.asarray(keras.ops.convert_to_numpy(layer(x, mask=mask)))
print(found, "expected", 1.0)  # (1 - 1/2) 2
assert found.tolist() == [[0.0]]

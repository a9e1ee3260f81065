"""Keras on NumPy, and on JAX: an unrolled layer ignores zero_output_for_mask.

KERAS_BACKEND=jax shows the same on JAX.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np

x = np.array([[[2.0], [4.0]]], np.float32)
mask = np.array([[True, False]])
found = {}
for unroll in (False, True):
    layer = keras.layers.GRU(1, activation="linear", use_bias=False, return_sequences=True,
                             zero_output_for_mask=True, unroll=unroll)  # fmt: skip
    layer.build(x.shape)
    layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
    found[unroll] = np.asarray(layer(x, mask=mask)).ravel().tolist()
print(found, "expected", [1.0, 0.0])  # (1 - 1/2) 2, and zero where the step is masked
assert found == {False: [1.0, 0.0], True: [1.0, 1.0]}

"""Keras on TensorFlow: unrolled, backwards, with zero_output_for_mask, it zeroes by a mask that is not turned."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.array([[[2.0], [4.0]]], np.float32)
mask = np.array([[True, False]])
found = {}
for unroll in (False, True):
    layer = keras.layers.GRU(1, activation="linear", use_bias=False, return_sequences=True,
                             zero_output_for_mask=True, go_backwards=True, unroll=unroll)  # fmt: skip
    layer.build(x.shape)
    layer.set_weights([np.array([[0, 0, 1]], np.float32), np.zeros((1, 3), np.float32)])
    found[unroll] = np.asarray(layer(x, mask=mask)).ravel().tolist()
print(found, "expected", [0.0, 1.0])  # the masked step is the first one backwards
assert found == {False: [0.0, 1.0], True: [0.0, 0.0]}

"""Keras on PyTorch: unrolled and backwards, a mask raises AttributeError."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

layer = keras.layers.GRU(1, go_backwards=True, unroll=True)
try:
    layer(np.ones((1, 2, 1), np.float32), mask=np.array([[True, False]]))
except AttributeError as error:
    print("refused:", error)
else:
    raise AssertionError("accepted")

"""Keras on TensorFlow: the slope of leaky_relu is rounded to float32 in float64, too."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

found = np.asarray(keras.activations.leaky_relu(keras.ops.convert_to_tensor(np.array([-1.0]))))
print(found, "expected", -0.2)
assert found.dtype == np.float64
assert found.tolist() == [-float(np.float32(0.2))]

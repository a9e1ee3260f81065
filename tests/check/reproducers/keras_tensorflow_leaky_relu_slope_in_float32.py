"""Keras on TensorFlow: the slope of leaky_relu is rounded to float32 in float64, too."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import torch

x = np.array([-1.0])
found = np.asarray(keras.activations.leaky_relu(keras.ops.convert_to_tensor(x), negative_slope=0.2))
second = torch.nn.functional.leaky_relu(torch.tensor(x), 0.2).numpy()
print("found", found[0], "PyTorch", second[0], "exact", -0.2)
assert found.dtype == second.dtype == np.float64
assert second.tolist() == [-0.2]
assert found.tolist() == [-float(np.float32(0.2))]

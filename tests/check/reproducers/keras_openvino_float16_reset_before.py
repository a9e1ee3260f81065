"""Keras on OpenVINO: in float16, a layer with reset_after=False gives other numbers than in float32."""

import os

os.environ.setdefault("KERAS_BACKEND", "openvino")
import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (2, 3, 3)).astype(np.float16)
weights = [rng.uniform(-0.5, 0.5, shape).astype(np.float16) for shape in ((3, 12), (4, 12), (12,))]
found = {}
for dtype in ("float16", "float32"):
    layer = keras.layers.GRU(4, reset_after=False, dtype=dtype, recurrent_initializer="zeros")
    model = keras.Sequential([keras.Input((3, 3), dtype=dtype), layer])
    layer.set_weights([array.astype(dtype) for array in weights])
    found[dtype] = model.predict(x.astype(dtype), verbose=0).astype(np.float64)
print(found)
off = np.abs(found["float16"] - found["float32"]).max()
print("off by", off, "expected at most some", 2.0**-10)
assert off > 0.1

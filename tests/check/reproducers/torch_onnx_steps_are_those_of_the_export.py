"""PyTorch's ONNX exporter (dynamo): output has the exported number of steps, though steps are dynamic.

Where the numbers allow it, nothing is refused: (6, 2, 4) comes as (4, 3, 4). Forward, not batch_first.
"""

import io

import numpy as np
import onnxruntime
import torch

gru = torch.nn.GRU(3, 4).eval()
batch, steps = torch.export.Dim("batch"), torch.export.Dim("steps")
program = torch.onnx.export(
    gru, (torch.randn(4, 2, 3), torch.randn(1, 2, 4)), dynamo=True, verbose=False,
    input_names=["input", "h_0"], dynamic_shapes=({0: steps, 1: batch}, {1: batch}),
)  # fmt: skip
file = io.BytesIO()
program.save(file)
session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
x, h = torch.randn(6, 2, 3), torch.randn(1, 2, 4)
with torch.no_grad():
    right, last = (one.numpy() for one in gru(x, h))
output, h_n = session.run(None, {"input": x.numpy(), "h_0": h.numpy()})
assert np.abs(h_n - last).max() < 1e-6
assert right.shape == (6, 2, 4)
assert output.shape == (4, 3, 4)

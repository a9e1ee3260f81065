"""PyTorch's ONNX exporter (dynamo): output has the exported number of steps, though steps are dynamic.

Where the numbers allow it, nothing is refused: (6, 2, 4) comes as (4, 3, 4). Forward, not batch_first.
"""

import io

import numpy as np
import onnxruntime
import openvino
import torch

gru = torch.nn.GRU(1, 4, bias=False)
gru.weight_ih_l0.data = torch.tensor([[0.0]] * 8 + [[1.0]] * 4)
gru.weight_hh_l0.data.zero_()
batch, steps = torch.export.Dim("batch"), torch.export.Dim("steps")
opened = {0: steps, 1: batch}, {1: batch}
example = torch.randn(4, 2, 1), torch.randn(1, 2, 4)
program, file = torch.onnx.export(gru, example, dynamo=True, dynamic_shapes=opened), io.BytesIO()
program.save(file)
given = np.full((6, 2, 1), 2, np.float32), np.zeros((1, 2, 4), np.float32)
session = onnxruntime.InferenceSession(file.getvalue())
found = session.run(None, {"input": given[0], "hx": given[1]})[0]
model = openvino.Core().read_model(io.BytesIO(file.getvalue()))
second = openvino.compile_model(model, "CPU")(given)[0]
right = gru(*map(torch.tensor, given))[0].detach().numpy()
exact = np.tanh(2) * np.array([1 / 2, 3 / 4, 7 / 8, 15 / 16, 31 / 32, 63 / 64])  # z = 1/2
print("found", found.shape, "OpenVINO", second.shape, "PyTorch", right.shape, "exact", exact)
assert right.shape == (6, 2, 4)
assert np.abs(right - exact[:, None, None]).max() < 1e-6
assert found.shape == second.shape == (4, 3, 4)
